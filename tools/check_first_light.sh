#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that the main program runs, that every run gives the same world hash, and that it refuses invalid options.
#   tools/check_first_light.sh PATH/TO/first_light
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 PATH/TO/first_light" >&2
    exit 2
fi

fail() {
    echo "check_first_light: $*" >&2
    exit 1
}

hash_of() {
    "$@" | sed -n 's/^the world.s hash after tick [0-9]* is \([0-9a-f]*\).*/\1/p'
}

first=$(hash_of "$1" --entities 20000 --seconds 0)
second=$(hash_of "$1" --entities 20000 --seconds 1)
other=$(hash_of "$1" --entities 30000 --seconds 0)
[ -n "$first" ] || fail "no hash is printed"
[ "$first" = "$second" ] || fail "two runs differ: $first and $second"
[ "$first" != "$other" ] || fail "another world has the same hash"
for wrong in --no-such-option "--entities 5" "--entities many" --seconds; do
    # shellcheck disable=SC2086 # an option and its value are two words
    if "$1" $wrong >/dev/null 2>&1; then
        fail "$wrong is accepted"
    fi
done
"$1" --help | grep -q -- --entities || fail "--help prints no help"
echo "check_first_light: the same world in every run ($first)"
