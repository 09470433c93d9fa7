set(ORR_TESTS_HISTORY
    tests/history/test_history.c
    tests/history/test_replay.c
    tests/history/test_replay_file.c
)
set(ORR_TEST_EXTRA_HISTORY
    tests/support/store_kit.c
)
