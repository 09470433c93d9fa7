set(ORR_TESTS_PLATFORM
    tests/platform/test_interrupted.c
    tests/platform/test_platform.c)
