/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and their variables. An image comes from the client, so its container is
 * walked within its length before the driver, which is told no length, sees it. */
#include "server/calls/module.h"

#include <stdlib.h>
#include <string.h>

#include "api/bundle.h"
#include "api/calls.h"
#include "api/server_dispatch.h"
#include "base/log.h"
#include "server/session/conn.h"
#include "server/session/contexts.h"
#include "server/session/handles.h"
#include "server/session/reply.h"

/* ---- loading */

struct module_options {
    unsigned count;
    CUjit_option names[6];
    void *values[6];
    char *info, *error; /* logs, or NULL */
};

static void option_add(struct module_options *options, CUjit_option name, uintptr_t value)
{
    options->names[options->count] = name;
    options->values[options->count] = (void *)value;
    options->count++;
}

static char *log_add(struct module_options *options, CUjit_option buffer, CUjit_option size,
                     uint32_t bytes)
{
    bytes = bytes < API_LOG_MAX ? bytes : API_LOG_MAX - 1;
    char *log = bytes != 0 ? calloc(1, (size_t)bytes + 1) : NULL;
    if (log != NULL) {
        option_add(options, buffer, (uintptr_t)log);
        option_add(options, size, bytes);
    }
    return log;
}

static struct module_options options_make(const struct ga_module_load_args *args)
{
    struct module_options options = {0};
    if (args->max_registers != 0) {
        option_add(&options, CU_JIT_MAX_REGISTERS, args->max_registers);
    }
    if (args->optimization != 0) {
        option_add(&options, CU_JIT_OPTIMIZATION_LEVEL, args->optimization);
    }
    options.info = log_add(&options, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                           args->log_bytes);
    /* Array sizes: two options each, at most two logs and one of the two above is common. */
    options.error = options.count <= 4
                        ? log_add(&options, CU_JIT_ERROR_LOG_BUFFER,
                                  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, args->error_log_bytes)
                        : NULL;
    return options;
}

/* A linked program (nvcc -rdc=true): CUDA's wrapper of version 2, made again, for whatever the
 * driver takes of it: the machine code, or the modules of the translation units. */
struct linked {
    uint32_t magic, version;
    const void *code;
    const void **units; /* NULL-terminated; malloc-ed */
};

