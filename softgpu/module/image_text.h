/* SPDX-License-Identifier: Apache-2.0 */
/* Which PTX of an image a software GPU takes, unpacked. */
#ifndef SOFTGPU_MODULE_IMAGE_TEXT_H
#define SOFTGPU_MODULE_IMAGE_TEXT_H

#include "api/cuda_names.h"

#include "api/image.h"

struct sg_text {
    char *bytes; /* owned: free() */
    size_t size;
    unsigned sm; /* 75 for compute_75; 0: the image does not say */
};

struct sg_texts {
    struct sg_text *items;
    size_t count; /* at least 1 */
    unsigned sm;  /* the compute capability that was asked for */
};

/* The newest PTX that is not for more than compute capability `sm` (75 for 7.5). Of a linked
 * program (-rdc=true) it is that of each of its translation units, and NVIDIA's device run time is
 * left out.
 * CUDA_ERROR_NO_BINARY_FOR_GPU: none (only machine code, or PTX for newer GPUs only);
 * CUDA_ERROR_INVALID_IMAGE: does not unpack. `why` (never NULL) explains. */
CUresult sg_image_texts(const struct api_image *image, unsigned sm, struct sg_texts *texts,
                        char *why, size_t why_bytes);
void sg_texts_free(struct sg_texts *texts);

#endif
