set(ORR_SOURCES_HISTORY
    src/history/record.c
    src/history/replay.c
    src/history/tape_look.c
    src/history/tape_read.c
    src/history/tape_write.c
    src/history/timeline.c
)
# Not on any hot way: compiled for size.
set(ORR_SMALL_HISTORY
    src/history/record.c
    src/history/replay.c
    src/history/tape_look.c
    src/history/tape_read.c
    src/history/tape_write.c
    src/history/timeline.c
)
