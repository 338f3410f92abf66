/* SPDX-License-Identifier: Apache-2.0 */
/* Parsed programs, each shared by a library and its modules. */
#ifndef SOFTGPU_MODULE_CODE_H
#define SOFTGPU_MODULE_CODE_H

#include "api/cuda_names.h"

#include "api/image.h"
#include "front/front.h"

struct sg_program;

/* A parsed program; shared by a library and its modules. */
struct sg_code {
    unsigned references;
    struct sg_program *program;
    unsigned sm; /* the compute capability it was made for, 75 for 7.5 */
    unsigned
        only; /* the only capability it runs on (sm_90a); 0: it runs on `sm` and all later ones */
};

/* The origin of an image, for messages. */
struct sg_origin {
    const void *image; /* the program's pointer */
    const char *path;  /* the file that it was read from; NULL: it is in the program's memory */
    char kernel[128];  /* the first kernel's name; empty: not known */
};

/* Finds the PTX in the image and parses it: the newest that all devices of the process can run, or,
 * if there is none, the newest that any of them can. Without the lock. Explains a failure in the
 * log and on stderr. `base`: the addresses of its functions (sg_program_link_at); 0: any. */
CUresult sg_code_load(const struct api_image *image, struct sg_origin *origin, uint64_t base,
                      struct front_jit_log *log, struct sg_code **code);

/* Says on stderr why the image is refused, and what its origin is. */
void sg_code_refused(const struct sg_origin *origin, const char *why);
void sg_code_drop(struct sg_code *code);

/* Checks that a GPU of that compute capability can run the program. CUDA_ERROR_NO_BINARY_FOR_GPU,
 * with the reason on stderr and in the error log (NULL: none). `origin` NULL: only its first kernel
 * is known. */
CUresult sg_code_fits(const struct sg_code *code, unsigned capability,
                      const struct sg_origin *origin, struct front_jit_log *log);

#endif
