/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: their end, and their variables. */
#include "server/calls/module.h"

#include <stdlib.h>

#include "api/calls.h"
#include "api/driver_places.h"
#include "api/server_dispatch.h"
#include "server/session/conn.h"
#include "server/session/contexts.h"
#include "server/session/handles.h"
#include "server/session/image.h"
#include "server/session/reply.h"

/* ---- the end */

/* From now on its handles and addresses mean nothing. */
static void module_forget(struct server_conn *conn, struct server_module *module)
{
    ga_list_each (at, next, &module->functions) {
        struct server_function *function = ga_container(at, struct server_function, link);
        (void)ga_handle_table_remove(&conn->objects.functions, function->handle);
        monitor_forget(&conn->monitor);
        free(function->params);
        free(function);
    }
    ga_list_init(&module->functions);
    for (size_t i = conn->ranges.count; i-- > 0;) {
        if (conn->ranges.items[i].owner == module) {
            range_table_remove(&conn->ranges, conn->ranges.items[i].base);
        }
    }
    (void)ga_handle_table_remove(&conn->objects.modules, module->handle);
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
static void memory_gone(struct server_conn *conn, struct server_context *context, uint64_t bytes)
{
    ledger_return_device(conn->ledger, context->session->gpu, bytes);
    if (context->kernel_memory.charged[KERNEL_MEMORY_HEAP] != 0) {
        (void)kernel_memory_settle(conn, context);
    }
}

static void unloaded(struct server_conn *conn, struct completer_entry *entry)
{
    struct server_context *context = (struct server_context *)(uintptr_t)entry->job_values[0];
    context_apply(conn, context);
    memory_gone(conn, context, entry->job_values[1]);
    context_apply(conn, conn->current);
    server_check_fault(conn, entry->rc);
}

CUresult module_free(struct server_conn *conn, struct server_module *module)
{
    if (!module->leaving) {
        module_forget(conn, module);
    }
    struct server_context *context = module->context;
    uint64_t bytes = module->bytes;
    const struct waiting_call unload = module_leave(module);
    conn_flush(conn);
    CUresult rc = unload.make(conn->driver, unload.object);
    memory_gone(conn, context, bytes);
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

void module_unmake(struct server_conn *conn, struct server_context *context, CUmodule real,
                   uint64_t bytes)
{
    const struct waiting_call unload = {.make = module_unload, .object = (uint64_t)(uintptr_t)real};
    const struct cuda_driver_places *places = driver_counts(conn->driver);
    if (places != NULL && places->module_drop(real) == CUDA_SUCCESS) {
        memory_gone(conn, context, bytes);
        return;
    }
    struct completer_entry *entry = server_entry_make(conn, COMPLETER_JOB);
    if (entry != NULL) {
        waiting_call_make(conn, context, unloading(entry, context, unload, bytes));
    }
}

/* The work that was there when the client unloaded it is done. The context may have ended since,
 * and the module with it. */
static void unload_later(struct server_conn *conn, struct completer_entry *entry)
{
    struct server_context *context =
        ga_handle_table_find(&conn->objects.contexts, entry->job_values[0]);
    struct completer_entry *after =
        completer_entry_make(&conn->completer, COMPLETER_JOB, entry->session, entry->sequence);
    if (context == NULL || after == NULL) { /* it goes with its context */
        completer_entry_free(&conn->completer, after);
        return;
    }
    ga_list_each (at, next, &context->modules) {
        struct server_module *module = ga_container(at, struct server_module, link);
        if (module->leaving && module->handle == entry->job_values[1]) {
            uint64_t bytes = module->bytes;
            waiting_call_make(conn, context,
                              unloading(after, context, module_leave(module), bytes));
            return;
        }
    }
    completer_entry_free(&conn->completer, after);
}

/* The driver is asked when the work before is done, so that it waits for later work only, if for
 * any. */
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
    return range_table_add(&conn->ranges, &range) == GA_OK ? CUDA_SUCCESS
                                                           : CUDA_ERROR_OUT_OF_MEMORY;
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
