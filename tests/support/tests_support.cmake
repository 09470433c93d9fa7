set(ORR_TEST_SUPPORT
    tests/support/failing_alloc.c
    tests/support/fake_platform.c
    tests/test.c)
