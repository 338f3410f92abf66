/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of managed variables. All functions want the process's lock held. */
#ifndef SOFTGPU_MODULE_MANAGED_H
#define SOFTGPU_MODULE_MANAGED_H

#include "api/cuda_names.h"

#include "softgpu/memory/ranges.h"

/* The managed variables of a program: one set for all modules of a library, and for a module that
 * is of none its own. */
struct sg_managed {
    unsigned references;
    struct sg_range *ranges[]; /* per variable of the program; NULL: not a managed one */
};

/* Memory for the program's managed variables, with what they hold at first. */
CUresult sg_managed_make(const struct sg_program *program, struct sg_managed **managed);
void sg_managed_drop(struct sg_managed *managed, const struct sg_program *program);

#endif
