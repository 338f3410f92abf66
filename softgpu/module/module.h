/* SPDX-License-Identifier: Apache-2.0 */
/* Code: programs (parsed PTX), modules (a program in a context), functions, libraries (a program
 * without a context, loaded in each context on first use) and their kernels.
 *
 * What a reader would get wrong: a CUkernel may stand wherever a CUfunction may; it then means the
 * function of the library's module in the current context. All functions want the process's lock
 * held unless they say otherwise. */
#ifndef SOFTGPU_MODULE_MODULE_H
#define SOFTGPU_MODULE_MODULE_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "api/image.h"
#include "base/list.h"
#include "front/front.h"
#include "softgpu/engine/engine.h"
#include "softgpu/memory/memory.h"
#include "softgpu/process/context.h"

/* A parsed program; shared by a library and its modules. */
struct sg_code {
    unsigned references;
    struct sg_program *program;
    unsigned sm;   /* the compute capability it was made for, 75 for 7.5 */
    unsigned only; /* the one that it runs on, and on no later one; 0: there is none */
};

/* What an application set for a kernel on a device. */
struct sg_kernel_settings {
    int dynamic_shared_max; /* -1: never set */
    int carveout;           /* per cent, -1: default */
    bool non_portable_cluster;
    CUfunc_cache cache;
};

struct sg_module;

struct sg_function {
    uint64_t handle; /* 0: nobody has asked for it */
    struct sg_module *module;
    const struct sg_kernel *kernel;
    struct sg_kernel_settings own;       /* of a module that the application loaded */
    struct sg_kernel_settings *settings; /* `own`, or those of the library's kernel */
};

struct sg_library;

/* The managed variables of a program: one set for all modules of a library, and for a module that
 * is of none its own. */
struct sg_managed {
    unsigned references;
    struct sg_range *ranges[]; /* per variable of the program; NULL: not a managed one */
};

struct sg_module {
    uint64_t handle;
    struct ga_list in_context;
    struct ga_list in_library;
    struct sg_context *context;
    struct sg_library *library; /* NULL: loaded by the application itself */
    struct sg_code *code;
    struct sg_image *image;
    struct sg_range **variables;  /* NULL where a variable needs no memory */
    struct sg_managed *managed;   /* whose those of managed variables are */
    struct sg_launcher *launcher; /* device_launch.h; NULL: not needed yet */
    struct sg_range *launcher_memory;
    struct sg_function *functions; /* one per kernel of the program */
    unsigned references;           /* the handle's, and every launch that has not finished */
};

struct sg_library_kernel {
    uint64_t handle;
    struct sg_library *library;
    const struct sg_kernel *kernel;
    struct sg_kernel_settings *settings; /* per device; in the library's */
};

struct sg_library {
    uint64_t handle;
    struct sg_code *code;
    struct sg_library_kernel *kernels;   /* one per kernel of the program */
    struct sg_kernel_settings *settings; /* of all kernels, one per device each */
    struct ga_list modules;
    struct sg_managed *managed; /* NULL: not needed yet */
};

/* ---- code.c ---- */

/* Where an image comes from, for messages. */
struct sg_origin {
    const void *image; /* as the program gave it */
    const char *path;  /* the file that it was read from; NULL: it lies in the program */
    char kernel[128];  /* the first of its kernels; empty: not known */
};

/* Finds the PTX in the image and parses it: the newest that all devices of the process can run, or,
 * if there is none, the newest that any can. Without the lock. A failure is explained in the log
 * and on stderr. */
CUresult sg_code_load(const struct api_image *image, struct sg_origin *origin,
                      struct front_jit_log *log, struct sg_code **code);
/* Says on stderr why it is refused, and whose it is. */
void sg_code_refused(const struct sg_origin *origin, const char *why);
void sg_code_drop(struct sg_code *code);

/* CUDA_ERROR_NO_BINARY_FOR_GPU, and why on stderr and in the error log (NULL: none), where a GPU of
 * that compute capability cannot run it. `origin` NULL: only its first kernel is known. */
CUresult sg_code_fits(const struct sg_code *code, unsigned capability,
                      const struct sg_origin *origin, struct front_jit_log *log);

/* ---- module.c ---- */

/* Takes its own reference of `code`. */
CUresult sg_module_make(struct sg_context *context, struct sg_code *code,
                        struct sg_library *library, struct sg_module **module);
/* The handle dies; the rest lives until the last launch has finished. Does not wait. */
void sg_module_destroy(struct sg_module *module);
void sg_module_hold(struct sg_module *module);
void sg_module_drop(struct sg_module *module);
/* Gives the function its handle on first use. */
CUresult sg_function_publish(struct sg_function *function);
/* NULL: no such kernel. */
struct sg_function *sg_module_function(struct sg_module *module, const char *name);
/* CUDA_ERROR_NOT_FOUND; either output may be NULL. */
CUresult sg_module_global(struct sg_module *module, const char *name, CUdeviceptr *address,
                          size_t *bytes);

/* ---- managed.c ---- */

/* Memory for the program's managed variables, with what they hold at first. */
CUresult sg_managed_make(const struct sg_program *program, struct sg_managed **managed);
void sg_managed_drop(struct sg_managed *managed, const struct sg_program *program);

/* ---- library.c ---- */

CUresult sg_library_make(struct sg_code *code, struct sg_library **library);
void sg_library_destroy(struct sg_library *library);
/* Its managed variables, which need no context. */
CUresult sg_library_managed(struct sg_library *library, struct sg_managed **managed);
/* The library's module in this context; loads it if need be. */
CUresult sg_library_module(struct sg_library *library, struct sg_context *context,
                           struct sg_module **module);
struct sg_library_kernel *sg_library_kernel_find(CUkernel handle);
/* The function that `handle` (a CUfunction, or a CUkernel in `context`) means. */
CUresult sg_function_find(CUfunction handle, struct sg_context *context,
                          struct sg_function **function);

#endif
