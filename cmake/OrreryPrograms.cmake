# SPDX-License-Identifier: MIT
# Everything that runs: tests, fuzzers, benchmarks, examples, apps. All of it hidden from embedders.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
# The library is C alone: of all commands only those that build C++ tests and examples need a C++ compiler.
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

# ---- tests: one program per file --------------------------------------------------------------------

set(orr_test_programs "") # Lines "name labels…", read by ./dev.

function(orr_test source kit)
    get_filename_component(name ${source} NAME_WE)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(module ${folder} NAME)
    orr_program(${name} ${source})
    target_link_libraries(${name} PRIVATE ${kit} orr_test_main)
    target_include_directories(${name} PRIVATE src tests)
    # What is tested is optimised, the tests need not be: that is half of the time to compile them. But those that search or compute do.
    if(NOT name MATCHES "golden|model|lock|math")
        target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    set(labels ${module})
    # What starts threads runs under TSan; found by looking, so that no list can be forgotten.
    file(STRINGS ${source} threads REGEX "pthread\\.h|thread_create|ORRI_THREAD|\\.workers = |orr_realtime\\(" LIMIT_COUNT 1)
    if(threads)
        list(APPEND labels threads)
        add_dependencies(threads ${name})
    endif()
    # Golden hashes must be equal for every compiler and level.
    if(name MATCHES "golden")
        list(APPEND labels golden)
        add_dependencies(golden ${name})
    endif()
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # Tests ask for more memory than there is; that is a NULL, not a report.
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" ENVIRONMENT
        "ASAN_OPTIONS=allocator_may_return_null=1;MSAN_OPTIONS=allocator_may_return_null=1;TSAN_OPTIONS=allocator_may_return_null=1")
    string(REPLACE ";" " " words "${labels}")
    set(orr_test_programs "${orr_test_programs}${name} ${words}\n" PARENT_SCOPE)
endfunction()

if(ORR_BUILD_TESTS)
    enable_testing()
    add_custom_target(golden)
    add_custom_target(threads)
    include(tests/support/tests_support.cmake)
    list(APPEND ORR_TEST_SUPPORT tests/test.c)
    if(ORR_GOLDEN_ONLY) # No controlled threads, which need stacks to switch.
        list(FILTER ORR_TEST_SUPPORT EXCLUDE REGEX "controlled|fiber")
    endif()
    list(REMOVE_DUPLICATES ORR_TEST_SUPPORT)
    add_library(orr_test_main OBJECT ${ORR_TEST_SUPPORT})
    orr_flags(orr_test_main)
    target_include_directories(orr_test_main PRIVATE src tests)
    target_link_libraries(orr_test_main PUBLIC orr_scenarios orrery m) # libm: what ours is measured against.
    foreach(module IN LISTS ORR_MODULES ITEMS model)
        string(TOUPPER ${module} upper)
        include(tests/${module}/tests.cmake)
        if(NOT ORR_TESTS_${upper})
            message(FATAL_ERROR "tests/${module}/tests.cmake lists no file in ORR_TESTS_${upper}")
        endif()
        # What the tests of a module share is compiled once.
        set(orr_test_kit "")
        if(ORR_TEST_EXTRA_${upper})
            set(orr_test_kit orr_test_kit_${module})
            add_library(${orr_test_kit} OBJECT EXCLUDE_FROM_ALL ${ORR_TEST_EXTRA_${upper}})
            orr_flags(${orr_test_kit})
            target_include_directories(${orr_test_kit} PRIVATE src tests)
            target_link_libraries(${orr_test_kit} PUBLIC orr_scenarios orrery)
        endif()
        foreach(source IN LISTS ORR_TESTS_${upper})
            if(ORR_GOLDEN_ONLY AND NOT source MATCHES "golden")
                continue()
            endif()
            if(source MATCHES "\\.cpp$" AND NOT ORR_BUILD_CXX)
                continue()
            endif()
            orr_test(${source} "${orr_test_kit}")
        endforeach()
    endforeach()
    file(WRITE ${PROJECT_BINARY_DIR}/tests.txt "${orr_test_programs}")
endif()

# ---- benchmarks, examples, apps ---------------------------------------------------------------------

if(ORR_BUILD_EXTRAS)
    include(bench/bench.cmake)
    orr_program(orr_bench ${ORR_BENCH_SOURCES})
    target_link_libraries(orr_bench PRIVATE m) # The limit of the mathematics.
    target_include_directories(orr_bench PRIVATE bench)
    target_compile_options(orr_bench PRIVATE ${ORR_BENCH_OPTIONS})
    target_compile_definitions(orr_bench PRIVATE ${ORR_BENCH_DEFINITIONS})
    orr_program(first_light apps/first_light/main.c)
    orr_program(orrery-recording apps/recording/main.c)
    # A folder with a main.c or main.cpp is an example; its name is in its place, a list would only repeat it.
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
    foreach(source IN LISTS ORR_FUZZERS)
        get_filename_component(name ${source} NAME_WE)
        orr_program(${name} ${source} ${ORR_FUZZ_EXTRA})
        target_include_directories(${name} PRIVATE src tests)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        string(APPEND orr_fuzz_programs "${name}\n")
    endforeach()
    file(WRITE ${PROJECT_BINARY_DIR}/fuzzers.txt "${orr_fuzz_programs}")
endif()
