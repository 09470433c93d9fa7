set(ORR_SCENARIOS
    scenarios/asking.c
    scenarios/churn.c
    scenarios/clocks.c
    scenarios/scenarios.c
    scenarios/target_world.c
    scenarios/working.c)
