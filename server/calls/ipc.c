/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and events that other applications of this gpuaasd open. The bytes of a mapping go as a
 * descriptor of the driver from one backend process over gpuaasd to the other, which maps them
 * where its client wants them; an event goes in the same way, or as the driver's handle if it has
 * no descriptors for events. Clients see neither: they have keys (sharing_registry.h). */
#include "server/calls/ipc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/calls.h"
#include "api/driver_open.h"
#include "api/server_dispatch.h"
#include "base/log.h"
#include "server/app/app.h"
#include "server/calls/event.h"
#include "server/driver/driver.h"
#include "server/objects/mapped_memory.h"

_Static_assert(sizeof(CUipcEventHandle) == sizeof((struct channel_request *)NULL)->event,
               "it travels as it is");
_Static_assert(sizeof((struct channel_request *)NULL)->key == API_KEY_WORDS * sizeof(uint64_t),
               "it travels as it is");

CUresult ipc_ask(struct server_app *app, struct channel_request *packet, int *fd)
{
    if (app->host->request == NULL || app->host->request(app->host->user, packet, fd) != GA_OK) {
        *fd = -1;
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    return (CUresult)packet->result;
}

bool ipc_may_be_shared(CUresult rc)
{
    return rc == CUDA_SUCCESS || rc == CUDA_ERROR_OPERATING_SYSTEM;
}

/* ---- memory */

CUresult server_do_ga_ipc_share(struct server_app *app, const struct ga_ipc_share_args *args,
                                struct ga_ipc_share_results *results)
{
    const struct range *range = range_table_find(&app->ranges, args->address);
    if (range == NULL || !range->mapped || range->of != NULL || range->opened || args->bytes == 0 ||
        !range_table_holds(&app->ranges, args->address, args->bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct server_session *session = app->sessions[range->session];
    if (range->allocated || session->handle_types == CU_MEM_HANDLE_TYPE_NONE) {
        return CUDA_ERROR_NOT_SUPPORTED; /* the driver shares no memory that it maps for us */
    }
    int made = -1;
    CU_TRY(app->driver->cuMemExportToShareableHandle(
        &made, range->physical, (CUmemAllocationHandleType)session->handle_types, 0));
    struct channel_request packet = {.verb = CHANNEL_SHARE,
                                     .what = CHANNEL_MEMORY,
                                     .address = args->address,
                                     .bytes = args->bytes,
                                     .offset = args->address - range->base,
                                     .mapping_bytes = range->bytes,
                                     .gpu = session->gpu};
    int fd = made;
    CUresult rc = ipc_ask(app, &packet, &fd);
    if (fd >= 0 && fd != made) {
        close(fd);
    }
    close(made);
    if (ipc_may_be_shared(rc)) {
        range_table_share(&app->ranges, range->base);
    }
    if (rc == CUDA_SUCCESS) {
        memcpy(results->key, packet.key, sizeof results->key);
        results->offset = packet.offset;
        results->mapping_bytes = packet.mapping_bytes;
    }
    return rc;
}

static bool ipc_tell(struct server_app *app, struct channel_request *packet)
{
    int fd = -1;
    bool told = ipc_ask(app, packet, &fd) == CUDA_SUCCESS;
    if (!told) {
        ga_warn("what is freed could not be withdrawn from others, or closed");
    }
    if (fd >= 0) {
        close(fd);
    }
    return told;
}

void ipc_withdraw(struct server_app *app, enum channel_what what, uint64_t address, uint64_t bytes)
{
    struct channel_request packet = {
        .verb = CHANNEL_WITHDRAW, .what = what, .address = address, .bytes = bytes};
    (void)ipc_tell(app, &packet);
}

void ipc_return(struct server_app *app, enum channel_what what, uint64_t address, uint32_t gpu,
                uint64_t bytes)
{
    struct channel_request packet = {.verb = CHANNEL_WITHDRAW,
                                     .what = what,
                                     .address = address,
                                     .bytes = what == CHANNEL_MEMORY ? bytes : 1,
                                     .mapping_bytes = bytes};
    ledger_drop_device(app->ledger, gpu, bytes);
    bool told = ipc_tell(app, &packet); /* else it may be another one's by now */
    if (told && packet.mapping_bytes == 0) {
        ledger_give_device(app->ledger, gpu, bytes);
    }
}

void ipc_close(struct server_app *app, uint64_t opening)
{
    struct channel_request packet = {.verb = CHANNEL_CLOSE, .opening = opening};
    (void)ipc_tell(app, &packet);
}

CUresult server_do_ga_ipc_withdraw(struct server_app *app, const struct ga_ipc_withdraw_args *args)
{
    ipc_withdraw(app, CHANNEL_MEMORY, args->address, 1);
    return CUDA_SUCCESS;
}

/* Maps what the descriptor stands for. */
static CUresult ipc_import(struct server_app *app, const struct server_session *session,
                           const struct server_context *owner, int fd, uint64_t address,
                           const struct channel_request *opened)
{
    CUmemGenericAllocationHandle physical;
    if (session->handle_types == CU_MEM_HANDLE_TYPE_NONE) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    CUresult rc = app->driver->cuMemImportFromShareableHandle(
        &physical, (void *)(uintptr_t)fd, (CUmemAllocationHandleType)session->handle_types);
    if (rc != CUDA_SUCCESS) {
        return rc == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : rc;
    }
    rc = memory_place(app, session, owner, address, opened->mapping_bytes, physical,
                      opened->opening);
    if (rc != CUDA_SUCCESS) {
        (void)app->driver->cuMemRelease(physical);
    }
    return rc;
}

static CUresult memory_open(struct server_app *app, const struct server_session *session,
                            const struct server_context *owner, const struct ga_ipc_open_args *args)
{
    struct channel_request packet = {.verb = CHANNEL_OPEN, .what = CHANNEL_MEMORY};
    int fd = -1;
    memcpy(packet.key, args->key, sizeof packet.key);
    CUresult rc = ipc_ask(app, &packet, &fd);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (fd < 0 || packet.offset != args->offset || packet.bytes != args->bytes ||
        packet.mapping_bytes != args->mapping_bytes) {
        rc = CUDA_ERROR_INVALID_HANDLE; /* the handle says otherwise */
    } else {
        rc = ipc_import(app, session, owner, fd, args->address, &packet);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (rc != CUDA_SUCCESS) {
        ipc_close(app, packet.opening);
    }
    return rc;
}

CUresult server_do_ga_ipc_open(struct server_app *app, const struct ga_ipc_open_args *args)
{
    const struct server_session *session = app->call.session;
    bool current = app->current != NULL && app->current->session == session;
    return current ? memory_open(app, session, app->current, args) : CUDA_ERROR_INVALID_CONTEXT;
}

/* Opens a chunk of a pool, in no context. */
CUresult server_do_ga_pool_open(struct server_app *app, const struct ga_pool_open_args *args)
{
    struct ga_ipc_open_args open = {
        .address = args->address, .bytes = args->bytes, .mapping_bytes = args->bytes};
    memcpy(open.key, args->key, sizeof open.key);
    return memory_open(app, app->call.session, NULL, &open);
}

/* ---- events */

/* Describes the event for others to open: a descriptor, which becomes the caller's, or a handle. */
static CUresult event_describe(const struct cuda_driver *driver, CUevent event,
                               struct channel_request *packet, int *fd)
{
    const struct cuda_driver_traits *files = driver_event_files(driver);
    if (files != NULL) {
        packet->what = CHANNEL_EVENT_FILE;
        return files->event_export(event, fd);
    }
    CUipcEventHandle handle;
    packet->what = CHANNEL_EVENT;
    CU_TRY(driver->cuIpcGetEventHandle(&handle, event));
    memcpy(packet->event, &handle, sizeof packet->event);
    return CUDA_SUCCESS;
}

CUresult server_do_ga_ipc_share_event(struct server_app *app,
                                      const struct ga_ipc_share_event_args *args,
                                      struct ga_ipc_share_event_results *results)
{
    struct server_event *event = ga_handle_table_find(&app->objects.events, args->event);
    struct channel_request packet = {.verb = CHANNEL_SHARE, .address = args->event, .bytes = 1};
    int made = -1;
    if (event == NULL || !event->shared) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CU_TRY(event_describe(app->driver, event->ref->real, &packet, &made));
    int fd = made;
    CUresult rc = ipc_ask(app, &packet, &fd);
    if (fd >= 0 && fd != made) {
        close(fd);
    }
    if (made >= 0) {
        close(made);
    }
    if (rc == CUDA_SUCCESS) {
        event->exported = packet.what;
        memcpy(results->key, packet.key, sizeof results->key);
    }
    return rc;
}

static CUresult event_import(struct server_app *app, const struct channel_request *packet, int fd,
                             CUevent *real)
{
    const struct cuda_driver_traits *files = driver_event_files(app->driver);
    if (files != NULL) {
        void *event = NULL;
        CUresult rc = files->event_import(fd, &event);
        *real = event;
        return rc;
    }
    CUipcEventHandle handle;
    memcpy(&handle, packet->event, sizeof handle);
    return app->driver->cuIpcOpenEventHandle(real, handle);
}

CUresult server_do_ga_ipc_open_event(struct server_app *app,
                                     const struct ga_ipc_open_event_args *args)
{
    struct channel_request packet = {
        .verb = CHANNEL_OPEN,
        .what = driver_event_files(app->driver) != NULL ? CHANNEL_EVENT_FILE : CHANNEL_EVENT};
    CUevent real;
    int fd = -1;
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    memcpy(packet.key, args->key, sizeof packet.key);
    CUresult rc = ipc_ask(app, &packet, &fd);
    if (rc == CUDA_SUCCESS) {
        rc = event_import(app, &packet, fd, &real);
    }
    if (fd >= 0) {
        close(fd);
    }
    return rc == CUDA_SUCCESS ? event_adopt(app, args->event, real) : rc;
}
