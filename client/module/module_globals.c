/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of modules: their addresses are the server's, asked once. */
#include "client/module/module_globals.h"

#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/address/address_map.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/module/image.h"
#include "client/module/library.h"
#include "client/module/module.h"
#include "client/module/module_table.h"
#include "front/front.h"

static struct client_global *known_global(struct client_module *module, const char *name)
{
    pthread_mutex_lock(&client_state_lock);
    struct client_global *at = module->globals;
    while (at != NULL && strcmp(at->name, name) != 0) {
        at = at->next;
    }
    pthread_mutex_unlock(&client_state_lock);
    return at;
}

/* The server must know that it is used, and there is nothing to wait for. */
static CUresult global_post(struct client_call *call, const struct ga_module_global_args *args)
{
    const struct reply_action want = {.context = call->context->object.handle};
    CU_TRY(client_call_begin(call, ga_module_global_args_bound(args)));
    ga_module_global_args_write(&call->writer, args);
    return client_call_post_expect(call, &want);
}

static CUresult fetch_global(struct client_module *module, const char *name,
                             struct client_global **out)
{
    struct client_call call;
    struct ga_module_global_args args = {.module = module->object.handle, .name = name};
    struct ga_module_global_results results;
    CU_TRY(client_call_enter_in(&call, API_OP_ga_module_global, module->object.context));
    if (client_module_table_global(module, name, &results)) {
        CU_TRY(global_post(&call, &args));
    } else {
        CU_TRY(client_wait_ga_module_global(&call, &args, true, &results));
    }
    struct client_global *global = calloc(1, sizeof *global);
    if (global == NULL || (global->name = strdup(name)) == NULL) {
        free(global);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    global->address = results.address;
    global->bytes = results.bytes;
    *out = global;
    return CUDA_SUCCESS;
}

/* One that is not entered, because it is empty or another server has one there, is not known. */
static void global_enter(const struct client_module *module, struct client_global *global)
{
    const struct client_context *context = module->object.context;
    const struct client_address at = {.kind = CLIENT_ADDRESS_GLOBAL,
                                      .start = global->address,
                                      .bytes = global->bytes,
                                      .session = context->session,
                                      .context = context->object.handle,
                                      .record = global};
    (void)!client_address_enter(&at);
}

void client_module_globals_release(struct client_module *module)
{
    for (struct client_global *at = module->globals, *next; at != NULL; at = next) {
        next = at->next;
        client_address_leave(CLIENT_ADDRESS_GLOBAL, at->address, at);
        free(at->name);
        free(at);
    }
}

CUresult client_module_global(struct client_module *module, const char *name, uint64_t *address,
                              uint64_t *bytes)
{
    struct client_global *global = known_global(module, name);
    if (strlen(name) > CLIENT_NAME_MAX) {
        return front_unsupported("a variable whose name has more than 60000 characters, over the "
                                 "network");
    }
    if (global == NULL) {
        CUresult rc = fetch_global(module, name, &global);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        pthread_mutex_lock(&client_state_lock);
        global->next = module->globals;
        module->globals = global;
        pthread_mutex_unlock(&client_state_lock);
        global_enter(module, global);
    }
    *address = global->address;
    *bytes = global->bytes;
    return CUDA_SUCCESS;
}

static CUresult answer(struct client_module *module, const char *name, CUdeviceptr *dptr,
                       size_t *bytes)
{
    uint64_t address = 0, size = 0;
    CUresult rc = client_module_global(module, name, &address, &size);
    if (rc == CUDA_SUCCESS && dptr != NULL) {
        *dptr = address;
    }
    if (rc == CUDA_SUCCESS && bytes != NULL) {
        *bytes = size;
    }
    return rc;
}

CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
                                      const char *name)
{
    CUresult rc = front_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (name == NULL || (dptr == NULL && bytes == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct client_call call;
    struct client_module *module = client_object_find(GA_HANDLE_MODULE, (uint64_t)(uintptr_t)hmod);
    if (module == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    rc = client_call_enter_in(&call, 0, module->object.context); /* its connection may be lost */
    return rc == CUDA_SUCCESS ? answer(module, name, dptr, bytes) : rc;
}

/* In the current context, where the library is loaded if it is not yet. */
CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                    const char *name)
{
    struct client_context *context;
    struct client_module *module;
    CU_TRY(client_context_current(&context));
    if (name == NULL || (dptr == NULL && bytes == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct client_library *found =
        client_object_find(GA_HANDLE_LIBRARY, (uint64_t)(uintptr_t)library);
    CU_TRY(found != NULL ? client_library_module(found, context, &module)
                         : CUDA_ERROR_INVALID_HANDLE);
    return answer(module, name, dptr, bytes);
}
