/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of modules: handles, and the facts that clients answer questions from. */
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/driver_places.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/conn/reply.h"
#include "server/meter/monitor.h"
#include "server/objects/handles.h"
#include "server/objects/kernel_memory.h"

/* The most facts that come with a module. A driver that loads functions when they are first used
 * loads those whose facts it is asked for. */
#define FACTS_MAX       512u
#define FACTS_BYTES     (192u << 10)
#define VARIABLES_MAX   512u
#define VARIABLES_BYTES (64u << 10)
#define NAMES_BYTES     (256u << 10) /* names of functions in one answer, at most */

/* ---- one function */

static CUresult params_read(struct server_app *app, struct server_function *function)
{
    struct server_param *params = NULL;
    uint32_t count = 0, capacity = 0;
    for (;; count++) {
        size_t offset, size;
        CUresult rc = app->driver->cuFuncGetParamInfo(function->real, count, &offset, &size);
        if (rc == CUDA_ERROR_INVALID_VALUE) {
            break; /* there are no more */
        }
        if (rc == CUDA_SUCCESS && count == API_PARAMS_MAX) {
            rc = CUDA_ERROR_NOT_SUPPORTED;
        }
        if (rc == CUDA_SUCCESS && count == capacity) {
            capacity = capacity != 0 ? 2 * capacity : 16;
            struct server_param *more = realloc(params, capacity * sizeof *params);
            rc = more != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
            params = more != NULL ? more : params;
        }
        if (rc != CUDA_SUCCESS) {
            free(params);
            return rc;
        }
        params[count] = (struct server_param){.offset = (uint32_t)offset, .size = (uint32_t)size};
        if (offset + size > function->param_bytes) {
            function->param_bytes = (uint32_t)(offset + size);
        }
    }
    function->params = params;
    function->param_count = count;
    return CUDA_SUCCESS;
}

/* Charges what a launch of it may make the driver take for the local memory of its threads. */
static CUresult local_charge(struct server_app *app, const struct server_function *function)
{
    int bytes = 0;
    CU_TRY(app->driver->cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                                           function->real));
    return kernel_memory_local(app, function->module->context, bytes > 0 ? (uint64_t)bytes : 0);
}

