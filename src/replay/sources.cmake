set(ORR_OPTION_REPLAY ORR_REPLAY)
set(ORR_SOURCES_REPLAY
    src/replay/desync.c
    src/replay/file_check.c
    src/replay/file_inspect.c
    src/replay/file_read.c
    src/replay/file_write.c
    src/replay/record.c
    src/replay/replay.c
    src/replay/world_diff.c)
# Not on a hot path: compiled for size.
set(ORR_SMALL_REPLAY ${ORR_SOURCES_REPLAY})
