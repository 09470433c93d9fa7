set(ORR_TESTS_PLATFORM
    tests/platform/test_platform.c
    tests/platform/test_interrupted.c)
