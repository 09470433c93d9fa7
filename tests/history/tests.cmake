set(ORR_TESTS_HISTORY
    tests/history/test_history.c
    tests/history/test_history_random.c
    tests/history/test_history_realtime.c
)
set(ORR_TEST_EXTRA_HISTORY
    tests/support/store_kit.c
)
