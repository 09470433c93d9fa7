set(ORR_TESTS_HISTORY
    tests/history/test_history.c
)
