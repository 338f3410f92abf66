/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: mapped where the client's allocator wants it, unmapped when its work is done. */
#include "server/calls/memory.h"

#include <stdlib.h>

#include "api/calls.h"
#include "api/extent.h"
#include "api/server_dispatch.h"
#include "base/clock.h"
#include "server/app/carrier.h"
#include "server/calls/ipc.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/lent.h"
#include "server/objects/contexts.h"
#include "server/objects/mapped_memory.h"
#include "server/objects/scrub.h"

#define RECALL_LOOK_NS GA_NS_PER_MS

/* ---- mapping */

CUresult server_do_ga_memory_map(struct server_app *app, const struct ga_memory_map_args *args)
{
    return app->current != NULL
               ? memory_make(app, app->call.session, app->current, args->address, args->bytes)
               : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- where there is no window: the driver chooses addresses, and may wait when they are freed */

static CUresult address_free(const struct cuda_driver *driver, uint64_t address)
{
    return driver->cuMemFree_v2(address);
}

static void address_gone(struct server_app *app, struct completer_entry *entry)
{
    ledger_return_device(app->ledger, (uint32_t)entry->job_values[0], entry->job_values[1]);
}

/* The entry of the job that comes when the memory has been freed. NULL: no memory. */
static struct completer_entry *freeing(struct server_app *app, const struct range *range,
                                       const struct wire_header *header)
{
    struct completer_entry *entry = completer_entry_make(&conn_of(app)->completer, COMPLETER_JOB,
                                                         header->session, header->sequence);
    if (entry == NULL) {
        server_fail(app, "no memory for a call that may wait");
        return NULL;
    }
    entry->waits = (struct waiting_call){.make = address_free, .object = range->base};
    entry->job = address_gone;
    entry->job_values[0] = app->sessions[range->session]->gpu;
    entry->job_values[1] = api_extent(range->bytes);
    return entry;
}

/* Gives back memory that the current call has allocated in vain. */
static void memory_unmake(struct server_app *app, struct server_context *context,
                          const struct range *range)
{
    struct completer_entry *entry = freeing(app, range, app->call.header);
    if (entry != NULL) {
        waiting_call_make(app, context, entry);
    }
}

static CUresult memory_allocate(struct server_app *app, const struct server_session *session,
                                uint64_t bytes, uint64_t *address)
{
    CUdeviceptr got = 0;
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (session->window.bytes != 0 || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t extent = api_extent(bytes);
    CU_TRY(memory_charge(app, session, extent));
    CUresult rc = app->driver->cuMemAlloc_v2(&got, bytes);
    memory_answered(app, session, bytes, rc);
    if (rc != CUDA_SUCCESS) {
        ledger_return_device(app->ledger, session->gpu, extent);
        return rc;
    }
    const struct range range = {.base = got,
                                .bytes = bytes,
                                .owner = app->current,
                                .mapped = true,
                                .allocated = true,
                                .session = session->number};
    rc = scrub_memory(app, session, app->current, got, bytes);
    if (rc == CUDA_SUCCESS && range_table_add(&app->ranges, &range) != GA_OK) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc != CUDA_SUCCESS) {
        memory_unmake(app, app->current, &range);
        return rc;
    }
    *address = got;
    return CUDA_SUCCESS;
}

CUresult server_do_ga_memory_allocate(struct server_app *app,
                                      const struct ga_memory_allocate_args *args,
                                      struct ga_memory_allocate_results *results)
{
    return memory_allocate(app, app->call.session, args->bytes, &results->address);
}

/* ---- unmapping */

CUresult memory_free(struct server_app *app, uint64_t base)
{
    const struct cuda_driver *driver = app->driver;
    const struct range *found = range_table_at(&app->ranges, base);
    if (found == NULL || !found->mapped) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct range range = *found;
    range_table_remove(&app->ranges, base);
    app->carrier->flush(app);
    CUresult rc;
    if (range.allocated) {
        rc = driver->cuMemFree_v2(range.base);
    } else {
        rc = driver->cuMemUnmap(range.base, range.bytes);
        CUresult release = driver->cuMemRelease(range.physical);
        rc = rc != CUDA_SUCCESS ? rc : release;
    }
    uint32_t gpu = app->sessions[range.session]->gpu;
    if (range.opened) {
        ipc_close(app, range.opening);
    } else if (range.shared) {
        ipc_return(app, CHANNEL_MEMORY, range.base, gpu, range.bytes);
    } else {
        ledger_return_device(app->ledger, gpu,
                             range.allocated ? api_extent(range.bytes) : range.bytes);
    }
    return rc;
}

static CUresult unmap_check(const struct server_app *app, uint64_t address, uint64_t bytes)
{
    const struct range *range = bytes != 0 ? range_table_at(&app->ranges, address) : NULL;
    bool good = bytes == 0 ||
                (range != NULL && range->mapped && range->of == NULL && range->bytes == bytes);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void address_freed(struct server_app *app, struct completer_entry *entry)
{
    const struct wire_header header = {.session = entry->session, .sequence = entry->sequence};
    address_gone(app, entry);
    server_reply(app, &header, entry->rc);
}

/* For what is mapped in a window the driver does not wait. */
static CUresult unmap(struct server_app *app, const struct wire_header *header, uint64_t address,
                      uint64_t bytes)
{
    CU_TRY(unmap_check(app, address, bytes));
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    const struct range *range = range_table_at(&app->ranges, address);
    if (!range->allocated) {
        return memory_free(app, address);
    }
    struct completer_entry *entry = freeing(app, range, header);
    if (entry != NULL) {
        entry->job = address_freed;
        struct server_context *owner = (struct server_context *)(uintptr_t)range->owner;
        range_table_remove(&app->ranges, address);
        waiting_call_make(app, owner, entry);
    }
    return SERVER_ANSWERED;
}

static void unmap_later(struct server_app *app, struct completer_entry *entry)
{
    const struct wire_header header = {.session = entry->session, .sequence = entry->sequence};
    CUresult rc = entry->rc;
    if (rc == CUDA_SUCCESS) {
        rc = unmap(app, &header, entry->job_values[0], entry->job_values[1]);
    }
    if (rc != SERVER_ANSWERED) {
        server_reply(app, &header, rc);
    }
}

static CUresult unmap_after_work(struct server_app *app, const struct ga_memory_unmap_args *args)
{
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    struct completer_entry *entry =
        server_entry_make(app, args->bytes != 0 ? COMPLETER_JOB : COMPLETER_REPLY);
    CUresult rc = entry != NULL
                      ? context_mark_users(app, app->current,
                                           args->wait_for_work == API_WAIT_FOR_ALL, &entry->marks)
                      : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn_of(app)->completer, entry);
        return rc;
    }
    entry->job = unmap_later;
    entry->job_values[0] = args->address;
    entry->job_values[1] = args->bytes;
    completer_add(&conn_of(app)->completer, entry);
    return SERVER_ANSWERED;
}

