/* SPDX-License-Identifier: Apache-2.0 */
#include "server/objects/session.h"

#include <stdlib.h>

#include "server/app/app.h"
#include "server/charge/primary.h"
#include "server/gate/gate.h"

/* ---- windows */

CUresult session_window_reserve(struct server_app *app, struct server_session *session,
                                const struct handshake_window *wanted)
{
    CUdeviceptr got = 0;
    CU_TRY(app->driver->cuMemAddressReserve(&got, wanted->bytes, 0, wanted->base, 0));
    session->window = (struct handshake_window){.base = got, .bytes = wanted->bytes};
    session->agreed = got == wanted->base;
    return CUDA_SUCCESS;
}

CUresult session_window_release(struct server_app *app, struct server_session *session)
{
    CUresult rc = CUDA_SUCCESS;
    if (session->window.bytes != 0) {
        rc = app->driver->cuMemAddressFree(session->window.base, session->window.bytes);
        session->window = (struct handshake_window){0};
    }
    session->agreed = false;
    return rc;
}

CUresult session_close(struct server_app *app, struct server_session *session)
{
    CUresult rc = session_window_release(app, session);
    session->number = 0;
    return rc;
}

/* ---- making */

static CUresult session_facts(struct server_app *app, struct server_session *session)
{
    const struct cuda_driver *driver = app->driver;
    int posix_fd = 0, mappable = 0;
    (void)driver->cuDeviceGetAttribute(
        &mappable, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, session->real);
    session->mappable = mappable != 0;
    session->granularity_bytes = DRIVER_UNMAPPED_BYTES;
    if (!session->mappable) {
        return CUDA_SUCCESS;
    }
    (void)driver->cuDeviceGetAttribute(
        &posix_fd, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, session->real);
    session->handle_types =
        posix_fd != 0 ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = (CUmemAllocationHandleType)session->handle_types,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = session->real}};
    size_t granularity = 0;
    CUresult rc = driver->cuMemGetAllocationGranularity(&granularity, &prop,
                                                        CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    session->granularity_bytes = granularity;
    return rc == CUDA_SUCCESS && granularity == 0 ? CUDA_ERROR_UNKNOWN : rc;
}

bool session_exists(const struct server_app *app, uint32_t device)
{
    for (uint32_t i = 1; i <= CONF_GPUS_MAX && app->sessions[i] != NULL; i++) {
        if (app->sessions[i]->number != 0 && app->sessions[i]->device == device) {
            return true;
        }
    }
    return false;
}

/* The smallest free number; 0: there is none, or no memory. */
static uint16_t session_number_take(struct server_app *app)
{
    for (uint16_t i = 1; i <= CONF_GPUS_MAX; i++) {
        if (app->sessions[i] == NULL) {
            app->sessions[i] = calloc(1, sizeof *app->sessions[i]);
            return app->sessions[i] != NULL ? i : 0;
        }
        if (app->sessions[i]->number == 0) {
            return i;
        }
    }
    return 0;
}

CUresult session_make(struct server_app *app, uint32_t device, int ordinal,
                      struct server_session **made)
{
    uint16_t number = session_number_take(app);
    struct server_session *session = number != 0 ? app->sessions[number] : NULL;
    if (session == NULL || ordinal < 0) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *session = (struct server_session){.device = device, .ordinal = (uint32_t)ordinal};
    if (app->host->gpu != NULL) {
        session->gpu = app->host->gpu(app->host->user, ordinal, &session->context_bytes);
    }
    CU_TRY(app->driver->cuDeviceGet(&session->real, ordinal));
    primary_know(app->ledger, session->real, session->gpu, session->context_bytes);
    CU_TRY(session_facts(app, session));
    session->number = number;
    gate_set(app, session,
             app->host->gate != NULL ? app->host->gate(app->host->user, session) : NULL);
    *made = session;
    return CUDA_SUCCESS;
}
