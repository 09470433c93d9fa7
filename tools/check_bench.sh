#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that the benchmark program runs and that bench.json has its documented form. Ignores the times.
#   tools/check_bench.sh PATH/TO/orr_bench
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 PATH/TO/orr_bench" >&2
    exit 2
fi
bench=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "check_bench: $*" >&2
    exit 1
}

# One object per line, with these keys in this order.
form='^  \{"workload": "[a-z0-9_]+", "n": [0-9]+, "param": "((changes|clusters|workers)=[0-9]+)?", "ns_per_item": [0-9.]+, "limit_ns_per_item": [0-9.]+, "ratio": [0-9.]+, "commit": "[^"]*", "compiler": "[^"]*", "flags": "[^"]*"\},?$'

"$bench" --list >list 2>/dev/null || fail "--list fails"
names=$(sed 's/ .*//' list)
[ -n "$names" ] || fail "--list is empty"

# Runs every workload once at a small size. Each compares its result with that of raw arrays and fails if they differ.
"$bench" --repeats 1 --n 1000 >table 2>log || { cat log >&2; fail "a workload fails"; }
[ "$(head -n 1 bench.json)" = "[" ] && [ "$(tail -n 1 bench.json)" = "]" ] || fail "bench.json is not an array"
lines=$(sed '1d;$d' bench.json | wc -l)
right=$(sed '1d;$d' bench.json | grep -Ec "$form" || true)
[ "$lines" -gt 0 ] && [ "$lines" = "$right" ] || {
    sed '1d;$d' bench.json | grep -Ev "$form" >&2 || true
    fail "$right of $lines objects have the right form; the others are above"
}
[ "$(sed '1d;$d' bench.json | grep -c '},$')" = $((lines - 1)) ] || fail "commas are wrong"
for name in $names; do
    grep -q "\"workload\": \"$name\"" bench.json || fail "$name is not in bench.json"
    grep -q "^$name " table || fail "$name is not in the table"
done

# A workload by name runs at the sizes of the table.
"$bench" --quick --out some.json iterate_2 >table 2>log || fail "iterate_2 by name fails"
[ "$(grep -c '"workload": "iterate_2"' some.json)" = 4 ] || fail "iterate_2 does not have four sizes"

# Invalid arguments are refused and named in the message.
for wrong in no_such_workload --no-such-option --repeats "--repeats 0" "--n abc"; do
    # shellcheck disable=SC2086 # an option and its value are two words
    if "$bench" $wrong >table 2>log; then
        fail "$wrong is accepted"
    fi
    grep -q "$(echo "$wrong" | sed 's/ .*//; s/^-*//')" log || fail "$wrong is refused, but the message does not name it"
done
echo "check_bench: $lines workloads run, bench.json has the right form"
