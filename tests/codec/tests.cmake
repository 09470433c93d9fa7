set(ORR_TESTS_CODEC
    tests/codec/test_decode.c)
set(ORR_TEST_EXTRA_CODEC
    tests/support/store_kit.c)
