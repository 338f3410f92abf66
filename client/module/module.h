/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and functions. */
#ifndef CLIENT_MODULE_MODULE_H
#define CLIENT_MODULE_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/constants.h"
#include "api/cuda_names.h"
#include "client/context/object.h"
#include "client/module/module_table.h"

struct client_library;
struct front_jit;

struct client_param {
    uint32_t offset, size;
};

struct client_global {
    struct client_global *next;
    char *name;
    uint64_t address, bytes;
};

struct client_module {
    struct client_object object;
    struct client_library *library; /* NULL: loaded by cuModuleLoad* */
    struct client_module *next;     /* of the library */
    struct client_function *functions;
    struct client_global *globals;
    uint32_t function_count; /* valid when `listed` */
    atomic_bool listed;
    char *names; /* of all functions, each with its NUL; owned */
    size_t names_bytes;
    struct client_table facts, variables; /* that came with it */
};

struct client_function {
    struct client_object object;
    struct client_function *next; /* of the module */
    struct client_module *module;
    char *name;
    int32_t attributes[API_FUNCTION_ATTRIBUTES];
    uint32_t param_count, param_bytes;
    bool param_gaps;         /* some bytes are of no parameter */
    _Atomic bool params_fit; /* a launch has had them all; see client/module/launch.c */
    struct client_param *params;
};

extern const struct client_object_type client_module_type, client_function_type;

/* A handle of a program; its own context counts, not the current one. */
CUresult client_module_of(CUmodule handle, struct client_module **module);
/* Loads a container into a context. The options' logs are written; what they tell the program is
 * the caller's to end. */
CUresult client_module_load(struct client_context *context, const void *image, uint64_t bytes,
                            struct front_jit *jit, struct client_module **out);
CUresult client_module_unload(struct client_module *module);

#endif
