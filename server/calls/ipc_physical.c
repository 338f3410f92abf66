/* SPDX-License-Identifier: Apache-2.0 */
/* Memory without an address that other applications of this gpuaasd have, too: as ipc.c, by a
 * descriptor of the driver which only backend processes see. */
#include <string.h>
#include <unistd.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/calls/ipc.h"
#include "server/calls/physical.h"

CUresult server_do_ga_physical_share(struct server_app *app,
                                     const struct ga_physical_share_args *args,
                                     struct ga_physical_share_results *results)
{
    const struct server_session *session = app->call.session;
    struct server_physical *physical =
        ga_handle_table_find(&app->objects.physicals, args->physical);
    int made = -1;
    if (physical == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (session->handle_types == CU_MEM_HANDLE_TYPE_NONE) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    CU_TRY(app->driver->cuMemExportToShareableHandle(
        &made, physical->real, (CUmemAllocationHandleType)session->handle_types, 0));
    struct channel_request packet = {.verb = CHANNEL_SHARE,
                                     .what = CHANNEL_PHYSICAL,
                                     .address = physical->handle,
                                     .bytes = physical->bytes,
                                     .opening = physical->opening,
                                     .gpu = app->sessions[physical->session]->gpu};
    int fd = made;
    CUresult rc = ipc_ask(app, &packet, &fd);
    if (fd >= 0 && fd != made) {
        close(fd);
    }
    close(made);
    physical->shared = physical->shared || ipc_may_be_shared(rc);
    if (rc == CUDA_SUCCESS) {
        memcpy(results->key, packet.key, sizeof results->key);
    }
    return rc;
}

/* The driver's handle of what the descriptor stands for, if that is memory of the session's device.
 */
static CUresult physical_import(struct server_app *app, const struct server_session *session,
                                int fd, CUmemGenericAllocationHandle *real)
{
    CUmemAllocationProp prop;
    CU_TRY(app->driver->cuMemImportFromShareableHandle(
        real, (void *)(uintptr_t)fd, (CUmemAllocationHandleType)session->handle_types));
    CUresult rc = app->driver->cuMemGetAllocationPropertiesFromHandle(&prop, *real);
    if (rc == CUDA_SUCCESS && prop.location.id != session->real) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc != CUDA_SUCCESS) {
        (void)app->driver->cuMemRelease(*real);
    }
    return rc;
}

static CUresult adopt(struct server_app *app, const struct server_session *session, int fd,
                      uint64_t opening, const struct ga_physical_open_args *args)
{
    struct server_physical *made;
    CUmemGenericAllocationHandle real;
    CU_TRY(physical_put(app, session, args->physical, args->bytes, &made));
    CUresult rc = physical_import(app, session, fd, &real);
    if (rc != CUDA_SUCCESS) {
        physical_drop(app, made);
        return rc;
    }
    made->real = real;
    made->opened = true;
    made->opening = opening;
    return CUDA_SUCCESS;
}

CUresult server_do_ga_physical_open(struct server_app *app,
                                    const struct ga_physical_open_args *args)
{
    const struct server_session *session = app->call.session;
    struct channel_request packet = {.verb = CHANNEL_OPEN, .what = CHANNEL_PHYSICAL};
    int fd = -1;
    if (!session->mappable || session->handle_types == CU_MEM_HANDLE_TYPE_NONE) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    memcpy(packet.key, args->key, sizeof packet.key);
    CUresult rc = ipc_ask(app, &packet, &fd);
    if (rc == CUDA_SUCCESS) {
        rc = fd >= 0 && packet.bytes == args->bytes ? adopt(app, session, fd, packet.opening, args)
                                                    : CUDA_ERROR_INVALID_HANDLE;
        if (rc != CUDA_SUCCESS) {
            ipc_close(app, packet.opening);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return rc;
}
