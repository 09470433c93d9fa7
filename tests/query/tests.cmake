set(ORR_TESTS_QUERY
    tests/query/test_guard.c
    tests/query/test_terms.c
)
set(ORR_TEST_EXTRA_QUERY tests/support/store_kit.c)
