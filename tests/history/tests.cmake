set(ORR_TESTS_HISTORY
    tests/history/test_history.c
    tests/history/test_history_random.c
)
