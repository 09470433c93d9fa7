set(ORR_SCENARIOS
    scenarios/scenarios.c
    scenarios/target_world.c)
