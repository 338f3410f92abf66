/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and kernels, which outlive contexts. */
#ifndef CLIENT_MODULE_LIBRARY_H
#define CLIENT_MODULE_LIBRARY_H

#include <stdint.h>

#include "api/cuda_names.h"
#include "client/context/object.h"

struct client_context;
struct client_function;
struct client_module;
struct client_variable;

/* Outlives contexts: loaded where it is used first, again after a reset. */
struct client_library {
    struct client_object object;
    const void *image;
    uint64_t image_bytes;
    void *owned;       /* copy of the image, or made of it; NULL: the program promised to keep it */
    const void *given; /* what the program passed, to tell where it lies; never read */
    struct client_kernel *kernels;
    struct client_module *modules;   /* where it is loaded */
    struct client_variable *managed; /* those that were asked for; see managed_variable.c */
    uint32_t max_registers, optimization;
};

/* A kernel's function in a context. */
struct client_kernel_use {
    uint64_t context, wire; /* handles */
    struct client_function *function;
};

#define CLIENT_KERNEL_USES 4u

struct client_kernel {
    struct client_object object;
    struct client_kernel *next;
    struct client_kernel_use uses[CLIENT_KERNEL_USES]; /* the last ones that were asked for */
    unsigned use;
    struct client_library *library;
    char *name;
};

extern const struct client_object_type client_library_type, client_kernel_type;

CUresult client_library_module(struct client_library *library, struct client_context *context,
                               struct client_module **module);
/* The library's kernel that the function is; NULL: it is of a module that is in no library. */
CUresult client_library_kernel(const struct client_function *function, CUkernel *kernel);
/* As client_library_module, in the current context, or in any if there is none: for facts that are
 * the same in all. */
CUresult client_library_module_anywhere(struct client_library *library,
                                        struct client_module **module);

#endif
