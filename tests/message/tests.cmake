set(ORR_TESTS_MESSAGE
    tests/message/test_message_frame.c
    tests/message/test_mirror.c
)
set(ORR_TEST_EXTRA_MESSAGE
    tests/message/tell_kit.c
    tests/support/store_kit.c
)
