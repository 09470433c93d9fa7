set(ORR_SOURCES_HISTORY
    src/history/timeline.c
)
# Not on any hot way: compiled for size.
set(ORR_SMALL_HISTORY
    src/history/timeline.c
)
