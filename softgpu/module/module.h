/* SPDX-License-Identifier: Apache-2.0 */
/* Modules (a program in a context), functions, and libraries (a program without a context, loaded
 * in each context on first use).
 *
 * Note: a CUkernel may be given wherever a CUfunction may; it then means the function of the
 * library's module in the current context. All functions want the process's lock held unless they
 * say otherwise. */
#ifndef SOFTGPU_MODULE_MODULE_H
#define SOFTGPU_MODULE_MODULE_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "api/image.h"
#include "base/list.h"
#include "front/front.h"
#include "softgpu/engine/engine.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/context.h"

struct cuda_module_layout;
struct sg_code;
struct sg_library_kernel;
struct sg_managed;

/* Settings of the application for a kernel on a device. */
struct sg_kernel_settings {
    int dynamic_shared_max; /* -1: never set */
    int carveout;           /* per cent; -1: default */
    bool non_portable_cluster;
    CUfunc_cache cache;
};

struct sg_module;

struct sg_function {
    uint64_t handle; /* 0: not handed out yet */
    struct sg_module *module;
    const struct sg_kernel *kernel;
    struct sg_kernel_settings own;       /* of a module that the application loaded */
    struct sg_kernel_settings *settings; /* `own`, or those of the library's kernel */
};

struct sg_library;

struct sg_module {
    uint64_t handle;
    struct ga_list in_context;
    struct ga_list in_library;
    struct sg_context *context;
    struct sg_library *library; /* NULL: loaded by the application itself */
    struct sg_code *code;
    struct sg_image *image;
    struct sg_range **variables;  /* NULL where a variable needs no memory */
    struct sg_managed *managed;   /* the set that managed variables belong to */
    struct sg_launcher *launcher; /* device_launch.h; NULL: not needed */
    struct sg_range *launcher_memory;
    bool mallocs;                  /* a kernel may call malloc or free */
    struct sg_function *functions; /* one per kernel of the program */
    unsigned references;           /* of the handle, and of every launch that has not finished */
};

struct sg_library {
    uint64_t handle;
    struct sg_code *code;
    struct sg_library_kernel *kernels;   /* one per kernel of the program */
    struct sg_kernel_settings *settings; /* of all kernels, one per device each */
    struct ga_list modules;
    struct sg_managed *managed; /* NULL: not needed yet */
};

/* Takes a reference of its own to `code`. `layout`: where its variables are (the code is where it
 * was loaded); NULL: anywhere. CUDA_ERROR_INVALID_VALUE: it is not one of this program.
 * CUDA_ERROR_ALREADY_ACQUIRED: something else is there. */
CUresult sg_module_make(struct sg_context *context, struct sg_code *code,
                        struct sg_library *library, const struct cuda_module_layout *layout,
                        struct sg_module **module);

/* Removes the handle; the module lives until its last launch has finished. Does not wait. */
void sg_module_destroy(struct sg_module *module);
void sg_module_hold(struct sg_module *module);
void sg_module_drop(struct sg_module *module);

/* Gives the function its handle when it is first asked for. */
CUresult sg_function_publish(struct sg_function *function);

/* NULL: no such kernel. */
struct sg_function *sg_module_function(struct sg_module *module, const char *name);

/* CUDA_ERROR_NOT_FOUND; either output may be NULL. */
CUresult sg_module_global(struct sg_module *module, const char *name, CUdeviceptr *address,
                          size_t *bytes);

#endif
