set(ORR_TEST_SUPPORT
    tests/support/failing_alloc.c
    tests/support/fake_platform.c
    tests/support/fiber.c
    tests/support/controlled.c
    tests/support/controlled_choose.c
    tests/support/controlled_text.c
    tests/test.c)
