/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a module in a context. A large image is named first: a server that has it already for
 * this owner needs no bytes. */
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "base/failpoint.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/device_free.h"
#include "client/module/image.h"
#include "client/module/module.h"
#include "client/module/module_table.h"
#include "front/front.h"

/* The results of both calls that load are the same. */
static void give_logs(struct front_jit *jit, struct ga_reader *reader)
{
    struct ga_module_load_results results;
    if (reader->at >= reader->size) {
        return; /* the connection was lost */
    }
    ga_module_load_results_read(reader, &results);
    if (!reader->failed) {
        front_jit_write(&jit->info, results.info_log);
        front_jit_write(&jit->error, results.error_log);
    }
}

static uint32_t log_room(size_t bytes)
{
    return bytes > API_LOG_MAX ? API_LOG_MAX : (uint32_t)bytes;
}

struct client_loading {
    struct client_context *context;
    struct client_module *module;
    const void *image;
    uint64_t bytes;
    struct front_jit *jit;
};

/* The call has been started. */
static CUresult loading_finish(const struct client_loading *loading, struct client_call *call)
{
    struct client_call more;
    struct ga_reader reader;
    if (client_module_table_ask(&more, loading->module)) {
        client_module_table_take(&more,
                                 loading->module); /* its answer comes last: then both are here */
    }
    CUresult rc = client_call_finish(call, true, &reader);
    give_logs(loading->jit, &reader);
    client_call_end(call);
    return rc;
}

static CUresult load_bytes(const struct client_loading *loading)
{
    struct client_call call;
    const struct ga_module_load_args args = {.module = loading->module->object.handle,
                                             .image_bytes = loading->bytes,
                                             .max_registers = loading->jit->max_registers,
                                             .optimization = loading->jit->optimization,
                                             .log_bytes = log_room(loading->jit->info.size),
                                             .error_log_bytes = log_room(loading->jit->error.size)};
    CU_TRY(client_call_enter_in(&call, API_OP_ga_module_load, loading->context));
    (void)GA_FAILPOINT("client: before an image is sent");
    CU_TRY(client_call_begin(&call, ga_module_load_args_bound(&args)));
    ga_module_load_args_write(&call.writer, &args);
    CU_TRY(client_call_start(&call, NULL, loading->image, loading->bytes));
    return loading_finish(loading, &call);
}

/* CUDA_ERROR_NOT_FOUND: the server wants the bytes. */
static CUresult load_named(const struct client_loading *loading)
{
    struct client_call call;
    struct ga_module_load_named_args args = {.module = loading->module->object.handle,
                                             .image_bytes = loading->bytes,
                                             .max_registers = loading->jit->max_registers,
                                             .optimization = loading->jit->optimization,
                                             .log_bytes = log_room(loading->jit->info.size),
                                             .error_log_bytes = log_room(loading->jit->error.size)};
    uint8_t name[TRANSPORT_DIGEST_BYTES];
    CU_TRY(client_call_enter_in(&call, API_OP_ga_module_load_named, loading->context));
    atomic_bool *nameless = &client_conn_facts(call.conn)->nameless;
    if (loading->bytes < API_IMAGE_NAMED_MIN || client_call_lacking(&call) ||
        atomic_load(nameless) || !client_image_name(loading->image, loading->bytes, name)) {
        return CUDA_ERROR_NOT_FOUND;
    }
    memcpy(args.name, name, sizeof args.name);
    (void)GA_FAILPOINT("client: before an image is named");
    CU_TRY(client_call_begin(&call, ga_module_load_named_args_bound(&args)));
    ga_module_load_named_args_write(&call.writer, &args);
    CU_TRY(client_call_start(&call, NULL, NULL, 0));
    CUresult rc = loading_finish(loading, &call);
    if (rc == CUDA_ERROR_NOT_PERMITTED) {
        atomic_store(nameless, true);
        rc = CUDA_ERROR_NOT_FOUND;
    }
    return rc;
}

static CUresult load_once(const struct client_loading *loading)
{
    CUresult rc = load_named(loading);
    return rc == CUDA_ERROR_NOT_FOUND ? load_bytes(loading) : rc;
}

CUresult client_module_load(struct client_context *context, const void *image, uint64_t bytes,
                            struct front_jit *jit, struct client_module **out)
{
    struct client_loading loading = {
        .context = context, .image = image, .bytes = bytes, .jit = jit};
    struct client_call call;
    CU_TRY(client_call_enter_in(&call, API_OP_ga_module_load, context));
    loading.module = client_object_make(GA_HANDLE_MODULE, context);
    if (loading.module == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = load_once(&loading);
    for (unsigned step = 0;
         rc == CUDA_ERROR_OUT_OF_MEMORY && client_memory_reclaim(context->session, step); step++) {
        rc = load_once(&loading);
    }
    if (rc != CUDA_SUCCESS) {
        client_object_drop(loading.module);
        return rc;
    }
    *out = loading.module;
    return CUDA_SUCCESS;
}
