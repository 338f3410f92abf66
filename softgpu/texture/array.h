/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and mipmapped arrays: their memory, and where their texels lie in it. All functions want
 * the process's lock held.
 *
 * What a reader would get wrong: the memory is an allocation like any other, row-major, so a copy
 * that ends in an array is one that ends in linear memory. */
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
    struct ga_list in_context; /* of those with memory */
    struct front_array front;
    struct sg_texels texels;
    struct sg_range *range;                   /* NULL: a level, whose memory is the whole's */
    struct sg_array *level[FRONT_LEVELS_MAX]; /* owned; NULL: not asked for yet */
};

/* Channels of texels as CUDA says it; false: not one of ours. */
bool sg_texels_format(CUarray_format format, unsigned channels, struct sg_texels *texels);

CUresult sg_array_make(struct sg_context *context, const struct front_array *front,
                       struct sg_array **array);
/* No level of a mipmapped one. Its levels go with it. */
void sg_array_destroy(struct sg_array *array);
/* An existing level of a mipmapped array: the same one each time. */
CUresult sg_array_level(struct sg_array *whole, unsigned level, struct sg_array **array);
/* NULL: no such handle. */
struct sg_array *sg_array_find(CUarray handle);
struct sg_array *sg_array_find_mipmap(CUmipmappedArray handle);
/* Arrays of the box become the linear memory that they are. CUDA_ERROR_INVALID_VALUE: no array, or
 * too little of one. */
CUresult sg_array_resolve(struct front_box *box);

#endif
