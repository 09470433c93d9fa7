set(ORR_SOURCES_HISTORY
    src/history/history.c
    src/history/rules.c
    src/history/travel.c
)
# Not on any hot way: compiled for size.
set(ORR_SMALL_HISTORY
    src/history/history.c
    src/history/rules.c
    src/history/travel.c
)
