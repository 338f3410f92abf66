/* SPDX-License-Identifier: Apache-2.0 */
#include "server/objects/context_open.h"

#include <stdlib.h>

#include "server/app/app.h"
#include "server/charge/primary.h"
#include "server/meter/meter.h"
#include "server/objects/contexts.h"
#include "server/objects/kernel_memory.h"
#include "server/objects/mapped_memory.h"

/* The client's primary context is the driver's, which the server may need, too. */
static bool is_drivers_primary(const struct server_app *app, bool primary)
{
    return primary && !app->host->shares_process;
}

/* One that has some of the multiprocessors, which is current when it is made. */
static CUresult part_make(const struct cuda_driver *driver, const struct server_session *session,
                          const struct made_context *made, CUcontext *real, uint32_t *given)
{
    CUcontext popped;
    CUexecAffinityParam wanted = {.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT,
                                  .param.smCount.val = made->sms};
    CU_TRY(driver->cuCtxCreate_v3(real, &wanted, 1, made->flags, session->real));
    CUresult rc = driver->cuCtxGetExecAffinity(&wanted, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    *given = wanted.param.smCount.val;
    (void)driver->cuCtxPopCurrent_v2(&popped);
    if (rc != CUDA_SUCCESS) {
        (void)driver->cuCtxDestroy_v2(*real);
    }
    return rc;
}

CUresult context_real_make(struct server_app *app, const struct server_session *session,
                           bool primary, const struct made_context *made, CUcontext *real,
                           uint32_t *given)
{
    const struct cuda_driver *driver = app->driver;
    CUcontext popped;
    if (is_drivers_primary(app, primary)) {
        return driver->cuDevicePrimaryCtxRetain(real, session->real);
    }
    if (made->part) {
        return part_make(driver, session, made, real, given);
    }
    CU_TRY(driver->cuCtxCreate_v2(real, made->flags, session->real));
    (void)driver->cuCtxPopCurrent_v2(&popped);
    return CUDA_SUCCESS;
}

CUresult context_unmake(struct server_app *app, const struct server_session *session, bool primary,
                        CUcontext real)
{
    return is_drivers_primary(app, primary)
               ? app->driver->cuDevicePrimaryCtxRelease_v2(session->real)
               : app->driver->cuCtxDestroy_v2(real);
}

/* Takes a context of the driver; it is ended on failure. */
static CUresult context_enter(struct server_app *app, struct server_session *session,
                              uint64_t handle, uint32_t kind, struct made_context made_from,
                              CUcontext real)
{
    struct server_context *context = calloc(1, sizeof *context);
    enum ga_status status = GA_NO_MEMORY;
    if (context != NULL) {
        *context = (struct server_context){.handle = handle,
                                           .session = session,
                                           .real = real,
                                           .primary = kind == API_CONTEXT_PRIMARY,
                                           .made_from = made_from,
                                           .null_lane = ++app->objects.last_lane};
        status = ga_handle_table_take(&app->objects.contexts, handle, context);
    }
    if (status != GA_OK) {
        (void)context_unmake(app, session, kind == API_CONTEXT_PRIMARY, real);
        free(context);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_init(&context->streams);
    ga_list_init(&context->events);
    ga_list_init(&context->modules);
    ga_list_init(&context->arrays);
    ga_list_init(&context->textures);
    ga_list_init(&context->graphs);
    ga_list_init(&context->conditions);
    ga_list_init(&context->greens);
    ga_list_init(&context->free_events);
    meter_context_init(&context->meter);
    ga_list_append(&app->objects.context_list, &context->link);
    output_context_add(app->host->output, &app->output, &context->output, real);
    context_limit_kernels(app, context);
    if (is_drivers_primary(app, context->primary)) {
        context->kernel_memory.charged[KERNEL_MEMORY_HEAP] =
            primary_take_over(app->ledger, session->real);
    }
    return CUDA_SUCCESS;
}

static CUresult context_charge(struct server_app *app, const struct server_session *session,
                               bool primary)
{
    bool shared = is_drivers_primary(app, primary);
    if (!shared || !primary_is_held(app->ledger, session->real)) {
        CU_TRY(memory_charge(app, session, session->context_bytes));
    }
    if (shared) {
        primary_hold_charged(app->ledger, session->real);
    }
    return CUDA_SUCCESS;
}

static void context_return(struct server_app *app, const struct server_session *session,
                           bool primary)
{
    if (is_drivers_primary(app, primary)) {
        primary_drop(app->ledger, session->real);
    } else {
        ledger_return_device(app->ledger, session->gpu, session->context_bytes);
    }
}

CUresult context_make(struct server_app *app, struct server_session *session, uint64_t handle,
                      uint32_t kind, const struct made_context *made, uint32_t *given)
{
    CUcontext real = NULL;
    bool primary = kind == API_CONTEXT_PRIMARY;
    CU_TRY(context_charge(app, session, primary));
    CUresult rc = context_real_make(app, session, primary, made, &real, given);
    memory_answered(app, session, session->context_bytes, rc);
    if (rc == CUDA_SUCCESS) {
        rc = context_enter(app, session, handle, kind, *made, real);
    }
    if (rc != CUDA_SUCCESS) {
        context_return(app, session, primary);
    }
    return rc;
}

CUresult context_end(struct server_app *app, struct server_context *context)
{
    const struct server_session *session = context->session;
    CU_TRY(context_unmake(app, session, context->primary, context->real));
    context_return(app, session, context->primary);
    bool stays = is_drivers_primary(app, context->primary) &&
                 primary_keep(app->ledger, session->real, kernel_memory_bytes(context));
    if (stays) {
        context->kernel_memory = (struct kernel_memory){0};
    }
    kernel_memory_return(app, context);
    return CUDA_SUCCESS;
}

CUresult context_open(struct server_app *app, struct server_session *session,
                      const struct ga_context_create_args *args)
{
    if (args->kind > API_CONTEXT_EXPLICIT) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct made_context made = {.flags = args->flags & CONTEXT_FLAGS};
    return context_make(app, session, args->context, args->kind, &made, NULL);
}
