set(ORR_OPTION_LOCK ORR_REALTIME)
set(ORR_SOURCES_LOCK
    src/lock/lock.c
    src/lock/log.c
    src/lock/overtake.c
    src/lock/trace.c)
# Not on a hot path: compiled for size.
set(ORR_SMALL_LOCK
    src/lock/lock.c
    src/lock/log.c
    src/lock/overtake.c
    src/lock/trace.c)
