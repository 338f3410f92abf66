/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of the GPU an image takes, before a driver loads it: of machine code the sections
 * .nv.global, .nv.global.init, .nv.constant* and .text.* (what cuobjdump -elf lists), of PTX its
 * declarations; its code is not known before it is compiled, and counts as the text.
 *
 * What a reader would get wrong: it is a guess which part of an image the driver takes. By CUDA's
 * rules that is the machine code for the newest GPU of the same generation that is not newer than
 * this one, or else the newest PTX that is not; where several parts are alike, and where none fits,
 * the largest one counts. */
#ifndef SERVER_IMAGE_IMAGE_VARIABLES_H
#define SERVER_IMAGE_IMAGE_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "api/image.h"
#include "server/charge/ledger.h"

struct image_memory {
    uint64_t variables; /* each in an extent of its own (api/extent.h); managed ones, too */
    uint64_t code;
    bool heap; /* PTX that declares malloc or free for kernels */
};

struct image_reader {
    unsigned sm;   /* the GPU's compute capability, 75 for 7.5 */
    bool ptx_only; /* it runs no machine code */
    struct ledger *ledger;
};

/* Bytes that have to be decompressed are charged as host memory meanwhile, and are at most
 * API_IMAGE_UNCOMPRESSED_MAX for an image. GA_INVALID: the image cannot be read so. GA_NO_MEMORY.
 */
GA_CHECKED enum ga_status image_variables(const struct api_image *image,
                                          const struct image_reader *reader,
                                          struct image_memory *memory);

#endif
