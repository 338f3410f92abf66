/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management of the program: physical memory by handle, and its mappings at
 * addresses that lie outside of every session's window.
 *
 * What a reader would get wrong: devices do not own these addresses. Memory of any device of the
 * node may be mapped in a reservation, as CUDA has it. */
#include "server/calls/physical.h"

#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/calls/ipc.h"
#include "server/conn/conn.h"
#include "server/objects/mapped_memory.h"
#include "server/objects/scrub.h"

#define SPACE_MAX (UINT64_C(1) << 46) /* more than any GPU has, less than all addresses */

/* ---- memory */

CUresult physical_put(struct server_app *app, const struct server_session *session, uint64_t handle,
                      uint64_t bytes, struct server_physical **out)
{
    struct server_physical *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (struct server_physical){.handle = handle, .session = session->number, .bytes = bytes};
    enum ga_status status = ga_handle_table_take(&app->objects.physicals, handle, made);
    if (status != GA_OK) {
        free(made);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = made;
    return CUDA_SUCCESS;
}

void physical_drop(struct server_app *app, struct server_physical *physical)
{
    ga_handle_table_remove(&app->objects.physicals, physical->handle);
    free(physical);
}

CUresult server_do_ga_physical_create(struct server_app *app,
                                      const struct ga_physical_create_args *args)
{
    const struct server_session *session = app->call.session;
    struct server_physical *made;
    CUmemGenericAllocationHandle real;
    if (!session->mappable) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    CU_TRY(physical_put(app, session, args->physical, args->bytes, &made));
    CUresult rc = memory_create(app, session, &real, args->bytes);
    if (rc == CUDA_SUCCESS) {
        rc = scrub_physical(app, session, real, args->bytes);
        if (rc != CUDA_SUCCESS) {
            (void)app->driver->cuMemRelease(real);
            ledger_return_device(app->ledger, session->gpu, args->bytes);
        }
    }
    if (rc != CUDA_SUCCESS) {
        physical_drop(app, made);
        return rc;
    }
    made->real = real;
    return CUDA_SUCCESS;
}

CUresult server_do_ga_physical_release(struct server_app *app,
                                       const struct ga_physical_release_args *args)
{
    struct server_physical *physical =
        ga_handle_table_find(&app->objects.physicals, args->physical);
    if (physical == NULL || physical->mappings != 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return physical_free(app, physical);
}

CUresult physical_free(struct server_app *app, struct server_physical *physical)
{
    uint32_t gpu = app->sessions[physical->session]->gpu;
    if (physical->opened && physical->shared) {
        ipc_withdraw(app, CHANNEL_PHYSICAL, physical->handle, 1);
    }
    CUresult rc = app->driver->cuMemRelease(physical->real);
    if (physical->opened) {
        ipc_close(app, physical->opening);
    } else if (physical->shared) {
        ipc_return(app, CHANNEL_PHYSICAL, physical->handle, gpu, physical->bytes);
    } else {
        ledger_return_device(app->ledger, gpu, physical->bytes);
    }
    physical_drop(app, physical);
    return rc;
}

/* ---- reservations */

CUresult space_free(struct server_app *app, uint64_t space, uint64_t bytes)
{
    range_table_remove(&app->reserved, space);
    return app->driver->cuMemAddressFree(space, bytes);
}

/* Exactly these addresses: the program has reserved them, too. */
static CUresult reserve(struct server_app *app, uint64_t space, uint64_t bytes, bool *fresh)
{
    const struct range *known = range_table_at(&app->reserved, space);
    const struct range made = {.base = space, .bytes = bytes};
    CUdeviceptr got;
    *fresh = known == NULL || known->bytes != bytes;
    if (!*fresh) {
        return CUDA_SUCCESS;
    }
    if (bytes > SPACE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    enum ga_status status = range_table_add(&app->reserved, &made);
    if (status != GA_OK) {
        return status == GA_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = app->driver->cuMemAddressReserve(&got, bytes, 0, space, 0);
    if (rc == CUDA_SUCCESS && got != space) {
        (void)app->driver->cuMemAddressFree(got, bytes);
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc != CUDA_SUCCESS) {
        range_table_remove(&app->reserved, space);
    }
    return rc;
}

CUresult server_do_ga_space_release(struct server_app *app,
                                    const struct ga_space_release_args *args)
{
    const struct range *known = range_table_at(&app->reserved, args->space);
    bool unused = known != NULL && known->bytes == args->space_bytes &&
                  !range_table_touches(&app->ranges, args->space, args->space_bytes);
    return unused ? space_free(app, args->space, args->space_bytes) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- mappings */

static CUresult map_reserved(struct server_app *app, const struct range *range)
{
    enum ga_status status = range_table_add(&app->ranges, range);
    if (status != GA_OK) {
        return status == GA_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = app->driver->cuMemMap(range->base, range->bytes, 0, range->of->real, 0);
    if (rc != CUDA_SUCCESS) {
        range_table_remove(&app->ranges, range->base);
    } else {
        range->of->mappings++;
    }
    return rc;
}

CUresult server_do_ga_physical_map(struct server_app *app, const struct ga_physical_map_args *args)
{
    const struct range range = {.base = args->address,
                                .bytes = args->bytes,
                                .mapped = true,
                                .of = ga_handle_table_find(&app->objects.physicals, args->physical),
                                .session = app->call.header->session};
    uint64_t offset = args->address - args->space;
    bool fresh;
    if (range.of == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (args->bytes == 0 || args->bytes > range.of->bytes || offset >= args->space_bytes ||
        args->bytes > args->space_bytes - offset) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(reserve(app, args->space, args->space_bytes, &fresh));
    CUresult rc = map_reserved(app, &range);
    if (rc != CUDA_SUCCESS && fresh) {
        (void)space_free(app, args->space, args->space_bytes);
    }
    return rc;
}

CUresult physical_unmap(struct server_app *app, uint64_t address)
{
    const struct range range = *range_table_at(&app->ranges, address);
    CU_TRY(app->driver->cuMemUnmap(range.base, range.bytes));
    range.of->mappings--;
    range_table_remove(&app->ranges, address);
    return CUDA_SUCCESS;
}

/* Each by itself: one that fails stays, and so do those behind it. */
CUresult server_do_ga_physical_unmap(struct server_app *app,
                                     const struct ga_physical_unmap_args *args)
{
    uint64_t address = args->address, end = address + args->bytes;
    if (args->bytes == 0 || !range_table_whole(&app->ranges, address, args->bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (uint64_t at = address; at != end; at += range_table_at(&app->ranges, at)->bytes) {
        if (range_table_at(&app->ranges, at)->of == NULL) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    conn_flush(conn_of(app));
    while (address != end) {
        uint64_t bytes = range_table_at(&app->ranges, address)->bytes;
        CU_TRY(physical_unmap(app, address));
        address += bytes;
    }
    return CUDA_SUCCESS;
}
