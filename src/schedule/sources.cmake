set(ORR_SOURCES_SCHEDULE
    src/schedule/system.c
)
set(ORR_SMALL_SCHEDULE
)