static CUresult linked_make(const struct api_image *bundle, struct linked *linked)
{
    struct api_image part;
    enum ga_status status = api_bundle_linked(bundle, &part);
    *linked = (struct linked){0x466243b1, 2, part.bytes, NULL};
    linked->units = status == GA_OK ? calloc(API_IMAGE_PRELINKED_MAX + 1, sizeof(void *)) : NULL;
    if (linked->units == NULL) {
        return status == GA_OK ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
    }
    for (size_t i = 0; (status = api_bundle_unit(bundle, i, &part)) == GA_OK; i++) {
        linked->units[i] = part.bytes;
    }
    return status == GA_AGAIN ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult link_parts(struct server_conn *conn, const struct api_image *bundle,
                           CUlinkState state, CUmodule *module)
{
    static const CUjitInputType types[] = {[API_IMAGE_PTX] = CU_JIT_INPUT_PTX,
                                           [API_IMAGE_ELF] = CU_JIT_INPUT_CUBIN,
                                           [API_IMAGE_FATBIN] = CU_JIT_INPUT_FATBINARY};
    struct api_image part;
    enum ga_status status;
    for (size_t i = 0; (status = api_bundle_unit(bundle, i, &part)) == GA_OK; i++) {
        CUresult rc = conn->driver->cuLinkAddData_v2(
            state, types[part.kind], (void *)(uintptr_t)part.bytes, part.size, NULL, 0, NULL, NULL);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
    }
    void *made;
    size_t size;
    CU_TRY(status == GA_AGAIN ? conn->driver->cuLinkComplete(state, &made, &size)
                              : CUDA_ERROR_INVALID_IMAGE);
    return conn->driver->cuModuleLoadData(module, made);
}

/* What the program has linked at run time (cuLinkComplete) is linked here, by the driver. */
static CUresult link_here(struct server_conn *conn, const struct api_image *bundle,
                          struct module_options *options, CUmodule *module)
{
    CUlinkState state;
    CUresult rc =
        conn->driver->cuLinkCreate_v2(options->count, options->names, options->values, &state);
    if (rc == CUDA_SUCCESS) {
        rc = link_parts(conn, bundle, state, module);
        (void)conn->driver->cuLinkDestroy(state);
    }
    return rc;
}

static CUresult driver_load(struct server_conn *conn, const struct api_image *opened,
                            const uint8_t *image, struct module_options *options, CUmodule *module)
{
    struct linked linked = {0};
    struct api_image part;
    CUresult rc = CUDA_SUCCESS;
    bool is_bundle = opened->kind == API_IMAGE_BUNDLE;
    bool is_linked = is_bundle && api_bundle_linked(opened, &part) != GA_AGAIN;
    if (is_bundle && !is_linked) {
        return link_here(conn, opened, options, module);
    }
    if (is_linked) {
        rc = linked_make(opened, &linked);
    }
    if (rc == CUDA_SUCCESS) {
        rc = conn->driver->cuModuleLoadDataEx(module, is_linked ? (const void *)&linked : image,
                                              options->count, options->names, options->values);
    }
    free(linked.units);
    return rc;
}

static CUresult module_make(struct server_conn *conn, const struct ga_module_load_args *args,
                            const uint8_t *image, struct module_options *options)
{
    struct api_image opened;
    if (conn->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (api_image_open(image, args->image_bytes + 1, &opened) != GA_OK) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    struct server_module *module = calloc(1, sizeof *module);
    if (module == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = driver_load(conn, &opened, image, options, &module->real);
    if (rc != CUDA_SUCCESS) {
        free(module);
        return rc;
    }
    enum ga_status status = ga_handle_table_take(&conn->objects.modules, args->module, module);
    if (status != GA_OK) {
        (void)conn->driver->cuModuleUnload(module->real);
        free(module);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    module->handle = args->module;
    module->context = conn->current;
    module->made_from = (struct made_module){.image_bytes = args->image_bytes,
                                             .max_registers = args->max_registers,
                                             .optimization = args->optimization};
    ga_list_init(&module->functions);
    ga_list_append(&conn->current->modules, &module->link);
    return CUDA_SUCCESS;
}

static void image_free(struct server_conn *conn, uint8_t *image, size_t bytes)
{
    ledger_return(conn->ledger, FIGURE_HOST_BYTES, image != NULL ? bytes + 1 : 0);
    free(image);
}

/* An image of so many bytes, with room for a NUL behind it: a text may have none. NULL: it is more
 * than the application may have. False: the connection has ended. */
static bool image_take(struct server_conn *conn, size_t bytes, uint8_t **image)
{
    *image = NULL;
    if (ledger_charge(conn->ledger, FIGURE_HOST_BYTES, bytes + 1) != CUDA_SUCCESS) {
        return conn_bulk_skip(conn);
    }
    *image = malloc(bytes + 1);
    if (*image == NULL) {
        ledger_return(conn->ledger, FIGURE_HOST_BYTES, bytes + 1);
        server_fail(conn, "no memory for a module's image");
        return false;
    }
    if (conn_bulk(conn, *image, bytes) != GA_OK) {
        image_free(conn, *image, bytes);
        return false;
    }
    return true;
}

CUresult server_do_ga_module_load(struct server_conn *conn, const struct ga_module_load_args *args,
                                  struct ga_module_load_results *results)
{
    size_t bulk = conn->call.header->length - conn->call.values;
    if (args->image_bytes > API_IMAGE_MAX || bulk != wire_padded(args->image_bytes)) {
        return SERVER_BROKEN;
    }
    uint8_t *image;
    if (!image_take(conn, bulk, &image)) {
        return SERVER_BROKEN;
    }
    if (image != NULL) {
        image[args->image_bytes] = 0;
    }
    struct module_options options = options_make(args);
    conn_flush(conn); /* loading may take long */
    CUresult rc =
        image != NULL ? module_make(conn, args, image, &options) : CUDA_ERROR_OUT_OF_MEMORY;
    image_free(conn, image, bulk);
    results->info_log = options.info;
    results->error_log = options.error;
    struct ga_writer *writer =
        server_reply_begin(conn, conn->call.header, rc, ga_module_load_results_bound(results));
    if (writer != NULL) { /* whatever the result: the log says why it failed */
        ga_module_load_results_write(writer, results);
    }
    server_reply_end(conn);
    free(options.info);
    free(options.error);
    return SERVER_ANSWERED;
}

/* ---- the end */

/* From now on its handles and addresses mean nothing. */
static void module_forget(struct server_conn *conn, struct server_module *module)
{
    ga_list_each (at, next, &module->functions) {
        struct server_function *function = ga_container(at, struct server_function, link);
        (void)ga_handle_table_remove(&conn->objects.functions, function->handle);
        free(function->params);
        free(function);
    }
    ga_list_init(&module->functions);
    for (size_t i = conn->ranges.count; i-- > 0;) {
        if (conn->ranges.items[i].owner == module) {
            ledger_return(conn->ledger, FIGURE_DEVICE_BYTES, conn->ranges.items[i].bytes);
            range_table_remove(&conn->ranges, conn->ranges.items[i].base);
        }
    }
    (void)ga_handle_table_remove(&conn->objects.modules, module->handle);
    module->leaving = true;
}

CUresult module_free(struct server_conn *conn, struct server_module *module)
{
    if (!module->leaving) {
        module_forget(conn, module);
    }
    ga_list_remove(&module->link);
    conn_flush(conn);
    CUresult rc = conn->driver->cuModuleUnload(module->real);
    free(module);
    return rc;
}

/* The work that was there when the client unloaded it is done. The context may have ended since,
 * and the module with it. */
static void unload_later(struct server_conn *conn, struct completer_entry *entry)
{
    struct server_context *context =
        ga_handle_table_find(&conn->objects.contexts, entry->job_values[0]);
    if (context == NULL) {
        return;
    }
    ga_list_each (at, next, &context->modules) {
        struct server_module *module = ga_container(at, struct server_module, link);
        if (module->leaving && module->handle == entry->job_values[1]) {
            context_apply(conn, context);
            server_check_fault(conn, module_free(conn, module));
            context_apply(conn, conn->current);
            return;
        }
    }
}

/* A driver may wait in cuModuleUnload for kernels that only a later call lets go on: so it is asked
 * when the work before is done. */
static CUresult unload_after_work(struct server_conn *conn, struct server_module *module)
{
    struct completer_entry *entry = server_entry_make(conn, COMPLETER_JOB);
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context_apply(conn, module->context);
    CUresult rc = context_mark(conn, module->context, entry);
    context_apply(conn, conn->current);
    entry->job = unload_later;
    entry->job_values[0] = module->context->handle;
    entry->job_values[1] = module->handle;
    module_forget(conn, module);
    completer_add(&conn->completer, entry); /* also when marking failed: what is there drains */
    return rc;
}

CUresult server_do_ga_module_unload(struct server_conn *conn,
                                    const struct ga_module_unload_args *args)
{
    struct server_module *module = ga_handle_table_find(&conn->objects.modules, args->module);
    return module != NULL ? unload_after_work(conn, module) : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- variables */

CUresult server_do_ga_module_global(struct server_conn *conn,
                                    const struct ga_module_global_args *args,
                                    struct ga_module_global_results *results)
{
    CUdeviceptr address;
    size_t bytes;
    CUmodule real;
    CU_TRY(server_handle_module(conn, args->module, &real));
    CU_TRY(conn->driver->cuModuleGetGlobal_v2(&address, &bytes, real, args->name));
    results->address = address;
    results->bytes = bytes;
    if (range_table_at(&conn->ranges, address) != NULL || bytes == 0) {
        return CUDA_SUCCESS;
    }
    const struct range range = {.base = address,
                                .bytes = bytes,
                                .owner =
                                    ga_handle_table_find(&conn->objects.modules, args->module)};
    if (range_table_add(&conn->ranges, &range) != GA_OK) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    ledger_note(conn->ledger, FIGURE_DEVICE_BYTES, bytes);
    return CUDA_SUCCESS;
}

CUresult server_do_ga_variable_managed(struct server_conn *conn,
                                       const struct ga_variable_managed_args *args,
                                       struct ga_variable_managed_results *results)
{
    return range_table_at(&conn->ranges, args->address) != NULL
               ? conn->driver->cuPointerGetAttribute(&results->managed,
                                                     CU_POINTER_ATTRIBUTE_IS_MANAGED, args->address)
               : CUDA_ERROR_INVALID_VALUE;
}
