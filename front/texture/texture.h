/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects: checks of their descriptions. */
#ifndef FRONT_TEXTURE_TEXTURE_H
#define FRONT_TEXTURE_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "front/texture/array.h"

/* The description of a texture or surface object. */
struct front_sampled {
    bool surface;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture; /* not for surfaces */
    bool viewed;
    CUDA_RESOURCE_VIEW_DESC view; /* if `viewed` */
};

/* The array of a resource, as found by the caller: `array` and `mipmap` belong to the resource's
 * handle; NULL: it is not of that kind. */
struct front_backing {
    const struct front_array *array, *mipmap;
};

/* Reads the descriptions (`view` NULL: none) and checks all that does not depend on memory.
 * CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED, named on stderr: a view of compressed
 * blocks. */
CUresult front_texture_read(CUdevice device, const CUDA_RESOURCE_DESC *resource,
                            const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view,
                            const struct front_backing *backing, struct front_sampled *sampled);
CUresult front_surface_read(const CUDA_RESOURCE_DESC *resource, const struct front_backing *backing,
                            struct front_sampled *sampled);
/* The memory that must exist to make a texture of it; bytes 0: the resource is an array. For a
 * line it is only the first element: programs give sizes beyond their allocations
 * (convolutionFFT2D of cuda-samples), which NVIDIA's driver accepts. A kernel that reads there
 * gets an error. */
void front_texture_memory(const CUDA_RESOURCE_DESC *resource, uint64_t *start, uint64_t *bytes);

#endif
