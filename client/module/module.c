/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: an image loaded in one context. */
#include "client/module/module.h"

#include <stdlib.h>

#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/module/image.h"
#include "client/module/library.h"
#include "client/module/module_globals.h"
#include "client/process/process.h"
#include "front/front.h"

/* ---- loading */

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                    CUjit_option *options, void **optionValues)
{
    struct client_context *context;
    struct front_jit jit;
    struct client_image found = {0};
    struct client_module *made;
    struct front_jit_verbose verbose;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS && (module == NULL || image == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    front_jit_verbose_begin(&verbose, numOptions, options, optionValues);
    if (rc == CUDA_SUCCESS) {
        rc = front_jit_read(numOptions, options, optionValues, &jit);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = client_image_find(image, &found);
    if (rc == CUDA_SUCCESS) {
        rc = client_module_load(context, found.bytes, found.size, &jit, &made);
        client_image_refused(image, NULL, rc);
    }
    front_jit_end(&jit);
    free(found.owned);
    if (rc == CUDA_SUCCESS) {
        *module = (CUmodule)(uintptr_t)made->object.handle;
        front_jit_verbose_end(&verbose, *module);
    }
    return rc;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname)
{
    struct client_context *context;
    void *image;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS && (module == NULL || fname == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_image_read(fname, &image);
    }
    if (rc == CUDA_SUCCESS) {
        rc = cuModuleLoadData(module, image);
        client_image_refused(NULL, fname, rc);
        free(image);
    }
    return rc;
}

/* ---- what belongs to a module */

static void function_release(void *at)
{
    struct client_function *function = at;
    free(function->name);
    free(function->params);
    function->name = NULL;
    function->params = NULL;
}

const struct client_object_type client_function_type = {.bytes = sizeof(struct client_function),
                                                        .release = function_release};

static void leave_library(struct client_module *module)
{
    pthread_mutex_lock(&client_state_lock);
    if (module->library != NULL) {
        struct client_module **at = &module->library->modules;
        while (*at != NULL && *at != module) {
            at = &(*at)->next;
        }
        if (*at != NULL) {
            *at = module->next;
        }
        module->library = NULL;
    }
    pthread_mutex_unlock(&client_state_lock);
}

static void module_release(void *at)
{
    struct client_module *module = at;
    leave_library(module);
    for (struct client_function *at = module->functions, *next; at != NULL; at = next) {
        next = at->next;
        client_object_drop(at);
    }
    client_module_globals_release(module);
    free(module->names);
    client_module_table_release(module);
    module->functions = NULL;
    module->globals = NULL;
    module->names = NULL;
}

const struct client_object_type client_module_type = {.bytes = sizeof(struct client_module),
                                                      .release = module_release};

CUresult client_module_of(CUmodule handle, struct client_module **module)
{
    CU_TRY(front_ready());
    *module = client_object_find(GA_HANDLE_MODULE, (uint64_t)(uintptr_t)handle);
    if (*module == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return CUDA_SUCCESS;
}

CUresult client_module_unload(struct client_module *module)
{
    struct client_call call;
    struct ga_module_unload_args args = {.module = module->object.handle};
    CUresult rc = client_call_enter_in(&call, API_OP_ga_module_unload, module->object.context);
    if (rc == CUDA_SUCCESS) {
        rc = client_post_ga_module_unload(&call, &args);
    }
    client_object_drop(module);
    return rc;
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    struct client_module *module;
    if (atomic_load(&client_exiting)) {
        return CUDA_SUCCESS;
    }
    CUresult rc = client_module_of(hmod, &module);
    if (rc == CUDA_SUCCESS && module->library != NULL) {
        rc = CUDA_ERROR_NOT_PERMITTED; /* it goes with its library */
    }
    return rc == CUDA_SUCCESS ? client_module_unload(module) : rc;
}
