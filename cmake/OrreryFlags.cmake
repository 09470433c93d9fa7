# SPDX-License-Identifier: MIT
# Compiler flags, in two kinds: those that are part of the determinism contract and travel to users of the
# library, and those we only hold ourselves to.

# -ffast-math lets a compiler change results, so two builds of one program would disagree.
set(orr_all_flags "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_DEBUG} ${CMAKE_C_FLAGS_RELEASE}")
string(APPEND orr_all_flags " ${CMAKE_C_FLAGS_RELWITHDEBINFO} ${CMAKE_C_FLAGS_MINSIZEREL}")
get_directory_property(orr_directory_flags COMPILE_OPTIONS)
string(APPEND orr_all_flags " ${orr_directory_flags} ")
if(orr_all_flags MATCHES "(^|[ ;])(-Ofast|-ffast-math|-funsafe-math-optimizations|-fassociative-math|-ffinite-math-only)([ ;]|$)")
    message(FATAL_ERROR
        "Orrery refuses ${CMAKE_MATCH_2}: a world must give the same answer on every machine. "
        "Remove it from CMAKE_C_FLAGS, or set it only on targets that do not use Orrery.")
endif()

# What makes floating point equal everywhere. PUBLIC: systems are written in the user's code.
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

# What we ask of our own code.
function(orr_flags target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wconversion -Wpedantic -Wshadow
        $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
        $<$<BOOL:${ORR_WERROR}>:-Werror>)
endfunction()
