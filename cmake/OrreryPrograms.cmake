# SPDX-License-Identifier: MIT
# Programs: tests, fuzzers, benchmarks, examples, apps. Included only if one of these is enabled; by default if Orrery is the top-level project.

# Programs use all modules. Where one is left out, only golden tests are built.
if(orr_left_out_macros)
    set(ORR_GOLDEN_ONLY ON)
    set(ORR_BUILD_EXTRAS OFF)
    set(ORR_BUILD_FUZZERS OFF)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
# The library is C only. A C++ compiler is needed only for the C++ tests and examples.
if(ORR_BUILD_CXX AND (ORR_BUILD_EXTRAS OR (ORR_BUILD_TESTS AND NOT ORR_GOLDEN_ONLY)))
    enable_language(CXX)
endif()

# ---- scenarios: worlds shared by tests, benchmarks and examples -------------------------------------

include(scenarios/scenarios.cmake)
add_library(orr_scenarios STATIC ${ORR_SCENARIOS})
orr_flags(orr_scenarios)
target_include_directories(orr_scenarios PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(orr_scenarios PUBLIC orrery)

function(orr_program name)
    add_executable(${name} ${ARGN})
    orr_flags(${name})
    target_link_libraries(${name} PRIVATE orr_scenarios orrery)
endfunction()

# ---- tests: one program per module, one process per file ------------------------------------------

set(orr_test_files "") # Lines "file program labels…", read by ./dev.

# Adds one test file: compiled once, linked into the program tests_<module> and, on demand, into the separate program
# test_<noun>.
function(orr_test source module kit)
    get_filename_component(name ${source} NAME_WE)
    set(labels ${module})
    # Files that start threads run under TSan. They are found by a search of the source, so no list has to be maintained.
    file(STRINGS ${source} threads REGEX "pthread\\.h|thread_create|ORRI_THREAD|\\.workers = |orr_realtime\\(" LIMIT_COUNT 1)
    if(threads)
        list(APPEND labels threads)
    endif()
    # Golden hashes must be equal for every compiler and optimisation level.
    if(name MATCHES "golden")
        list(APPEND labels golden)
    endif()
    # Random and golden worlds, and untrusted files: few files that reach most of the library.
    if(name MATCHES "${ORR_TESTS_WIDE}")
        list(APPEND labels wide)
    endif()
    if(ORR_TESTS_LABEL AND NOT ORR_TESTS_LABEL IN_LIST labels)
        return()
    endif()
    add_library(${name}_object OBJECT EXCLUDE_FROM_ALL ${source})
    orr_flags(${name}_object)
    target_include_directories(${name}_object PRIVATE src tests)
    target_link_libraries(${name}_object PRIVATE orr_scenarios orrery)
    # The library is optimised; most tests are not, because compiling them takes longer than compiling the library. Tests
    # that search or compute are optimised. The gcc -O3 build compiles tests with -O1 to exercise the headers in optimised
    # code.
    if(NOT name MATCHES "${ORR_TESTS_OPTIMISED}")
        if(ORR_TESTS_PLAIN)
            target_compile_options(${name}_object PRIVATE -O0)
        else()
            target_compile_options(${name}_object PRIVATE $<$<CONFIG:Release>:-O1>)
        endif()
    endif()
    add_executable(${name} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${name}_object>)
    target_link_libraries(${name} PRIVATE ${kit} orr_test_main)
    # A file that replaces functions of the library or of libc has its own program (checked by tools/check_tests).
    file(STRINGS ${source} alone REGEX "ORR_TEST_ALONE" LIMIT_COUNT 1)
    if(alone)
        set(program ${name})
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL OFF)
    else()
        set(program tests_${module})
        target_sources(${program} PRIVATE $<TARGET_OBJECTS:${name}_object>)
    endif()
    if(source MATCHES "\\.cpp$")
        set_target_properties(${name} ${program} PROPERTIES LINKER_LANGUAGE CXX)
    endif()
    add_test(NAME ${name} COMMAND ${program} --file ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # Some tests request more memory than exists: the allocation must return NULL without a sanitizer report.
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" ENVIRONMENT
        "ASAN_OPTIONS=allocator_may_return_null=1;MSAN_OPTIONS=allocator_may_return_null=1;TSAN_OPTIONS=allocator_may_return_null=1")
    string(REPLACE ";" " " words "${labels}")
    set(orr_test_files "${orr_test_files}${name} ${program} ${words}\n" PARENT_SCOPE)
endfunction()

