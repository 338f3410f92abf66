/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: what is mapped in windows and pools, physical memory of the program and its mappings. The
 * addresses stay reserved. */
#include <stdlib.h>

#include "server/rebuild/rebuild_state.h"

static CUmemLocation location_of(const struct server_session *session)
{
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = session->real};
}

static CUresult access_set(struct rebuild *rebuild, const struct server_session *session,
                           uint64_t address, uint64_t bytes, CUmemAccess_flags flags)
{
    const CUmemAccessDesc access = {.location = location_of(session), .flags = flags};
    return rebuild->app->driver->cuMemSetAccess(address, bytes, &access, 1);
}

/* ---- contents */

/* Copies the contents of mapped memory, to or from the saved bytes; a context of its device is
 * current. */
typedef void contents_use(struct rebuild *rebuild, uint64_t address, uint64_t bytes,
                          struct saved *saved);

static void memory_contents_keep(struct rebuild *rebuild, uint64_t address, uint64_t bytes,
                                 struct saved *saved)
{
    void *room = malloc(bytes);
    CUresult rc = room != NULL && saved_put(saved, &room, sizeof room)
                      ? rebuild->app->driver->cuMemcpyDtoH_v2(room, address, bytes)
                      : CUDA_ERROR_OUT_OF_MEMORY;
    (void)rebuild_check(rebuild, rc, "contents of memory");
}

static void memory_contents_put(struct rebuild *rebuild, uint64_t address, uint64_t bytes,
                                struct saved *saved)
{
    void *room = NULL;
    CUresult rc = saved_take(saved, &room, sizeof room)
                      ? rebuild->app->driver->cuMemcpyHtoD_v2(address, room, bytes)
                      : CUDA_ERROR_INVALID_VALUE;
    free(room);
    (void)rebuild_check(rebuild, rc, "contents of memory");
}

static void contents_at(struct rebuild *rebuild, const struct server_session *session,
                        uint64_t address, uint64_t bytes, contents_use *use, struct saved *saved)
{
    bool retained;
    CUresult rc = rebuild_device_enter(rebuild, session, &retained);
    if (!rebuild_check(rebuild, rc, "a context for memory")) {
        return;
    }
    rc = access_set(rebuild, session, address, bytes, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (rebuild_check(rebuild, rc, "access to memory")) {
        use(rebuild, address, bytes, saved);
    }
    rebuild_device_leave(rebuild, session, retained);
}

static CUresult physical_make(struct rebuild *rebuild, const struct server_session *session,
                              uint64_t bytes, uint64_t *real)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .requestedHandleTypes =
                                          (CUmemAllocationHandleType)session->handle_types,
                                      .location = location_of(session)};
    CUmemGenericAllocationHandle made = 0;
    CUresult rc = rebuild->app->driver->cuMemCreate(&made, bytes, &prop, 0);
    *real = made;
    return rc;
}

/* ---- mappings */

/* The access rights of a mapping, of each device of the application. */
struct rights {
    unsigned long long flags[CONF_GPUS_MAX + 1];
};

static void rights_read(struct rebuild *rebuild, const struct range *range, struct rights *rights)
{
    struct server_app *app = rebuild->app;
    for (unsigned i = 1; i <= CONF_GPUS_MAX && app->sessions[i] != NULL; i++) {
        const CUmemLocation at = location_of(app->sessions[i]);
        CUresult rc = app->driver->cuMemGetAccess(&rights->flags[i], &at, range->base);
        (void)rebuild_check(rebuild, rc, "access rights");
    }
}

static void memory_rights_set(struct rebuild *rebuild, const struct range *range,
                              const struct rights *rights)
{
    struct server_app *app = rebuild->app;
    for (unsigned i = 1; i <= CONF_GPUS_MAX && app->sessions[i] != NULL; i++) {
        CUresult rc = access_set(rebuild, app->sessions[i], range->base, range->bytes,
                                 (CUmemAccess_flags)rights->flags[i]);
        (void)rebuild_check(rebuild, rc, "access rights");
    }
}

