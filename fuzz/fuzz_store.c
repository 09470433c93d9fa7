// SPDX-License-Identifier: MIT
// Runs operation sequences chosen by the fuzzer against the naive oracle. The first byte selects
// the shape.
#include "model/ops.h"
#include "test.h"

#include <stdlib.h>

static const ops_shape shapes[] = {
    {.name = "everything",
     .types = OPS_ALL,
     .made_types = 2,
     .later_types = 4,
     .tags = 5,
     .cluster_tags = 3,
     .entities_max = 6000,
     .batch_max = 2500,
     .shares = true,
     .history = 1,
     .names = true,
     .queries = true},
    {.name = "refusing",
     .types = OPS_ALL,
     .later_types = 2,
     .tags = 3,
     .cluster_tags = 2,
     .entities_max = 400,
     .batch_max = 100,
     .clusters_hard = 60,
     .refuse_memory = true,
     .refuse_hooks = true,
     .shares = true,
     .history = 1,
     .names = true,
     .queries = true},
    {.name = "small limits",
     .types = OPS_POSITION | OPS_TOKEN | OPS_FROZEN | OPS_SHARD | OPS_BODY,
     .tags = 2,
     .cluster_tags = 2,
     .entities_max = 100,
     .batch_max = 40,
     .entities_hard = 64,
     .clusters_hard = 12,
     .history = 1,
     .queries = true},
};

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static ops s;
    if (size < 2) {
        return 0;
    }
    const ops_shape* shape = &shapes[data[0] % (sizeof shapes / sizeof shapes[0])];
    ops_begin(&s, shape, 1, data + 1, size - 1, 0xAA);
    uint32_t steps = 0;
    while (ops_step(&s)) {
        if (++steps % 16 == 0) {
            ops_check(&s);
        }
    }
    (void)ops_end(&s);
    return 0;
}
