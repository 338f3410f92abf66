/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and their kernels. All functions want the process's lock held. */
#ifndef SOFTGPU_MODULE_LIBRARY_H
#define SOFTGPU_MODULE_LIBRARY_H

#include "softgpu/module/code.h"
#include "softgpu/module/module.h"

struct sg_managed;

struct sg_library_kernel {
    uint64_t handle;
    struct sg_library *library;
    const struct sg_kernel *kernel;
    struct sg_kernel_settings *settings; /* one per device; owned by the library */
};

CUresult sg_library_make(struct sg_code *code, struct sg_library **library);
void sg_library_destroy(struct sg_library *library);

/* The library's managed variables, which need no context. */
CUresult sg_library_managed(struct sg_library *library, struct sg_managed **managed);

/* The library's module in this context, loaded if need be. */
CUresult sg_library_module(struct sg_library *library, struct sg_context *context,
                           struct sg_module **module);
struct sg_library_kernel *sg_library_kernel_find(CUkernel handle);

/* The function that `handle` (a CUfunction, or a CUkernel in `context`) names. */
CUresult sg_function_find(CUfunction handle, struct sg_context *context,
                          struct sg_function **function);

#endif
