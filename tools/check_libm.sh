#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that simulation code does not call libm, whose results differ between C libraries: <orrery/math.h> replaces it.
# Reads the undefined symbols of the library, the scenarios, the examples and the main program. Every name that libm exports
# is refused, except those below, which are exact by IEEE 754 or by definition and so have one result everywhere. The
# compiler may fold a call with constant arguments, so sources that include math.h are compiled again without builtins.
#
#     tools/check_libm.sh BUILD_DIR
source "$(dirname "$0")/common.sh"
build=${1:-build/release}
temporary

# Correctly rounded, by IEEE 754: sqrt fma. Decompose or compose numbers: copysign fabs frexp ldexp
# modf scalbn scalbln logb ilogb nextafter. Whole numbers: ceil floor trunc round lround llround, and in the rounding mode
# that is required rint nearbyint lrint llrint. Exact remainders: fmod remainder. Classification: isnan isinf
# finite signbit. Not fmin and fmax: the standard does not define which of two zeros they return.
exact="sqrt fma copysign fabs frexp ldexp modf scalbn scalbln logb ilogb nextafter ceil floor trunc round lround llround
    rint nearbyint lrint llrint fmod remainder isnan isinf finite __isnan __isinf __finite __signbit __fpclassify"
for name in $exact; do
    printf '%s\n' "$name" "${name}f" "${name}l"
done | sort >"$work/exact"
libm=$(gcc -print-file-name=libm.so.6)
nm -D --defined-only "$libm" 2>/dev/null | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u >"$work/libm"
[ "$(wc -l <"$work/libm")" -gt 100 ] || complain "$libm: no exported names found"
# libgcc: integer powers, whose order of multiplications is not defined.
{
    comm -23 "$work/libm" "$work/exact" | grep -Ev '^(GLIBC|_LIB_VERSION$)'
    printf '%s\n' __powisf2 __powidf2 __powixf2 __powitf2
} >"$work/refused"

# Prints "object symbol" for each refused symbol that an object uses.
wants() { # files…
    nm -A -u "$@" 2>/dev/null | awk -v refused="$work/refused" '
        BEGIN { while ((getline name <refused) > 0) { no[name] = 1 } }
        {
            object = $0
            sub(/:[^:]*$/, "", object)
            sub(/@.*/, "", $NF)
            if ($NF in no) { print object, $NF }
        }' | sort -u
}

mapfile -t objects < <(
    find "$build" -maxdepth 1 -name 'liborrery.a' -o -maxdepth 1 -name 'liborr_scenarios.a'
    find "$build/CMakeFiles" -name '*.o' \( -path '*/example_*.dir/*' -o -path '*/first_light.dir/*' \) | sort
)
[ "${#objects[@]}" -gt 2 ] || complain "$build: not built, no objects found"

# Compiles sources with math.h again, without builtins.
mapfile -t sources < <(tracked 'src/*.c' 'src/*.h' 'scenarios/*.c' 'examples/*.c' 'examples/*.cpp' 'apps/*.c' |
    xargs grep -lE '#[ \t]*include[ \t]*<(math|tgmath|complex)\.h>|<cmath>' || true)
for path in "${sources[@]}"; do
    case $path in
    *.h)
        complain "$path: includes the C library's math.h; do that in the .c files that need it"
        continue
        ;;
    *.cpp) compiler=g++ standard=c++17 ;;
    *) compiler=gcc standard=c17 ;;
    esac
    object=$work/${path//\//_}.o
    "$compiler" "-std=$standard" -O0 -fno-builtin -w -Iinclude -Isrc -I. -c "$path" -o "$object" &&
        objects+=("$object") || complain "$path: does not compile without builtins"
done

while read -r object symbol; do
    object=${object#"$work/"}
    complain "${object#"$build/"}: calls $symbol of the C library; use <orrery/math.h>"
done < <(wants "${objects[@]}")

# Tests the check: one refused call, one refused call that is folded, and two allowed calls.
cat >"$work/planted.c" <<'C'
#include <math.h>
float planted(float x);
float planted(float x) { return (float)sin(1.0) + powf(x, 1.5f) + floorf(x) + sqrtf(x); }
C
gcc -std=c17 -O3 -c "$work/planted.c" -o "$work/planted_fast.o"
gcc -std=c17 -O0 -fno-builtin -c "$work/planted.c" -o "$work/planted_plain.o"
[ "$(wants "$work/planted_fast.o" | sed 's/.* //' | tr '\n' ' ')" = "powf " ] ||
    complain "self-test: expected to find powf only"
[ "$(wants "$work/planted_plain.o" | sed 's/.* //' | tr '\n' ' ')" = "powf sin " ] ||
    complain "self-test: expected to find powf and sin only"
finish "$(nm -A "${objects[@]}" 2>/dev/null | sed 's/:[^:]*$//' | sort -u | wc -l) objects call none of $(wc -l <"$work/refused") functions of libm"
