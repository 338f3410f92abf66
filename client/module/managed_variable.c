/* SPDX-License-Identifier: Apache-2.0 */
/* Managed variables: mirrors (memory/mirror.h) of variables of libraries. */
#include "client/module/managed_variable.h"

#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/mirror.h"
#include "client/module/library.h"
#include "client/module/module.h"
#include "client/module/module_globals.h"
#include "front/front.h"

/* A variable of a library that the program has asked for: at `host` in all contexts. */
struct client_variable {
    struct client_variable *next;
    char *name;
    uint64_t host, bytes;
};

static CUresult is_managed(struct client_context *context, uint64_t address, bool *managed)
{
    struct client_call call;
    struct ga_variable_managed_args args = {.address = address};
    struct ga_variable_managed_results results;
    CU_TRY(client_call_enter_in(&call, API_OP_ga_variable_managed, context));
    CU_TRY(client_wait_ga_variable_managed(&call, &args, true, &results));
    *managed = results.managed != 0;
    return CUDA_SUCCESS;
}

/* The program's half of a variable lies where the first context has it. */
static CUresult join(struct client_module *module, const struct client_variable *variable)
{
    uint64_t address, bytes;
    CU_TRY(client_module_global(module, variable->name, &address, &bytes));
    return client_mirror_variable(module->object.context, variable->host, address, bytes);
}

static struct client_variable *variable_known(const struct client_library *library,
                                              const char *name)
{
    struct client_variable *at = library->managed;
    while (at != NULL && strcmp(at->name, name) != 0) {
        at = at->next;
    }
    return at;
}

CUresult client_managed_join(struct client_library *library, struct client_module *module)
{
    CUresult rc = CUDA_SUCCESS;
    for (struct client_variable *at = library->managed; rc == CUDA_SUCCESS && at != NULL;
         at = at->next) {
        rc = join(module, at);
    }
    return rc;
}

void client_managed_release(struct client_library *library)
{
    for (struct client_variable *at = library->managed, *next; at != NULL; at = next) {
        next = at->next;
        free(at->name);
        free(at);
    }
}

static CUresult variable_find(struct client_library *library, struct client_module *module,
                              const char *name, struct client_variable **out)
{
    uint64_t address, bytes;
    bool managed = false;
    CUresult rc = client_module_global(module, name, &address, &bytes);
    if (rc == CUDA_SUCCESS) {
        rc = is_managed(module->object.context, address, &managed);
    }
    if (rc != CUDA_SUCCESS || !managed) {
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_NOT_FOUND;
    }
    struct client_variable *made = calloc(1, sizeof *made);
    if (made == NULL || (made->name = strdup(name)) == NULL) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->host = address;
    made->bytes = bytes;
    rc = join(module, made);
    if (rc != CUDA_SUCCESS) {
        free(made->name);
        free(made);
        return rc;
    }
    made->next = library->managed;
    library->managed = made;
    *out = made;
    return CUDA_SUCCESS;
}

/* The CUDA runtime asks before there is a context, and the address is the server's to choose: then
 * it is done in the primary context of the first device, which stays. */
static CUresult need_module(struct client_library *library, struct client_module **module)
{
    CUresult rc = client_library_module_anywhere(library, module);
    if (rc != CUDA_ERROR_INVALID_CONTEXT && rc != CUDA_ERROR_CONTEXT_IS_DESTROYED) {
        return rc;
    }
    CUcontext primary;
    struct client_context *context;
    CU_TRY(cuDevicePrimaryCtxRetain(&primary, 0));
    CU_TRY(client_context_find(primary, &context));
    return client_library_module(library, context, module);
}

CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                     const char *name)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    struct client_module *module;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && (name == NULL || (dptr == NULL && bytes == NULL))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    struct client_library *found =
        rc == CUDA_SUCCESS ? client_object_find(GA_HANDLE_LIBRARY, (uint64_t)(uintptr_t)library)
                           : NULL;
    if (rc == CUDA_SUCCESS && found == NULL) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&one);
    struct client_variable *variable = variable_known(found, name);
    if (variable == NULL) {
        rc = need_module(found, &module);
        rc = rc == CUDA_SUCCESS ? variable_find(found, module, name, &variable) : rc;
    }
    pthread_mutex_unlock(&one);
    if (rc == CUDA_SUCCESS && dptr != NULL) {
        *dptr = variable->host;
    }
    if (rc == CUDA_SUCCESS && bytes != NULL) {
        *bytes = variable->bytes;
    }
    return rc;
}

/* No device has functions that the host calls, too (UNIFIED_FUNCTION_POINTERS is 0). */
CUresult CUDAAPI cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && (fptr == NULL || symbol == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS &&
        client_object_find(GA_HANDLE_LIBRARY, (uint64_t)(uintptr_t)library) == NULL) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    return rc == CUDA_SUCCESS ? CUDA_ERROR_NOT_FOUND : rc;
}
