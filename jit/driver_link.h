/* SPDX-License-Identifier: Apache-2.0 */
/* Linking by the driver, whose linker keeps PTX. */
#ifndef JIT_DRIVER_LINK_H
#define JIT_DRIVER_LINK_H

#include <stddef.h>

#include "api/cuda_names.h"

enum { JIT_LOG_BYTES = 8192 };

struct jit_input {
    CUjitInputType type;
    const void *bytes; /* PTX ends with NUL */
    size_t size;
    const char *name; /* "": none */
};

/* Links the inputs into an image for cuModuleLoadData, malloc-ed. Without a current context it uses
 * that of device 0. `log`: JIT_LOG_BYTES for the linker's errors. */
CUresult jit_driver_link(const struct jit_input *inputs, size_t count, void **image, size_t *size,
                         char *log);

#endif
