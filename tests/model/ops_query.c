// SPDX-License-Identifier: MIT
#include "model/ops.h"
void ops_queries_begin(ops* s)
{
    (void)s;
}
void ops_queries_check(ops* s)
{
    (void)s;
}
void ops_queries_check_one(ops* s)
{
    (void)s;
}
void ops_queries_end(ops* s)
{
    (void)s;
}
const ops_entry ops_query_table[] = {{NULL, 0, NULL}};
const ops_entry ops_bulk_table[] = {{NULL, 0, NULL}};
