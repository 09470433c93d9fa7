set(ORR_SOURCES_JOBS
    src/jobs/external.c
    src/jobs/graph.c
    src/jobs/jobs.c
    src/jobs/sleep.c
    src/jobs/watchdog.c)
# Not on a hot path: compiled for size.
set(ORR_SMALL_JOBS
    src/jobs/external.c
    src/jobs/jobs.c
    src/jobs/watchdog.c)
