/* SPDX-License-Identifier: Apache-2.0 */
#include "server/objects/mapped_memory.h"

#include "server/app/app.h"
#include "server/objects/peers.h"
#include "server/objects/scrub.h"

static bool window_holds(const struct server_session *session, uint64_t address, uint64_t bytes)
{
    const struct handshake_window *window = &session->window;
    return bytes != 0 && address >= window->base && address - window->base < window->bytes &&
           bytes <= window->bytes - (address - window->base) &&
           address % session->granularity_bytes == 0 && bytes % session->granularity_bytes == 0;
}

static CUresult physical_map(struct server_app *app, const struct server_session *session,
                             uint64_t address, uint64_t bytes,
                             CUmemGenericAllocationHandle physical)
{
    const struct cuda_driver *driver = app->driver;
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = session->real},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult rc = driver->cuMemMap(address, bytes, 0, physical, 0);
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuMemSetAccess(address, bytes, &access, 1);
        if (rc != CUDA_SUCCESS) {
            (void)driver->cuMemUnmap(address, bytes);
        }
    }
    return rc;
}

void memory_answered(struct server_app *app, const struct server_session *session, uint64_t bytes,
                     CUresult rc)
{
    struct server_session *of = app->sessions[session->number];
    of->lacked_bytes = rc == CUDA_ERROR_OUT_OF_MEMORY ? bytes : 0;
    of->lacks_quota = false;
}

CUresult memory_charge(struct server_app *app, const struct server_session *session, uint64_t bytes)
{
    CUresult rc = ledger_charge_device(app->ledger, session->gpu, bytes);
    if (rc != CUDA_SUCCESS) {
        memory_answered(app, session, 0, CUDA_SUCCESS); /* who asks others must not */
        app->sessions[session->number]->lacks_quota = app->ledger->quota != NULL;
    }
    return rc;
}

bool memory_lacks(struct server_app *app, const struct server_session *session)
{
    size_t all = 0;
    uint64_t bytes = session->lacked_bytes;
    memory_answered(app, session, 0, CUDA_SUCCESS);
    return bytes != 0 && app->driver->cuDeviceTotalMem_v2(&all, session->real) == CUDA_SUCCESS &&
           bytes <= all;
}

CUresult memory_create(struct server_app *app, const struct server_session *session,
                       CUmemGenericAllocationHandle *physical, uint64_t bytes)
{
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = (CUmemAllocationHandleType)session->handle_types,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = session->real}};
    CU_TRY(memory_charge(app, session, bytes));
    CUresult rc = app->driver->cuMemCreate(physical, bytes, &prop, 0);
    memory_answered(app, session, bytes, rc);
    if (rc != CUDA_SUCCESS) {
        ledger_return_device(app->ledger, session->gpu, bytes);
    }
    return rc;
}

CUresult memory_make(struct server_app *app, const struct server_session *session,
                     const struct server_context *owner, uint64_t address, uint64_t bytes)
{
    if (!window_holds(session, address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUmemGenericAllocationHandle physical;
    struct range range = {.base = address,
                          .bytes = bytes,
                          .owner = owner,
                          .mapped = true,
                          .session = session->number};
    enum ga_status status = range_table_add(&app->ranges, &range);
    if (status != GA_OK) {
        return status == GA_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = memory_create(app, session, &physical, bytes);
    if (rc == CUDA_SUCCESS) {
        rc = physical_map(app, session, address, bytes, physical);
        if (rc == CUDA_SUCCESS) {
            rc = scrub_memory(app, session, owner, address, bytes);
            if (rc == CUDA_SUCCESS) {
                rc = peer_open(app, owner, address, bytes);
            }
            if (rc != CUDA_SUCCESS) {
                (void)app->driver->cuMemUnmap(address, bytes);
            }
        }
        if (rc != CUDA_SUCCESS) {
            (void)app->driver->cuMemRelease(physical);
            ledger_return_device(app->ledger, session->gpu, bytes);
        }
    }
    range_table_remove(&app->ranges, address);
    if (rc == CUDA_SUCCESS) {
        range.physical = physical;
        (void)!range_table_add(&app->ranges, &range); /* its place is free: it was there before */
    }
    return rc;
}

CUresult memory_place(struct server_app *app, const struct server_session *session,
                      const struct server_context *owner, uint64_t address, uint64_t bytes,
                      CUmemGenericAllocationHandle physical, uint64_t opening)
{
    const struct range range = {.base = address,
                                .bytes = bytes,
                                .owner = owner,
                                .mapped = true,
                                .opened = true,
                                .opening = opening,
                                .physical = physical,
                                .session = session->number};
    if (!window_holds(session, address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    enum ga_status status = range_table_add(&app->ranges, &range);
    if (status != GA_OK) {
        return status == GA_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = physical_map(app, session, address, bytes, physical);
    if (rc != CUDA_SUCCESS) {
        range_table_remove(&app->ranges, address);
    }
    return rc;
}
