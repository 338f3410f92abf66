/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the PTX of an image that a software GPU runs, and unpacks it. */
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
    unsigned sm;  /* the requested compute capability */
};

/* The newest PTX for compute capability `sm` (75 for 7.5) or lower; for a linked program
 * (-rdc=true) that of each of its translation units, without NVIDIA's device run time.
 * CUDA_ERROR_NO_BINARY_FOR_GPU: there is none (only machine code, or PTX for newer GPUs);
 * CUDA_ERROR_INVALID_IMAGE: it cannot be unpacked. `why` (never NULL) explains. */
CUresult sg_image_texts(const struct api_image *image, unsigned sm, struct sg_texts *texts,
                        char *why, size_t why_bytes);
void sg_texts_free(struct sg_texts *texts);

#endif
