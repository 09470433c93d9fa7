set(ORR_OPTION_HISTORY ORR_HISTORY)
set(ORR_SOURCES_HISTORY
    src/history/entity_history.c
    src/history/entity_slots.c
    src/history/history.c
    src/history/playback.c
    src/history/retention.c
    src/history/schedule_past.c
    src/history/state_send.c
    src/history/travel.c)
# Not on a hot path: compiled for size.
set(ORR_SMALL_HISTORY ${ORR_SOURCES_HISTORY})
