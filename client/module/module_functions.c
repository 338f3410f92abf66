/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of modules: made when a program first asks for them by name, with the facts that every
 * later question is answered from. */
#include "client/module/module_functions.h"

#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/module/image.h"
#include "client/module/module.h"
#include "client/module/module_names.h"
#include "client/module/module_table.h"
#include "front/front.h"

/* ---- functions */

static CUresult take_facts(const struct ga_module_function_results *facts,
                           struct client_function *function)
{
    struct client_param *params = calloc(facts->param_count + 1u, sizeof *params);
    if (params == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    uint32_t end = 0;
    for (uint32_t i = 0; i < facts->param_count; i++) {
        params[i] = (struct client_param){facts->param_offset[i], facts->param_size[i]};
        if (params[i].offset > API_PARAM_BYTES_MAX || params[i].size > API_PARAM_BYTES_MAX) {
            free(params);
            return CUDA_ERROR_INVALID_VALUE;
        }
        uint32_t behind = params[i].offset + params[i].size;
        function->param_gaps |= params[i].offset != end;
        end = behind > end ? behind : end;
    }
    memcpy(function->attributes, facts->attributes, sizeof function->attributes);
    function->params = params;
    function->param_count = facts->param_count;
    function->param_bytes = end;
    return end <= API_PARAM_BYTES_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fetch_function(struct client_module *module, struct client_function *function)
{
    struct client_call call;
    struct ga_reader reader;
    struct ga_module_function_results facts;
    struct ga_module_function_args args = {.module = module->object.handle,
                                           .name = function->name,
                                           .function = function->object.handle};
    bool known = client_module_table_function(module, function->name, &facts);
    CUresult rc = client_call_enter_in(&call, API_OP_ga_module_function, module->object.context);
    if (rc == CUDA_SUCCESS) {
        rc = client_call_begin(&call, ga_module_function_args_bound(&args));
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    ga_module_function_args_write(&call.writer, &args);
    if (known) { /* the server must know the handle, and there is nothing to wait for */
        const struct reply_action want = {.context = module->object.context->object.handle};
        rc = client_call_post_expect(&call, &want);
    } else {
        rc = client_call_wait_want(&call, NULL, true, NULL, 0, &reader);
        if (rc == CUDA_SUCCESS) {
            ga_module_function_results_read(&reader, &facts);
        }
    }
    if (rc == CUDA_SUCCESS) {
        bool good = known || !reader.failed;
        rc = good ? take_facts(&facts, function) : CUDA_ERROR_INVALID_VALUE;
        rc = rc == CUDA_ERROR_INVALID_VALUE ? client_call_broken(&call) : rc;
    } else if (rc == CUDA_ERROR_NOT_SUPPORTED) {
        (void)front_unsupported("a kernel of more than 4096 parameters, over the network");
    }
    client_call_end(&call);
    return rc;
}

static struct client_function *known_function(struct client_module *module, const char *name)
{
    pthread_mutex_lock(&client_state_lock);
    struct client_function *at = module->functions;
    while (at != NULL && strcmp(at->name, name) != 0) {
        at = at->next;
    }
    pthread_mutex_unlock(&client_state_lock);
    return at;
}

CUresult client_module_function(struct client_module *module, const char *name,
                                struct client_function **function)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    *function = known_function(module, name);
    if (*function != NULL) {
        return CUDA_SUCCESS;
    }
    if (strlen(name) > CLIENT_NAME_MAX) {
        return front_unsupported("a function whose name has more than 60000 characters, over the "
                                 "network");
    }
    pthread_mutex_lock(&one); /* two threads must not both make it */
    *function = known_function(module, name);
    CUresult rc = CUDA_SUCCESS;
    if (*function == NULL) {
        struct client_function *made =
            client_object_make(GA_HANDLE_FUNCTION, module->object.context);
        rc = made != NULL && (made->name = strdup(name)) != NULL ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_OUT_OF_MEMORY;
        if (rc == CUDA_SUCCESS) {
            made->module = module;
            rc = fetch_function(module, made);
        }
        if (rc == CUDA_SUCCESS) {
            pthread_mutex_lock(&client_state_lock);
            made->next = module->functions;
            module->functions = made;
            pthread_mutex_unlock(&client_state_lock);
            *function = made;
        } else if (made != NULL) {
            client_object_drop(made);
        }
    }
    pthread_mutex_unlock(&one);
    return rc;
}

/* The module, to ask of it: not when its connection is lost, although much is known here. */
static CUresult asked(CUmodule handle, struct client_module **module)
{
    struct client_call call;
    CU_TRY(client_module_of(handle, module));
    return client_call_enter_in(&call, 0, (*module)->object.context);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    struct client_module *module;
    struct client_function *function;
    CU_TRY(asked(hmod, &module));
    if (hfunc == NULL || name == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(client_module_function(module, name, &function));
    *hfunc = (CUfunction)(uintptr_t)function->object.handle;
    return CUDA_SUCCESS;
}

/* ---- all functions */

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    struct client_module *module;
    CU_TRY(asked(mod, &module));
    if (count == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(client_module_names(module));
    *count = module->function_count;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                            CUmodule mod)
{
    struct client_module *module;
    CUresult rc = asked(mod, &module);
    if (rc == CUDA_SUCCESS && functions == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_module_names(module);
    }
    size_t at = 0;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < numFunctions && i < module->function_count &&
                         at < module->names_bytes;
         i++) {
        struct client_function *function;
        rc = client_module_function(module, module->names + at, &function);
        at += strlen(module->names + at) + 1;
        if (rc == CUDA_SUCCESS) {
            functions[i] = (CUfunction)(uintptr_t)function->object.handle;
        }
    }
    return rc;
}
