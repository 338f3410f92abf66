/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and mipmapped arrays: their memory, and the layout of their texels in it. All functions
 * want the process's lock held.
 *
 * Note: the memory is an ordinary allocation in row-major order, so a copy to an array is a copy to
 * linear memory. */
#ifndef SOFTGPU_TEXTURE_ARRAY_H
#define SOFTGPU_TEXTURE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "front/front.h"
#include "softgpu/engine/texture.h"

struct sg_context;
struct sg_range;

/* An array, a mipmapped array, or a level of one. */
struct sg_array {
    uint64_t handle; /* of the type ARRAY, or MIPMAP if `front.levels` is not 0 */
    struct sg_context *context;
    struct ga_list in_context; /* of the arrays with memory of their own */
    struct front_array front;
    struct sg_texels texels;
    struct sg_range *range; /* NULL: a level, which lies in the memory of the whole array */
    struct sg_array *level[FRONT_LEVELS_MAX]; /* owned; NULL: not requested yet */
};

/* The channels of texels from CUDA's description; false: not supported. */
bool sg_texels_format(CUarray_format format, unsigned channels, struct sg_texels *texels);

CUresult sg_array_make(struct sg_context *context, const struct front_array *front,
                       struct sg_array **array);
/* `array` is no level of a mipmapped one; levels are destroyed with the whole. */
void sg_array_destroy(struct sg_array *array);
/* An existing level of a mipmapped array: the same object each time. */
CUresult sg_array_level(struct sg_array *whole, unsigned level, struct sg_array **array);
/* NULL: no such handle. */
struct sg_array *sg_array_find(CUarray handle);
struct sg_array *sg_array_find_mipmap(CUmipmappedArray handle);
/* Replaces arrays of the box by their linear memory. CUDA_ERROR_INVALID_VALUE: no array, or too
 * small an array. */
CUresult sg_array_resolve(struct front_box *box);

#endif
