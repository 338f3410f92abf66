/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations by launches of graphs, and the memory that a device reports for them. The memory
 * and the lock are the library's. */
#ifndef FRONT_GRAPH_GRAPH_ALLOC_H
#define FRONT_GRAPH_GRAPH_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* An address that nodes allocate and free. */
struct front_graph_block {
    bool launched; /* since it was last backed by memory */
    bool used;     /* allocated, after the launches so far */
};

/* A node of an executable that allocates or frees. */
struct front_graph_alloc {
    bool frees;
    bool before; /* `used` before the last launch */
    struct front_graph_block *block;
};

/* Applies the allocations and frees of a launch, in order. Whether a block is used follows the
 * order of the launching calls, so a launch may allocate what an earlier one frees. `automatic`:
 * memory that an earlier launch left allocated is freed first. CUDA_ERROR_INVALID_VALUE: the
 * launch allocates an allocated block or frees a free one; nothing is changed. */
CUresult front_graph_allocs_launch(struct front_graph_alloc *allocs, unsigned count,
                                   bool automatic);
/* Undoes the last launch. */
void front_graph_allocs_undo(const struct front_graph_alloc *allocs, unsigned count);

/* Memory of a device for graphs, in bytes. `mapped` is what blocks are backed by, which is also
 * what is reserved. */
struct front_graph_account {
    uint64_t mapped, used_high, reserved_high;
};

/* Adds backed memory. (Subtracting decreases `mapped` directly.) */
void front_graph_account_add(struct front_graph_account *account, uint64_t bytes);
/* As cuDeviceGetGraphMemAttribute. Only the high-water marks can be set, and only to 0. */
CUresult front_graph_account_get(const struct front_graph_account *account,
                                 CUgraphMem_attribute attribute, cuuint64_t *bytes);
CUresult front_graph_account_set(struct front_graph_account *account,
                                 CUgraphMem_attribute attribute, cuuint64_t bytes);

#endif
