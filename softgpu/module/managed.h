/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of managed variables. All functions want the process's lock held. */
#ifndef SOFTGPU_MODULE_MANAGED_H
#define SOFTGPU_MODULE_MANAGED_H

#include "api/cuda_names.h"

#include "softgpu/memory/ranges.h"

/* The managed variables of a program: one set for all modules of a library, and one for each module
 * without a library. */
struct sg_managed {
    unsigned references;
    struct sg_range *ranges[]; /* one per variable of the program; NULL: not managed */
};

/* Allocates the program's managed variables and writes their initial values. `places`: one address
 * per variable of the program; NULL: anywhere. */
CUresult sg_managed_make(const struct sg_program *program, const uint64_t *places,
                         struct sg_managed **managed);
void sg_managed_drop(struct sg_managed *managed, const struct sg_program *program);

#endif
