set(ORR_TESTS_JOBS
    tests/jobs/test_jobs.c
    tests/jobs/test_jobs_external.c
    tests/jobs/test_jobs_model.c)
