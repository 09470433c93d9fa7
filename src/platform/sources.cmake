set(ORR_SOURCES_PLATFORM
    src/platform/platform_posix.c)
