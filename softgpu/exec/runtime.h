/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions of the device run time, for the decoder. */
#ifndef SOFTGPU_EXEC_RUNTIME_H
#define SOFTGPU_EXEC_RUNTIME_H

#include "softgpu/exec/builtin.h"

struct sg_runtime_function {
    const char *name; /* without the prefix */
    sg_handler *handler;
    uint8_t result, arguments[SG_BUILTIN_ARGUMENTS]; /* bytes; 0: there is none */
};

extern const struct sg_runtime_function sg_runtime_functions[];
extern const size_t sg_runtime_function_count;

#endif
