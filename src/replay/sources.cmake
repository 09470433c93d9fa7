set(ORR_SOURCES_REPLAY
    src/replay/desync.c
    src/replay/file_inspect.c
    src/replay/file_read.c
    src/replay/file_write.c
    src/replay/record.c
    src/replay/replay.c
    src/replay/world_diff.c)
