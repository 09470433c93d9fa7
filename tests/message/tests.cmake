set(ORR_TESTS_MESSAGE
    tests/message/test_event.c
    tests/message/test_message_frame.c
)
set(ORR_TEST_EXTRA_MESSAGE
    tests/message/lane_standin.c
    tests/support/store_kit.c
)
