/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects: what their descriptions may say. */
#ifndef FRONT_TEXTURE_TEXTURE_H
#define FRONT_TEXTURE_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "front/texture/array.h"

/* What one is made of. */
struct front_sampled {
    bool surface;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture; /* not for surfaces */
    bool viewed;
    CUDA_RESOURCE_VIEW_DESC view; /* if `viewed` */
};

/* The array behind a resource, as the caller found it: `array` and `mipmap` are of the resource's
 * handle, NULL where there is none of that kind. */
struct front_backing {
    const struct front_array *array, *mipmap;
};

/* Takes the descriptions (`view` NULL: none) and checks all that can be said without looking at
 * memory. CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED, named: a view of compressed blocks.
 */
CUresult front_texture_read(CUdevice device, const CUDA_RESOURCE_DESC *resource,
                            const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view,
                            const struct front_backing *backing, struct front_sampled *sampled);
CUresult front_surface_read(const CUDA_RESOURCE_DESC *resource, const struct front_backing *backing,
                            struct front_sampled *sampled);
/* Memory that must be there to make a texture of it; bytes 0: it is made of an array. Of a line it
 * is the first element: programs give sizes beyond what they have allocated (convolutionFFT2D of
 * cuda-samples), which NVIDIA's driver takes. A kernel that reads there is another matter. */
void front_texture_memory(const CUDA_RESOURCE_DESC *resource, uint64_t *start, uint64_t *bytes);
/* What a view's format makes of elements: CU_AD_FORMAT_* and channels. False: there is no such
 * format, or it has no elements (CU_RES_VIEW_FORMAT_NONE, compressed blocks). */
bool front_view_format(CUresourceViewFormat format, CUarray_format *element, unsigned *channels);

#endif
