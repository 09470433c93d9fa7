set(ORR_SOURCES_QUERY
    src/query/query.c
)
