# SPDX-License-Identifier: MIT
# Compiler flags of two kinds: flags of the determinism contract, which users of the library inherit, and flags for
# Orrery's own code only.

# -ffast-math lets the compiler change results, so two builds of one program would differ.
set(orr_all_flags "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_DEBUG} ${CMAKE_C_FLAGS_RELEASE}")
string(APPEND orr_all_flags " ${CMAKE_C_FLAGS_RELWITHDEBINFO} ${CMAKE_C_FLAGS_MINSIZEREL}")
get_directory_property(orr_directory_flags COMPILE_OPTIONS)
string(APPEND orr_all_flags " ${orr_directory_flags} ")
if(orr_all_flags MATCHES "(^|[ ;])(-Ofast|-ffast-math|-funsafe-math-optimizations|-fassociative-math|-ffinite-math-only)([ ;]|$)")
    message(FATAL_ERROR
        "Orrery refuses ${CMAKE_MATCH_2}: a world must give the same answer on every machine. "
        "Remove it from CMAKE_C_FLAGS, or set it only on targets that do not use Orrery.")
endif()

# Flags that make floating point results equal everywhere. PUBLIC, because systems are written in user code.
function(orr_contract_flags target)
    target_compile_options(${target} PUBLIC
        $<$<COMPILE_LANG_AND_ID:C,GNU,Clang,AppleClang>:-ffp-contract=off>
        $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-ffp-contract=off>)
    if(ORR_NO_ASSERT)
        target_compile_definitions(${target} PUBLIC ORR_NO_ASSERT)
    endif()
    if(ORR_VALIDATE)
        target_compile_definitions(${target} PUBLIC $<BUILD_INTERFACE:ORR_VALIDATE_ON>)
    endif()
endfunction()

# Flags of Orrery's own code.
function(orr_flags target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wconversion -Wpedantic -Wshadow
        $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
        $<$<BOOL:${ORR_WERROR}>:-Werror>)
endfunction()