static CUresult function_make(struct server_app *app, const struct ga_module_function_args *args,
                              struct server_function **out)
{
    struct server_module *module = ga_handle_table_find(&app->objects.modules, args->module);
    if (module == NULL || args->name == NULL) {
        return module == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    struct server_function *function = calloc(1, sizeof *function);
    if (function == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    function->handle = args->function;
    function->module = module;
    CUresult rc = app->driver->cuModuleGetFunction(&function->real, module->real, args->name);
    if (rc == CUDA_SUCCESS) {
        rc = local_charge(app, function);
    }
    if (rc == CUDA_SUCCESS) {
        rc = params_read(app, function);
    }
    if (rc == CUDA_SUCCESS) {
        enum ga_status status =
            ga_handle_table_take(&app->objects.functions, args->function, function);
        rc = status == GA_OK        ? CUDA_SUCCESS
             : status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE
                                    : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc != CUDA_SUCCESS) {
        free(function->params);
        free(function);
        return rc;
    }
    ga_list_append(&module->functions, &function->link);
    *out = function;
    return CUDA_SUCCESS;
}

/* Room for the arrays of an answer about a function. */
struct function_room {
    uint32_t offsets[API_PARAMS_MAX], sizes[API_PARAMS_MAX];
};

static void function_facts(struct server_app *app, const struct server_function *function,
                           struct function_room *room, struct ga_module_function_results *facts)
{
    *facts = (struct ga_module_function_results){.param_count = function->param_count,
                                                 .param_offset = room->offsets,
                                                 .param_size = room->sizes};
    for (uint32_t i = 0; i < function->param_count; i++) {
        room->offsets[i] = function->params[i].offset;
        room->sizes[i] = function->params[i].size;
    }
    for (unsigned i = 0; i < API_FUNCTION_ATTRIBUTES; i++) {
        /* An attribute that this driver does not know is 0. */
        int value = 0;
        (void)app->driver->cuFuncGetAttribute(&value, (CUfunction_attribute)i, function->real);
        facts->attributes[i] = value;
    }
}

CUresult server_do_ga_module_function(struct server_app *app,
                                      const struct ga_module_function_args *args,
                                      struct ga_module_function_results *results)
{
    struct function_room room;
    struct server_function *function;
    CU_TRY(function_make(app, args, &function));
    function_facts(app, function, &room, results);
    SERVER_REPLY_RESULTS(app, app->call.header, ga_module_function, CUDA_SUCCESS, results);
    return SERVER_ANSWERED; /* the arrays are in `room` */
}

/* ---- what the program sets. No driver tells of the last two. */

CUresult server_do_cuFuncSetAttribute(struct server_app *app,
                                      const struct cuFuncSetAttribute_args *args)
{
    CUfunction function;
    CU_TRY(server_handle_function(app, args->hfunc, &function));
    monitor_forget(&app->monitor);
    return app->driver->cuFuncSetAttribute(function, (CUfunction_attribute)args->attrib,
                                           (int)args->value);
}

CUresult server_do_cuFuncSetCacheConfig(struct server_app *app,
                                        const struct cuFuncSetCacheConfig_args *args)
{
    struct server_function *function = ga_handle_table_find(&app->objects.functions, args->hfunc);
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CU_TRY(app->driver->cuFuncSetCacheConfig(function->real, args->config));
    monitor_forget(&app->monitor);
    function->made_from.cache_set = true;
    function->made_from.cache = args->config;
    return CUDA_SUCCESS;
}

CUresult server_do_cuFuncSetSharedMemConfig(struct server_app *app,
                                            const struct cuFuncSetSharedMemConfig_args *args)
{
    struct server_function *function = ga_handle_table_find(&app->objects.functions, args->hfunc);
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CU_TRY(app->driver->cuFuncSetSharedMemConfig(function->real, args->config));
    monitor_forget(&app->monitor);
    function->made_from.banks_set = true;
    function->made_from.banks = args->config;
    return CUDA_SUCCESS;
}

/* ---- all functions */

/* `*functions` is an array that the caller frees. */
static CUresult functions_read(struct server_app *app, CUmodule module, unsigned *count,
                               CUfunction **functions)
{
    CU_TRY(app->driver->cuModuleGetFunctionCount(count, module));
    CUfunction *all = calloc((size_t)*count + 1, sizeof *all);
    CUresult rc = all != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc == CUDA_SUCCESS && *count != 0) {
        rc = app->driver->cuModuleEnumerateFunctions(all, *count, module);
    }
    if (rc != CUDA_SUCCESS) {
        free(all);
        return rc;
    }
    *functions = all;
    return CUDA_SUCCESS;
}

/* Names of functions, one after the other, each with its NUL. */
struct names {
    unsigned count; /* of all functions */
    unsigned end;   /* behind the last one that found room */
    char *text;     /* the caller frees it */
    size_t bytes;
};

static CUresult names_read(struct server_app *app, uint64_t module, unsigned first,
                           struct names *names)
{
    CUmodule real;
    CUfunction *functions;
    CU_TRY(server_handle_module(app, module, &real));
    CU_TRY(functions_read(app, real, &names->count, &functions));
    names->text = malloc(NAMES_BYTES);
    CUresult rc = names->text != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (names->end = first; names->end < names->count && rc == CUDA_SUCCESS; names->end++) {
        const char *name;
        rc = app->driver->cuFuncGetName(&name, functions[names->end]);
        size_t bytes = rc == CUDA_SUCCESS ? strlen(name) + 1 : 0;
        if (bytes > NAMES_BYTES - names->bytes) {
            break;
        }
        memcpy(names->text + names->bytes, name, bytes);
        names->bytes += bytes;
    }
    free(functions);
    return rc;
}

CUresult server_do_ga_module_names(struct server_app *app, const struct ga_module_names_args *args,
                                   struct ga_module_names_results *results)
{
    struct names names = {0};
    CUresult rc = names_read(app, args->module, args->first, &names);
    results->count = names.count;
    results->names_bytes = (uint32_t)names.bytes;
    results->names = names.text;
    SERVER_REPLY_RESULTS(app, app->call.header, ga_module_names, rc, results);
    free(names.text);
    return SERVER_ANSWERED;
}

CUresult server_do_ga_module_list(struct server_app *app, const struct ga_module_list_args *args,
                                  struct ga_module_list_results *results)
{
    struct names names = {0};
    CUresult rc = names_read(app, args->module, 0, &names);
    if (rc == CUDA_SUCCESS && names.end < names.count) {
        rc = CUDA_ERROR_NOT_SUPPORTED;
    }
    results->count = names.count;
    results->names_bytes = (uint32_t)names.bytes;
    results->names = names.text;
    SERVER_REPLY_RESULTS(app, app->call.header, ga_module_list, rc, results);
    free(names.text);
    return SERVER_ANSWERED;
}

/* ---- what comes with a module */

/* Appends what ga_module_function would answer. False: no room, or the driver does not say. */
static bool facts_append(struct server_app *app, CUfunction real, struct ga_writer *writer)
{
    const char *name;
    struct server_function function = {.real = real};
    struct function_room room;
    struct ga_module_function_results facts;
    if (app->driver->cuFuncGetName(&name, real) != CUDA_SUCCESS ||
        params_read(app, &function) != CUDA_SUCCESS) {
        return false;
    }
    function_facts(app, &function, &room, &facts);
    ga_write_string(writer, name);
    ga_module_function_results_write(writer, &facts);
    free(function.params);
    return !writer->failed;
}

/* Those of as many functions as fit into `bytes`, which is freed by the caller; for the others the
 * client asks one by one. */
static CUresult facts_read(struct server_app *app, CUmodule real, uint8_t **bytes, uint32_t *size)
{
    CUfunction *functions;
    unsigned count;
    CU_TRY(functions_read(app, real, &count, &functions));
    *size = 0;
    *bytes = aligned_alloc(16, FACTS_BYTES);
    if (*bytes != NULL) {
        struct ga_writer writer = ga_writer_of(*bytes, FACTS_BYTES);
        for (unsigned i = 0; i < count && i < FACTS_MAX && facts_append(app, functions[i], &writer);
             i++) {
            *size = (uint32_t)writer.at;
        }
    }
    free(functions);
    return CUDA_SUCCESS;
}

CUresult server_do_ga_module_facts(struct server_app *app, const struct ga_module_facts_args *args,
                                   struct ga_module_facts_results *results)
{
    CUmodule real;
    uint8_t *facts;
    CU_TRY(server_handle_module(app, args->module, &real));
    CU_TRY(facts_read(app, real, &facts, &results->bytes));
    results->facts = (const char *)facts;
    SERVER_REPLY_RESULTS(app, app->call.header, ga_module_facts, CUDA_SUCCESS, results);
    free(facts);
    return SERVER_ANSWERED;
}

/* Appends what ga_module_global would answer. */
static bool variable_append(struct server_app *app, CUmodule real, const char *name,
                            struct ga_writer *writer)
{
    CUdeviceptr address;
    size_t bytes;
    if (app->driver->cuModuleGetGlobal_v2(&address, &bytes, real, name) != CUDA_SUCCESS) {
        return true; /* programs do not find it either */
    }
    const struct ga_module_global_results found = {.address = address, .bytes = bytes};
    ga_write_string(writer, name);
    ga_module_global_results_write(writer, &found);
    return !writer->failed;
}

static void variables_read(struct server_app *app, CUmodule real, uint8_t **bytes, uint32_t *size)
{
    const struct cuda_driver_places *places = driver_places(app->driver);
    *size = 0;
    *bytes = places != NULL ? aligned_alloc(16, VARIABLES_BYTES) : NULL;
    if (*bytes == NULL) {
        return;
    }
    struct ga_writer writer = ga_writer_of(*bytes, VARIABLES_BYTES);
    struct cuda_module_variable variable;
    for (size_t i = 0;
         i < VARIABLES_MAX && places->module_variable(real, i, &variable) == CUDA_SUCCESS &&
         (variable.bytes == 0 || variable_append(app, real, variable.name, &writer));
         i++) {
        *size = (uint32_t)writer.at;
    }
}

CUresult server_do_ga_module_table(struct server_app *app, const struct ga_module_table_args *args,
                                   struct ga_module_table_results *results)
{
    CUmodule real;
    uint8_t *facts, *variables;
    CU_TRY(server_handle_module(app, args->module, &real));
    CU_TRY(facts_read(app, real, &facts, &results->facts_bytes));
    variables_read(app, real, &variables, &results->variables_bytes);
    results->facts = (const char *)facts;
    results->variables = (const char *)variables;
    SERVER_REPLY_RESULTS(app, app->call.header, ga_module_table, CUDA_SUCCESS, results);
    free(facts);
    free(variables);
    return SERVER_ANSWERED;
}
