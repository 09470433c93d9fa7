set(ORR_TESTS_SCHEDULE
    tests/schedule/test_schedule_frame.c
)
set(ORR_TEST_EXTRA_SCHEDULE
    tests/support/store_kit.c
)