if(ORR_BUILD_TESTS)
    enable_testing()
    set(ORR_TESTS_OPTIMISED "golden|model|lock|math|random|hash|pairs|shuffle|mirror|_odd" CACHE INTERNAL "")
    set(ORR_TESTS_WIDE "golden|random|test_model|mirror|decode|untrusted|replay_file|test_rows|test_desync|playback|test_query$" CACHE INTERNAL "")
    include(tests/support/tests_support.cmake)
    list(APPEND ORR_TEST_SUPPORT tests/test.c)
    if(ORR_GOLDEN_ONLY) # Without controlled threads, which need to switch stacks.
        list(FILTER ORR_TEST_SUPPORT EXCLUDE REGEX "controlled|fiber")
        set(ORR_TESTS_LABEL golden)
    endif()
    list(REMOVE_DUPLICATES ORR_TEST_SUPPORT)
    add_library(orr_test_main OBJECT ${ORR_TEST_SUPPORT})
    orr_flags(orr_test_main)
    target_include_directories(orr_test_main PRIVATE src tests)
    target_link_libraries(orr_test_main PUBLIC orr_scenarios orrery m) # libm: reference for our mathematics.
    foreach(module IN LISTS ORR_MODULES ITEMS model)
        string(TOUPPER ${module} upper)
        include(tests/${module}/tests.cmake)
        if(NOT ORR_TESTS_${upper})
            message(FATAL_ERROR "tests/${module}/tests.cmake lists no file in ORR_TESTS_${upper}")
        endif()
        if(orr_left_out_macros) # The golden tests of generated programs travel and replay.
            list(FILTER ORR_TESTS_${upper} EXCLUDE REGEX "golden_programs")
            list(FILTER ORR_TEST_EXTRA_${upper} INCLUDE REGEX "oracle|store_kit")
        endif()
        # Code shared by the tests of a module is compiled once.
        set(orr_test_kit "")
        if(ORR_TEST_EXTRA_${upper})
            set(orr_test_kit orr_test_kit_${module})
            add_library(${orr_test_kit} OBJECT EXCLUDE_FROM_ALL ${ORR_TEST_EXTRA_${upper}})
            orr_flags(${orr_test_kit})
            target_include_directories(${orr_test_kit} PRIVATE src tests)
            target_link_libraries(${orr_test_kit} PUBLIC orr_scenarios orrery)
        endif()
        add_executable(tests_${module})
        orr_flags(tests_${module})
        target_link_libraries(tests_${module} PRIVATE ${orr_test_kit} orr_test_main)
        foreach(source IN LISTS ORR_TESTS_${upper})
            if(NOT source MATCHES "\\.cpp$" OR (ORR_BUILD_CXX AND NOT ORR_GOLDEN_ONLY))
                orr_test(${source} ${module} "${orr_test_kit}")
            endif()
        endforeach()
        if(NOT orr_test_files MATCHES " tests_${module} ") # No file of the module has the label.
            set_target_properties(tests_${module} PROPERTIES EXCLUDE_FROM_ALL ON)
            target_sources(tests_${module} PRIVATE tests/test.c)
        endif()
    endforeach()
    file(WRITE ${PROJECT_BINARY_DIR}/tests.txt "${orr_test_files}")
endif()

# ---- benchmarks, examples, apps ---------------------------------------------------------------------

if(ORR_BUILD_EXTRAS)
    include(bench/bench.cmake)
    orr_program(orr_bench ${ORR_BENCH_SOURCES})
    target_link_libraries(orr_bench PRIVATE m) # libm: the limit of the mathematics.
    target_include_directories(orr_bench PRIVATE bench)
    target_compile_options(orr_bench PRIVATE ${ORR_BENCH_OPTIONS})
    target_compile_definitions(orr_bench PRIVATE ${ORR_BENCH_DEFINITIONS})
    orr_program(first_light apps/first_light/main.c)
    orr_program(orrery-recording apps/recording/main.c)
    # Every folder of examples/ with a main.c or main.cpp is an example.
    file(GLOB orr_examples CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/examples
        examples/*/main.c examples/*/main.cpp)
    if(NOT orr_examples)
        message(FATAL_ERROR "examples/ has no example")
    endif()
    foreach(main IN LISTS orr_examples)
        get_filename_component(example ${main} DIRECTORY)
        if(main MATCHES "\\.cpp$" AND NOT ORR_BUILD_CXX)
            continue()
        endif()
        orr_program(example_${example} examples/${main})
    endforeach()
endif()

# ---- fuzzers ----------------------------------------------------------------------------------------

if(ORR_BUILD_FUZZERS)
    include(fuzz/fuzz.cmake)
    if(NOT ORR_FUZZERS)
        message(FATAL_ERROR "fuzz/fuzz.cmake lists no file in ORR_FUZZERS")
    endif()
    set(orr_fuzz_programs "")
    add_custom_target(fuzzers) # All fuzzers. Not part of `all` where tests are built, because only one stage needs them.
    add_library(orr_fuzz_kit OBJECT EXCLUDE_FROM_ALL ${ORR_FUZZ_EXTRA}) # Code shared by the fuzzers is compiled once.
    orr_flags(orr_fuzz_kit)
    if(ORR_FUZZERS_BLIND)
        target_sources(orr_fuzz_kit PRIVATE fuzz/blind.c)
    endif()
    target_include_directories(orr_fuzz_kit PRIVATE src tests)
    target_link_libraries(orr_fuzz_kit PUBLIC orr_scenarios orrery)
    foreach(source IN LISTS ORR_FUZZERS)
        get_filename_component(name ${source} NAME_WE)
        orr_program(${name} ${source})
        target_link_libraries(${name} PRIVATE orr_fuzz_kit)
        target_include_directories(${name} PRIVATE src tests)
        if(NOT ORR_FUZZERS_BLIND)
            target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        endif()
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ${ORR_BUILD_TESTS})
        add_dependencies(fuzzers ${name})
        string(APPEND orr_fuzz_programs "${name}\n")
    endforeach()
    file(WRITE ${PROJECT_BINARY_DIR}/fuzzers.txt "${orr_fuzz_programs}")
endif()
