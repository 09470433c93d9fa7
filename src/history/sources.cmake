set(ORR_SOURCES_HISTORY
    src/history/album.c
    src/history/blend.c
    src/history/desync.c
    src/history/desync_look.c
    src/history/frame.c
    src/history/grains.c
    src/history/history.c
    src/history/image.c
    src/history/load.c
    src/history/record.c
    src/history/replay.c
    src/history/rules.c
    src/history/stretcher.c
    src/history/tape_look.c
    src/history/tape_read.c
    src/history/tape_write.c
    src/history/travel.c
    src/history/traveller.c
)
# None is on a hot way: compiled for size.
set(ORR_SMALL_HISTORY ${ORR_SOURCES_HISTORY})
