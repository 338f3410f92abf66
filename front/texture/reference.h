/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface references: their state. */
#ifndef FRONT_TEXTURE_REFERENCE_H
#define FRONT_TEXTURE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/list.h"

struct front_reference {
    uint64_t handle;
    struct ga_list of_all;
    bool surface;
    CUmodule module;      /* NULL: made by cuTexRefCreate, no kernel has it */
    CUcontext context;    /* the module's */
    CUdeviceptr variable; /* holds the handle of `object` */
    bool bound;
    CUDA_RESOURCE_DESC resource; /* valid if `bound` */
    CUDA_TEXTURE_DESC texture;
    CUarray_format format; /* of an element */
    unsigned channels;     /* 0: not set */
    uint64_t object;       /* 0: none; the state makes no valid object */
};

/* All functions below need the lock; functions of the host may be called with it. */

/* The lock is held on CUDA_SUCCESS. CUDA_ERROR_INVALID_VALUE: there is no such reference, or its
 * module has been unloaded. */
CUresult front_reference_enter(void *handle, bool surface, struct front_reference **reference);
/* `return front_reference_leave(rc);` */
CUresult front_reference_leave(CUresult rc);
/* Changes the reference to `changed` for kernels that are launched later. Waits for the work of
 * its context. */
CUresult front_reference_change(struct front_reference *reference,
                                const struct front_reference *changed);

#endif
