# The benchmark program. ORR_BENCH_OPTIONS apply to its own sources only: the library is measured as built for release.
# Aligned loops avoid that a limit runs at half speed because of its address.
set(ORR_BENCH_SOURCES
    bench/bench_change.c
    bench/bench_env.c
    bench/bench_grow.c
    bench/bench_growth.c
    bench/bench_history.c
    bench/bench_iterate.c
    bench/bench_life.c
    bench/bench_lists.c
    bench/bench_main.c
    bench/bench_math.c
    bench/bench_measure.c
    bench/bench_pinned.c
    bench/bench_pipelines.c
    bench/bench_query.c
    bench/bench_realtime.c
    bench/bench_report.c
    bench/bench_rollback.c
    bench/bench_single.c
    bench/bench_single_system.c
    bench/bench_systems.c
    bench/bench_table.c
    bench/bench_transact.c
    bench/bench_waits.c
    bench/bench_workers.c
    bench/raw.c
    bench/raw_single.c)
set(ORR_BENCH_OPTIONS -O3 -falign-loops=32)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND ORR_BENCH_OPTIONS -march=x86-64-v3)
endif()
list(JOIN ORR_BENCH_OPTIONS " " ORR_BENCH_FLAGS)
set(ORR_BENCH_DEFINITIONS "ORR_BENCH_FLAGS=\"${ORR_BENCH_FLAGS} -ffp-contract=off\"")
