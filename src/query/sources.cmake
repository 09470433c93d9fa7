set(ORR_SOURCES_QUERY
    src/query/query_print.c
    src/query/query.c
    src/query/terms.c
)
