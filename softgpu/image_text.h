/* Which PTX of an image a software GPU takes, unpacked. */
#ifndef SG_IMAGE_TEXT_H
#define SG_IMAGE_TEXT_H

#include "api/cuda_names.h"

#include "api/image.h"

struct sg_text {
    char *bytes; /* owned: free() */
    size_t size;
};

/* The newest PTX that is not for more than compute capability 7.5. Of a linked image (-rdc=true) it
 * is that of the translation unit, if there is only one with PTX.
 * CUDA_ERROR_NO_BINARY_FOR_GPU: none (only machine code, or PTX for newer GPUs only);
 * CUDA_ERROR_INVALID_IMAGE: does not unpack; CUDA_ERROR_NOT_SUPPORTED: more than one translation
 * unit would have to be linked. `why` (never NULL) explains. */
CUresult sg_image_text(const struct api_image *image, struct sg_text *text, char *why,
                       size_t why_bytes);

#endif
