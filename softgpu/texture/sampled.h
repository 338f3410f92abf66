/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects as CUDA calls know them; kernels see those of engine/texture.h. All
 * functions want the process's lock held. */
#ifndef SOFTGPU_TEXTURE_SAMPLED_H
#define SOFTGPU_TEXTURE_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "base/number_map.h"
#include "front/front.h"

struct sg_context;

struct sg_sampled {
    struct ga_number_node by_handle; /* first; kernels have the same handle */
    struct ga_list in_context;
    struct sg_context *context;
    struct front_sampled what;
    uint64_t destroyed; /* the sequence number of the last item submitted before its destruction; 0:
                           it lives */
};

/* `what` has been checked. `place`: its handle; 0: any. CUDA_ERROR_ALREADY_ACQUIRED: an object of
 * the context has it; CUDA_ERROR_INVALID_VALUE: no object can have it. */
CUresult sg_sampled_make(struct sg_context *context, const struct front_sampled *what,
                         uint64_t place, uint64_t *handle);
/* NULL: the context has no such object of this kind. */
struct sg_sampled *sg_sampled_find(struct sg_context *context, uint64_t handle, bool surface);
/* Removes the handle; kernels that were submitted before may use the object to their end. */
void sg_sampled_destroy(struct sg_sampled *sampled);
/* Frees all objects of a context, whose work has finished. */
void sg_sampled_drop_context(struct sg_context *context);

#endif
