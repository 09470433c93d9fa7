// SPDX-License-Identifier: MIT
// Queries: made, matched, kept up to date, and told.
#include "query/query.h"

orr_world* orr_query_world(const orr_query* query)
{
    ORR_ASSERT(query != NULL);
    return query->world;
}
