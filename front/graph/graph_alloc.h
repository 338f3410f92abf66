/* SPDX-License-Identifier: Apache-2.0 */
/* What the launches of graphs allocate and free, and what a device says it holds for them. The
 * memory itself is the library's; so is the lock. */
#ifndef FRONT_GRAPH_GRAPH_ALLOC_H
#define FRONT_GRAPH_GRAPH_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* An address that nodes allocate and free. */
struct front_graph_block {
    bool launched; /* since memory came behind it last */
    bool used;     /* allocated, by the launches so far */
};

/* A node of an executable that allocates or frees. */
struct front_graph_alloc {
    bool frees;
    bool before; /* what the last launch found: was it allocated? */
    struct front_graph_block *block;
};

/* What a launch allocates and frees, in order: whether a block is used is decided in the order of
 * the calls that launch, so what one launch frees the next one may allocate. `automatic`: what an
 * earlier launch has left allocated is freed first. CUDA_ERROR_INVALID_VALUE: it allocates what is
 * allocated, or frees what is free; nothing is changed then. */
CUresult front_graph_allocs_launch(struct front_graph_alloc *allocs, unsigned count,
                                   bool automatic);
/* As if that launch had not been; no other has been since. */
void front_graph_allocs_undo(const struct front_graph_alloc *allocs, unsigned count);

/* Of a device, in bytes: what has memory behind it, which is also what is reserved. */
struct front_graph_account {
    uint64_t mapped, used_high, reserved_high;
};

/* More has memory behind it. (Less: `mapped` shrinks.) */
void front_graph_account_add(struct front_graph_account *account, uint64_t bytes);
/* As cuDeviceGetGraphMemAttribute. Only the high marks can be set, and to 0. */
CUresult front_graph_account_get(const struct front_graph_account *account,
                                 CUgraphMem_attribute attribute, cuuint64_t *bytes);
CUresult front_graph_account_set(struct front_graph_account *account,
                                 CUgraphMem_attribute attribute, cuuint64_t bytes);

#endif
