/* Modules: an image loaded in one context. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "client/call.h"
#include "client/image.h"
#include "client/state.h"

/* ---- loading */

static void give_log(const struct client_jit *jit, bool error, const char *text)
{
    char *to = error ? jit->error_log : jit->info_log;
    size_t room = error ? jit->error_log_bytes : jit->info_log_bytes;
    void **used = error ? jit->error_log_used : jit->info_log_used;
    size_t length = text != NULL ? strlen(text) : 0;
    length = length < room ? length : room - (room != 0);
    if (room != 0) {
        if (length != 0) {
            memcpy(to, text, length);
        }
        to[length] = 0;
    }
    if (used != NULL) {
        /* The option's value is the buffer's size, and becomes what was written. */
        uintptr_t written = length != 0 ? length + 1 : 0;
        *used = (void *)written;
    }
}

static void give_logs(const struct client_jit *jit, struct ga_reader *reader)
{
    struct ga_module_load_results results;
    if (reader->at >= reader->size) {
        return; /* the link was lost */
    }
    ga_module_load_results_read(reader, &results);
    if (!reader->failed) {
        give_log(jit, false, results.info_log);
        give_log(jit, true, results.error_log);
    }
}

static uint32_t log_room(size_t bytes)
{
    return bytes > 65536 ? 65536 : (uint32_t)bytes;
}

