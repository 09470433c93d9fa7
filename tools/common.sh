# SPDX-License-Identifier: MIT
# Sourced by the checks: changes to the root folder and counts errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
shopt -s nullglob

complaints=0
complain() {
    printf '%s\n' "$*"
    complaints=$((complaints + 1))
}

# Ends a check: prints the summary, or the number of errors and exits with 1.
finish() {
    if [ "$complaints" -gt 0 ]; then
        printf '%s: %d wrong\n' "$(basename "$0")" "$complaints"
        exit 1
    fi
    printf '%s: %s\n' "$(basename "$0")" "$*"
}

# Files under version control, or all of them in a tree without git. Arguments: patterns as for ls-files.
tracked() {
    local path pattern
    {
        git ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null || {
            for pattern in "$@"; do
                find . -path ./build -prune -o -path ./.git -prune -o -type f -path "./$pattern" -print
            done | sed 's|^\./||'
        }
    } | while IFS= read -r path; do
        # git still lists a file that was deleted but not committed.
        [ ! -f "$path" ] || printf '%s\n' "$path"
    done | sort -u
}

# Creates a temporary folder, $work, which is removed at exit.
temporary() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/orrery.XXXXXX")
    trap 'rm -rf "$work"' EXIT
}

# Prints a list of a .cmake file, one entry per line: cmake_list tests/base/tests.cmake ORR_TESTS_BASE
cmake_list() {
    [ -f "$1" ] || return 0
    sed 's/#.*//' "$1" | tr '\n()' '   ' | awk -v name="$2" '{
        for (i = 1; i <= NF; i++) {
            if ($i == "set") { inside = ($(i + 1) == name); i++ }
            else if (inside) { print $i }
        }
    }'
}

# Reads src/modules.txt into rank[module], and each src/MODULE/folders.txt into folder_rank[module/folder] and, for the lower
# folders after its "^", folder_below[module/folder module/other]=0. Headers directly in a module have no folder.
read_folders() {
    local list module folder below other i=0
    declare -gA rank folder_rank folder_below
    while read -r module; do
        rank[$module]=$((i++))
    done <src/modules.txt
    for list in src/*/folders.txt; do
        module=${list#src/} module=${module%%/*} i=1
        while read -r folder below; do
            [ -d "src/$module/$folder" ] || complain "$list: src/$module/$folder does not exist"
            folder_rank[$module/$folder]=$((i++))
            for other in ${below#^}; do
                folder_below[$module/$folder $module/$other]=0
            done
        done <"$list"
    done
}

warnings="-Wall -Wextra -Wconversion -Wpedantic -Wshadow -Wstrict-prototypes -Werror"
