set(ORR_OPTION_REALTIME ORR_REALTIME)
set(ORR_INSTEAD_REALTIME src/realtime/absent.c) # Compiled without the option.
set(ORR_SOURCES_REALTIME
    src/realtime/fast_forward.c
    src/realtime/history_detach.c
    src/realtime/lock_sets.c
    src/realtime/posted_calls.c
    src/realtime/realtime.c
    src/realtime/realtime_log.c
    src/realtime/thread.c
    src/realtime/turn.c
    src/realtime/visibility.c)
# Not on a hot path: compiled for size.
set(ORR_SMALL_REALTIME
    src/realtime/fast_forward.c
    src/realtime/history_detach.c
    src/realtime/lock_sets.c
    src/realtime/posted_calls.c
    src/realtime/realtime.c
    src/realtime/realtime_log.c
    src/realtime/thread.c
    src/realtime/turn.c
    src/realtime/visibility.c)
