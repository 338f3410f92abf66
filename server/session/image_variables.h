/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of the GPU the variables of an image take, before a driver loads it: of machine
 * code the sections .nv.global, .nv.global.init and .nv.constant3 (what cuobjdump -elf lists; the
 * other banks of constants belong to kernels), of PTX its declarations.
 *
 * What a reader would get wrong: it is a guess which part of an image the driver takes. By CUDA's
 * rules that is the machine code for the newest GPU of the same generation that is not newer than
 * this one, or else the newest PTX that is not; where several parts are alike, and where none fits,
 * the largest one counts. */
#ifndef SERVER_SESSION_IMAGE_VARIABLES_H
#define SERVER_SESSION_IMAGE_VARIABLES_H

#include <stdint.h>

#include "api/image.h"
#include "server/pipeline/ledger.h"

/* `sm`: the GPU's compute capability, 75 for 7.5. Bytes that have to be decompressed are charged as
 * host memory meanwhile, and are at most API_IMAGE_UNCOMPRESSED_MAX for an image. GA_INVALID: the
 * image cannot be read so. GA_NO_MEMORY. */
GA_CHECKED enum ga_status image_variables(const struct api_image *image, unsigned sm,
                                          struct ledger *ledger, uint64_t *bytes);

#endif
