/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: their end, and their variables. */
#include "server/calls/module.h"

#include <stdlib.h>

#include "api/calls.h"
#include "api/driver_places.h"
#include "api/server_dispatch.h"
#include "server/app/carrier.h"
#include "server/app/current_context.h"
#include "server/app/fault.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/image/image.h"
#include "server/meter/monitor.h"
#include "server/objects/contexts.h"
#include "server/objects/handles.h"
#include "server/objects/kernel_memory.h"

/* ---- the end */

/* From now on its handles and addresses mean nothing. */
static void module_forget(struct server_app *app, struct server_module *module)
{
    ga_list_each (at, next, &module->functions) {
        struct server_function *function = ga_container(at, struct server_function, link);
        (void)ga_handle_table_remove(&app->objects.functions, function->handle);
        monitor_forget(&app->monitor);
        free(function->params);
        free(function);
    }
    ga_list_init(&module->functions);
    for (size_t i = app->ranges.count; i-- > 0;) {
        if (app->ranges.items[i].owner == module) {
            range_table_remove(&app->ranges, app->ranges.items[i].base);
        }
    }
    (void)ga_handle_table_remove(&app->objects.modules, module->handle);
    module->leaving = true;
}

static CUresult module_unload(const struct cuda_driver *driver, uint64_t module)
{
    return driver->cuModuleUnload((CUmodule)(uintptr_t)module);
}

/* Takes it out of its context; what is left of it is the driver's module. */
static struct waiting_call module_leave(struct server_module *module)
{
    const struct waiting_call unload = {.make = module_unload,
                                        .object = (uint64_t)(uintptr_t)module->real};
    ga_list_remove(&module->link);
    image_unref(module->image);
    free(module);
    return unload;
}

/* A heap of kernels may have gone with it, which then is no more charged. The context is current.
 */
static void memory_gone(struct server_app *app, struct server_context *context, uint64_t bytes)
{
    ledger_return_device(app->ledger, context->session->gpu, bytes);
    if (context->kernel_memory.charged[KERNEL_MEMORY_HEAP] != 0) {
        (void)kernel_memory_settle(app, context);
    }
}

static void unloaded(struct server_app *app, struct completer_entry *entry)
{
    struct server_context *context = (struct server_context *)(uintptr_t)entry->job_values[0];
    context_apply(app, context);
    memory_gone(app, context, entry->job_values[1]);
    context_apply(app, app->current);
    server_check_fault(app, entry->rc);
}

CUresult module_free(struct server_app *app, struct server_module *module)
{
    if (!module->leaving) {
        module_forget(app, module);
    }
    struct server_context *context = module->context;
    uint64_t bytes = module->bytes;
    const struct waiting_call unload = module_leave(module);
    app->carrier->flush(app);
    CUresult rc = unload.make(app->driver, unload.object);
    memory_gone(app, context, bytes);
    return rc;
}

/* The job behind unloading. */
static struct completer_entry *unloading(struct completer_entry *entry,
                                         struct server_context *context, struct waiting_call call,
                                         uint64_t bytes)
{
    entry->waits = call;
    entry->job = unloaded;
    entry->job_values[0] = (uint64_t)(uintptr_t)context; /* which does not end before */
    entry->job_values[1] = bytes;
    return entry;
}

void module_unmake(struct server_app *app, struct server_context *context, CUmodule real,
                   uint64_t bytes)
{
    const struct waiting_call unload = {.make = module_unload, .object = (uint64_t)(uintptr_t)real};
    const struct cuda_driver_places *places = driver_counts(app->driver);
    if (places != NULL && places->module_drop(real) == CUDA_SUCCESS) {
        memory_gone(app, context, bytes);
        return;
    }
    struct completer_entry *entry = server_entry_make(app, COMPLETER_JOB);
    if (entry != NULL) {
        waiting_call_make(app, context, unloading(entry, context, unload, bytes));
    }
}

/* The work that was there when the client unloaded it is done. The context may have ended since,
 * and the module with it. */
static void unload_later(struct server_app *app, struct completer_entry *entry)
{
    struct server_context *context =
        ga_handle_table_find(&app->objects.contexts, entry->job_values[0]);
    struct completer_entry *after = completer_entry_make(&conn_of(app)->completer, COMPLETER_JOB,
                                                         entry->session, entry->sequence);
    if (context == NULL || after == NULL) { /* it goes with its context */
        completer_entry_free(&conn_of(app)->completer, after);
        return;
    }
    ga_list_each (at, next, &context->modules) {
        struct server_module *module = ga_container(at, struct server_module, link);
        if (module->leaving && module->handle == entry->job_values[1]) {
            uint64_t bytes = module->bytes;
            waiting_call_make(app, context, unloading(after, context, module_leave(module), bytes));
            return;
        }
    }
    completer_entry_free(&conn_of(app)->completer, after);
}

/* The driver is asked when the work before is done, so that it waits for later work only, if for
 * any. */
static CUresult unload_after_work(struct server_app *app, struct server_module *module)
{
    struct completer_entry *entry = server_entry_make(app, COMPLETER_JOB);
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context_apply(app, module->context);
    CUresult rc = context_mark(app, module->context, &entry->marks);
    context_apply(app, app->current);
    entry->job = unload_later;
    entry->job_values[0] = module->context->handle;
    entry->job_values[1] = module->handle;
    module_forget(app, module);
    completer_add(&conn_of(app)->completer,
                  entry); /* also when marking failed: what is there drains */
    return rc;
}

CUresult server_do_ga_module_unload(struct server_app *app,
                                    const struct ga_module_unload_args *args)
{
    struct server_module *module = ga_handle_table_find(&app->objects.modules, args->module);
    return module != NULL ? unload_after_work(app, module) : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- variables */

CUresult server_do_ga_module_global(struct server_app *app,
                                    const struct ga_module_global_args *args,
                                    struct ga_module_global_results *results)
{
    CUdeviceptr address;
    size_t bytes;
    CUmodule real;
    CU_TRY(server_handle_module(app, args->module, &real));
    CU_TRY(app->driver->cuModuleGetGlobal_v2(&address, &bytes, real, args->name));
    results->address = address;
    results->bytes = bytes;
    if (range_table_at(&app->ranges, address) != NULL || bytes == 0) {
        return CUDA_SUCCESS;
    }
    const struct range range = {.base = address,
                                .bytes = bytes,
                                .owner = ga_handle_table_find(&app->objects.modules, args->module)};
    return range_table_add(&app->ranges, &range) == GA_OK ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult server_do_ga_variable_managed(struct server_app *app,
                                       const struct ga_variable_managed_args *args,
                                       struct ga_variable_managed_results *results)
{
    return range_table_at(&app->ranges, args->address) != NULL
               ? app->driver->cuPointerGetAttribute(&results->managed,
                                                    CU_POINTER_ATTRIBUTE_IS_MANAGED, args->address)
               : CUDA_ERROR_INVALID_VALUE;
}
