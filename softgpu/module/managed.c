/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of managed variables. The CUDA runtime needs it before there is any context. It is freed
 * with the last module that has it, which may be one whose launches still run. */
#include "softgpu/module/managed.h"

#include <stdlib.h>

#include "base/log.h"
#include "softgpu/engine/budget.h"
#include "softgpu/memory/host_memory.h"

static CUresult initialise(const struct sg_program *program, const struct sg_managed *managed)
{
    size_t count = sg_program_variable_count(program);
    uint64_t *addresses = calloc(count + 1, sizeof *addresses);
    if (addresses == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        addresses[i] = managed->ranges[i] != NULL ? managed->ranges[i]->span.base : 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (managed->ranges[i] != NULL) {
            sg_program_initialise(program, i, addresses);
        }
    }
    free(addresses);
    return CUDA_SUCCESS;
}

/* The variable is memory of this machine, which a short text can make large. */
static CUresult variable_alloc(uint64_t place, uint64_t bytes, struct sg_range **range)
{
    if (!sg_budget_take(bytes, "managed variables")) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = place == 0 ? sg_managed_alloc(NULL, bytes, range)
                             : sg_managed_alloc_at(place, bytes, range);
    if (rc != CUDA_SUCCESS) {
        sg_budget_give(bytes);
    }
    return rc;
}

CUresult sg_managed_make(const struct sg_program *program, const uint64_t *places,
                         struct sg_managed **managed)
{
    size_t count = sg_program_variable_count(program);
    struct sg_managed *made = calloc(1, sizeof *made + count * sizeof made->ranges[0]);
    CUresult rc = made != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        const struct sg_variable *variable = sg_program_variable_at(program, i);
        if (variable->managed && !variable->external && variable->bytes != 0) {
            rc = variable_alloc(places != NULL ? places[i] : 0, variable->bytes, &made->ranges[i]);
        }
        if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
            ga_error("softgpu: no memory for managed variable %s (%llu bytes)", variable->name,
                     (unsigned long long)variable->bytes);
        } else if (rc == CUDA_SUCCESS && made->ranges[i] != NULL) {
            made->ranges[i]->variable = true;
        }
    }
    rc = rc == CUDA_SUCCESS ? initialise(program, made) : rc;
    if (rc != CUDA_SUCCESS) {
        sg_managed_drop(made, program);
        return rc;
    }
    made->references = 1;
    *managed = made;
    return CUDA_SUCCESS;
}

void sg_managed_drop(struct sg_managed *managed, const struct sg_program *program)
{
    if (managed == NULL || (managed->references != 0 && --managed->references != 0)) {
        return;
    }
    size_t count = sg_program_variable_count(program);
    for (size_t i = 0; i < count; i++) {
        if (managed->ranges[i] != NULL) {
            sg_budget_give(managed->ranges[i]->span.bytes);
            sg_host_free(managed->ranges[i]);
        }
    }
    free(managed);
}
