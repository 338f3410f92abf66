/* SPDX-License-Identifier: Apache-2.0 */
/* Programs from an application's image or file, with JIT options. */
#ifndef SOFTGPU_CALLS_LOAD_H
#define SOFTGPU_CALLS_LOAD_H

#include <stdint.h>

#include "api/cuda_names.h"

struct sg_code;

/* Parses the image at a trusted pointer. Writes the logs that the options ask for. Without the
 * lock. `base`: the addresses of its functions; 0: any. The caller drops the code. */
CUresult sg_load_image(const void *image, unsigned option_count, const CUjit_option *options,
                       void **values, uint64_t base, struct sg_code **code);
/* As sg_load_image, for a file. CUDA_ERROR_FILE_NOT_FOUND. */
CUresult sg_load_file(const char *path, unsigned option_count, const CUjit_option *options,
                      void **values, uint64_t base, struct sg_code **code);

#endif
