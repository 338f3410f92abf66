/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of conditional nodes: four bytes of device memory each, whose address is the handle
 * that kernels pass to cudaGraphSetConditional. */
#include "softgpu/graph/graph_condition.h"

#include <stdlib.h>

#include "softgpu/memory/heap.h"

static struct ga_number_map conditions;
static struct ga_list all; /* of structs sg_condition; empty: never used */

static _Atomic uint32_t *variable(const struct sg_condition *condition)
{
    return (_Atomic uint32_t *)(uintptr_t)condition->range->span.base;
}

CUresult sg_condition_make(struct sg_context *context, unsigned value, bool assigned,
                           uint64_t place, uint64_t *handle)
{
    struct sg_condition *made = calloc(1, sizeof *made);
    CUresult rc = made == NULL ? CUDA_ERROR_OUT_OF_MEMORY
                               : sg_heap_alloc_at(context->device, context, sizeof(uint32_t), place,
                                                  &made->range);
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    if (all.next == NULL) {
        ga_list_init(&all);
    }
    made->range->variable = true; /* cuMemFree refuses it */
    made->range->kept = false;
    made->references = 1;
    made->context = context;
    made->value = value;
    made->assigned = assigned;
    sg_context_hold(context);
    atomic_store(variable(made), value);
    ga_number_map_add(&conditions, &made->by_handle, made->range->span.base);
    ga_list_append(&all, &made->in_all);
    *handle = made->range->span.base;
    return CUDA_SUCCESS;
}

struct sg_condition *sg_condition_find(uint64_t handle)
{
    return (struct sg_condition *)ga_number_map_find(&conditions, handle);
}

void sg_condition_hold(struct sg_condition *condition)
{
    condition->references++;
}

static void condition_memory_drop(struct sg_condition *condition)
{
    if (condition->range != NULL) {
        ga_number_map_remove(&conditions, &condition->by_handle);
        sg_heap_free(condition->range);
        condition->range = NULL;
    }
}

void sg_condition_drop(struct sg_condition *condition)
{
    if (--condition->references == 0) {
        condition_memory_drop(condition);
        ga_list_remove(&condition->in_all);
        sg_context_drop(condition->context);
        free(condition);
    }
}

void sg_condition_drop_context(struct sg_context *context)
{
    if (all.next == NULL) {
        return;
    }
    ga_list_each (at, following, &all) {
        struct sg_condition *condition = ga_container(at, struct sg_condition, in_all);
        if (condition->context == context) {
            condition_memory_drop(condition);
        }
    }
}

unsigned sg_condition_value(const struct sg_condition *condition)
{
    return condition->range != NULL ? atomic_load(variable(condition)) : 0;
}

void sg_condition_assign(struct sg_condition *condition)
{
    if (condition->assigned && condition->range != NULL) {
        atomic_store(variable(condition), condition->value);
    }
}
