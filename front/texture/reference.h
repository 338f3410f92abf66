/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface references: what is kept of each. */
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
    CUcontext context;    /* of the module */
    CUdeviceptr variable; /* holds the handle of `object` */
    bool bound;
    CUDA_RESOURCE_DESC resource; /* if `bound` */
    CUDA_TEXTURE_DESC texture;
    CUarray_format format; /* of an element */
    unsigned channels;     /* 0: not said yet */
    uint64_t object;       /* 0: none; bound, but not so that it could be used */
};

/* All that follows under the lock, which the host's functions may be called with. */

/* The lock is held on CUDA_SUCCESS. CUDA_ERROR_INVALID_VALUE: there is no such reference, or its
 * module is gone. */
CUresult front_reference_enter(void *handle, bool surface, struct front_reference **reference);
/* `return front_reference_leave(rc);` */
CUresult front_reference_leave(CUresult rc);
/* The reference is from now on as `changed`: kernels that are launched later see that. The work of
 * its context has then finished. */
CUresult front_reference_change(struct front_reference *reference,
                                const struct front_reference *changed);

#endif