static void range_down(struct rebuild *rebuild, const struct range *range)
{
    struct server_app *app = rebuild->app;
    struct rights rights = {{0}};
    rights_read(rebuild, range, &rights);
    if (!saved_put(&rebuild->mappings, &rights, sizeof rights)) {
        (void)rebuild_check(rebuild, CUDA_ERROR_OUT_OF_MEMORY, "access rights");
    }
    if (range->of == NULL) {
        contents_at(rebuild, app->sessions[range->session], range->base, range->bytes,
                    memory_contents_keep, &rebuild->mappings);
    }
    (void)rebuild_check(rebuild, app->driver->cuMemUnmap(range->base, range->bytes), "a mapping");
    if (range->of == NULL) {
        (void)rebuild_check(rebuild, app->driver->cuMemRelease(range->physical), "memory");
    }
}

static void range_up(struct rebuild *rebuild, struct range *range)
{
    struct server_app *app = rebuild->app;
    const struct server_session *session = app->sessions[range->session];
    struct rights rights;
    CUresult rc = range->of != NULL
                      ? CUDA_SUCCESS
                      : physical_make(rebuild, session, range->bytes, &range->physical);
    if (rc == CUDA_SUCCESS) {
        uint64_t real = range->of != NULL ? range->of->real : range->physical;
        rc = app->driver->cuMemMap(range->base, range->bytes, 0, real, 0);
    }
    if (rc == CUDA_SUCCESS && !saved_take(&rebuild->mappings, &rights, sizeof rights)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (!rebuild_check(rebuild, rc, "memory")) {
        return;
    }
    if (range->of == NULL) {
        contents_at(rebuild, session, range->base, range->bytes, memory_contents_put,
                    &rebuild->mappings);
    }
    memory_rights_set(rebuild, range, &rights);
}

static void ranges_each(struct rebuild *rebuild, bool up)
{
    const struct range_table *ranges = &rebuild->app->ranges;
    for (size_t i = 0; i < ranges->count && rebuild->rc == CUDA_SUCCESS; i++) {
        if (ranges->items[i].mapped && up) {
            range_up(rebuild, &ranges->items[i]);
        } else if (ranges->items[i].mapped) {
            range_down(rebuild, &ranges->items[i]);
        }
    }
}

/* ---- physical memory of the program */

/* It may be mapped nowhere: its contents are reached at an address of their own. */
static void physical_contents(struct rebuild *rebuild, const struct server_physical *physical,
                              contents_use *use)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    const struct server_session *session = rebuild->app->sessions[physical->session];
    CUdeviceptr at = 0;
    CUresult rc = driver->cuMemAddressReserve(&at, physical->bytes, 0, 0, 0);
    if (!rebuild_check(rebuild, rc, "an address")) {
        return;
    }
    rc = driver->cuMemMap(at, physical->bytes, 0, physical->real, 0);
    if (rebuild_check(rebuild, rc, "a mapping")) {
        contents_at(rebuild, session, at, physical->bytes, use, &rebuild->physicals);
        (void)rebuild_check(rebuild, driver->cuMemUnmap(at, physical->bytes), "a mapping");
    }
    (void)driver->cuMemAddressFree(at, physical->bytes);
}

static void physicals_each(struct rebuild *rebuild, bool up)
{
    struct server_app *app = rebuild->app;
    uint32_t index = 0;
    uint64_t handle;
    struct server_physical *physical;
    while ((physical = ga_handle_table_next(&app->objects.physicals, &index, &handle)) != NULL &&
           rebuild->rc == CUDA_SUCCESS) {
        if (!up) {
            physical_contents(rebuild, physical, memory_contents_keep);
            (void)rebuild_check(rebuild, app->driver->cuMemRelease(physical->real), "memory");
            continue;
        }
        CUresult rc = physical_make(rebuild, app->sessions[physical->session], physical->bytes,
                                    &physical->real);
        if (rebuild_check(rebuild, rc, "memory")) {
            physical_contents(rebuild, physical, memory_contents_put);
        }
    }
}

void rebuild_memory_down(struct rebuild *rebuild)
{
    ranges_each(rebuild, false);
    physicals_each(rebuild, false);
}

void rebuild_memory_up(struct rebuild *rebuild)
{
    physicals_each(rebuild, true);
    ranges_each(rebuild, true);
}