CUresult server_do_ga_memory_unmap(struct server_app *app, const struct ga_memory_unmap_args *args)
{
    CU_TRY(unmap_check(app, args->address, args->bytes));
    return args->wait_for_work != 0 ? unmap_after_work(app, args)
                                    : unmap(app, app->call.header, args->address, args->bytes);
}

/* ---- what others keep */

CUresult server_do_ga_memory_reclaim(struct server_app *app,
                                     const struct ga_memory_reclaim_args *args,
                                     struct ga_memory_reclaim_results *results)
{
    const struct server_session *session = app->call.session;
    struct channel_request packet = {.verb = CHANNEL_TRIM, .address = session->ordinal};
    int fd = -1;
    packet.what = session->lacks_quota ? CHANNEL_TRIM_TENANT : CHANNEL_TRIM_ALL;
    if (args->start != 0) {
        packet.bytes = session->lacks_quota || memory_lacks(app, session);
        if (packet.bytes == 0) {
            return CUDA_SUCCESS; /* it lacks nothing that others could give back */
        }
    }
    CUresult rc = ipc_ask(app, &packet, &fd);
    results->pending = rc == CUDA_SUCCESS && packet.bytes != 0;
    return rc;
}

bool memory_recall(struct server_app *app, const struct server_session *session)
{
    bool asked = false;
    for (uint64_t start = 1; !atomic_load(&conn_of(app)->ended); start = 0) {
        struct channel_request packet = {.verb = CHANNEL_TRIM,
                                         .what = CHANNEL_TRIM_TENANT,
                                         .address = session->ordinal,
                                         .bytes = start};
        int fd = -1;
        if (ipc_ask(app, &packet, &fd) != CUDA_SUCCESS || packet.bytes == 0) {
            break; /* after 2 s gpuaasd waits for nobody any more */
        }
        asked = true;
        conn_pause(conn_of(app), RECALL_LOOK_NS);
    }
    return asked;
}

CUresult server_do_ga_memory_trimmed(struct server_app *app)
{
    struct channel_request packet = {.verb = CHANNEL_TRIMMED};
    int fd = -1;
    (void)ipc_ask(app, &packet, &fd); /* what is asked for again is no error */
    return CUDA_SUCCESS;
}

CUresult server_do_ga_memory_info(struct server_app *app, struct ga_memory_info_results *results)
{
    const struct server_session *session = app->current != NULL ? app->current->session : NULL;
    CU_TRY(app->driver->cuMemGetInfo_v2(&results->free_bytes, &results->total_bytes));
    if (session != NULL && app->ledger->quota != NULL) {
        uint64_t room;
        CU_TRY(ledger_room(app->ledger, session->gpu, &room));
        results->free_bytes = room < results->free_bytes ? room : results->free_bytes;
        results->total_bytes = lent_shown(&app->ledger->quota->shown, results->total_bytes);
        if (results->free_bytes > results->total_bytes) { /* its limit has been raised since */
            results->free_bytes = results->total_bytes;
        }
    }
    return CUDA_SUCCESS;
}
