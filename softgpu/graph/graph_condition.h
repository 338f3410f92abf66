/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of conditional nodes (cudaGraphConditionalHandle). All functions want the process's
 * lock held. */
#ifndef SOFTGPU_GRAPH_GRAPH_CONDITION_H
#define SOFTGPU_GRAPH_GRAPH_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "base/number_map.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/context.h"

struct sg_condition {
    struct ga_number_node by_handle; /* first; the handle is the variable's address */
    struct ga_list in_all;
    unsigned references;
    struct sg_context *context; /* held */
    struct sg_range *range;     /* NULL: gone with the context's memory */
    unsigned value;
    bool assigned;
};

/* `place`: its handle; 0: any. CUDA_ERROR_ALREADY_ACQUIRED: something else is there;
 * CUDA_ERROR_INVALID_VALUE: no condition can have it. */
CUresult sg_condition_make(struct sg_context *context, unsigned value, bool assigned,
                           uint64_t place, uint64_t *handle);
struct sg_condition *sg_condition_find(uint64_t handle);
void sg_condition_hold(struct sg_condition *condition);
void sg_condition_drop(struct sg_condition *condition);
void sg_condition_drop_context(struct sg_context *context);
unsigned sg_condition_value(const struct sg_condition *condition);
void sg_condition_assign(struct sg_condition *condition);

#endif