CUresult client_module_load(struct client_context *context, const void *image, uint64_t bytes,
                            const struct client_jit *jit, struct client_module **out)
{
    struct client_call call;
    CUresult rc = client_call_enter_in(&call, API_OP_ga_module_load, context);
    struct client_module *module =
        rc == CUDA_SUCCESS ? client_object_make(GA_HANDLE_MODULE, context) : NULL;
    if (module == NULL) {
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct ga_module_load_args args = {.module = module->object.handle,
                                       .image_bytes = bytes,
                                       .max_registers = jit->max_registers,
                                       .optimization = jit->optimization,
                                       .log_bytes = log_room(jit->info_log_bytes),
                                       .error_log_bytes = log_room(jit->error_log_bytes)};
    rc = client_call_begin(&call, ga_module_load_args_bound(&args));
    if (rc == CUDA_SUCCESS) {
        struct ga_reader reader;
        ga_module_load_args_write(&call.writer, &args);
        rc = client_call_wait_want(&call, NULL, true, image, bytes, &reader);
        give_logs(jit, &reader);
        client_call_end(&call);
    }
    if (rc != CUDA_SUCCESS) {
        client_object_drop(module);
        return rc;
    }
    *out = module;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                    CUjit_option *options, void **optionValues)
{
    struct client_context *context;
    struct client_jit jit;
    struct client_image found;
    struct client_module *made;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS && (module == NULL || image == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_jit_read(numOptions, options, optionValues, &jit);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_image_find(image, &found);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_module_load(context, found.bytes, found.size, &jit, &made);
    }
    if (rc == CUDA_SUCCESS) {
        *module = (CUmodule)(uintptr_t)made->object.handle;
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
        free(image);
    }
    return rc;
}

/* ---- what belongs to a module; see client_object_drop */

void client_function_release(struct client_function *function)
{
    free(function->name);
    free(function->params);
    function->name = NULL;
    function->params = NULL;
}

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

void client_module_release(struct client_module *module)
{
    leave_library(module);
    client_globals_forget(module);
    for (struct client_function *at = module->functions, *next; at != NULL; at = next) {
        next = at->next;
        client_object_drop(at);
    }
    for (struct client_global *at = module->globals, *next; at != NULL; at = next) {
        next = at->next;
        free(at->name);
        free(at);
    }
    free(module->names);
    module->functions = NULL;
    module->globals = NULL;
    module->names = NULL;
}

/* Its own context counts, not the current one. */
static CUresult module_of(CUmodule handle, struct client_module **module)
{
    CUresult rc = client_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
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
        rc = client_call_begin(&call, ga_module_unload_args_bound(&args));
    }
    if (rc == CUDA_SUCCESS) {
        ga_module_unload_args_write(&call.writer, &args);
        rc = client_call_post(&call);
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
    CUresult rc = module_of(hmod, &module);
    if (rc == CUDA_SUCCESS && module->library != NULL) {
        rc = CUDA_ERROR_NOT_PERMITTED; /* it goes with its library */
    }
    return rc == CUDA_SUCCESS ? client_module_unload(module) : rc;
}

/* ---- functions */

static CUresult read_facts(struct client_call *call, struct ga_reader *reader,
                           struct client_function *function)
{
    struct ga_module_function_results facts;
    ga_module_function_results_read(reader, &facts);
    if (reader->failed) {
        return client_call_broken(call);
    }
    struct client_param *params = calloc(facts.param_count + 1u, sizeof *params);
    if (params == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    uint32_t end = 0;
    for (uint32_t i = 0; i < facts.param_count; i++) {
        params[i] = (struct client_param){facts.param_offset[i], facts.param_size[i]};
        if (params[i].offset > CLIENT_PARAMS_MOST || params[i].size > CLIENT_PARAMS_MOST) {
            free(params);
            return client_call_broken(call);
        }
        uint32_t behind = params[i].offset + params[i].size;
        end = behind > end ? behind : end;
    }
    memcpy(function->attributes, facts.attributes, sizeof function->attributes);
    function->params = params;
    function->param_count = facts.param_count;
    function->param_bytes = end;
    return end <= CLIENT_PARAMS_MOST ? CUDA_SUCCESS : client_call_broken(call);
}

static CUresult fetch_function(struct client_module *module, struct client_function *function)
{
    struct client_call call;
    struct ga_module_function_args args = {.module = module->object.handle,
                                           .name = function->name,
                                           .function = function->object.handle};
    CUresult rc = client_call_enter_in(&call, API_OP_ga_module_function, module->object.context);
    if (rc == CUDA_SUCCESS) {
        rc = client_call_begin(&call, ga_module_function_args_bound(&args));
    }
    if (rc == CUDA_SUCCESS) {
        struct ga_reader reader;
        ga_module_function_args_write(&call.writer, &args);
        rc = client_call_wait_want(&call, NULL, true, NULL, 0, &reader);
        if (rc == CUDA_SUCCESS) {
            rc = read_facts(&call, &reader, function);
        }
        client_call_end(&call);
    }
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
    if (strlen(name) > CLIENT_NAME_MOST) {
        return CUDA_ERROR_NOT_FOUND;
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

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    struct client_module *module;
    struct client_function *function;
    CUresult rc = module_of(hmod, &module);
    if (rc == CUDA_SUCCESS && (hfunc == NULL || name == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_module_function(module, name, &function);
    }
    if (rc == CUDA_SUCCESS) {
        *hfunc = (CUfunction)(uintptr_t)function->object.handle;
    }
    return rc;
}

/* ---- names of all functions */

CUresult client_module_names(struct client_module *module)
{
    struct client_call call;
    struct ga_module_list_args args = {.module = module->object.handle};
    if (module->listed) {
        return CUDA_SUCCESS;
    }
    CUresult rc = client_call_enter_in(&call, API_OP_ga_module_list, module->object.context);
    if (rc == CUDA_SUCCESS) {
        rc = client_call_begin(&call, ga_module_list_args_bound(&args));
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct ga_reader reader;
    struct ga_module_list_results list;
    ga_module_list_args_write(&call.writer, &args);
    rc = client_call_wait_want(&call, NULL, true, NULL, 0, &reader);
    if (rc == CUDA_SUCCESS) {
        ga_module_list_results_read(&reader, &list);
        rc = reader.failed ? client_call_broken(&call) : CUDA_SUCCESS;
    }
    char *names = rc == CUDA_SUCCESS ? malloc(list.names_bytes + 1u) : NULL;
    if (names != NULL) {
        if (list.names_bytes != 0) {
            memcpy(names, list.names, list.names_bytes);
        }
        names[list.names_bytes] = 0;
        pthread_mutex_lock(&client_state_lock);
        free(module->names);
        module->names = names;
        module->names_bytes = list.names_bytes;
        module->function_count = list.count;
        module->listed = true;
        pthread_mutex_unlock(&client_state_lock);
    } else if (rc == CUDA_SUCCESS) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    client_call_end(&call);
    return rc;
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    struct client_module *module;
    CUresult rc = module_of(mod, &module);
    if (rc == CUDA_SUCCESS && count == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_module_names(module);
    }
    if (rc == CUDA_SUCCESS) {
        *count = module->function_count;
    }
    return rc;
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                            CUmodule mod)
{
    struct client_module *module;
    CUresult rc = module_of(mod, &module);
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
