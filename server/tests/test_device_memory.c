/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory of every kind is charged to the ledger while it is there: whichever call of the
 * driver fails on the way to it, and when the application may have no more. Where it may have been
 * another application's, all of it is zeroed first. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/calls/array.h"
#include "server/calls/memory.h"
#include "server/conn/conn.h"
#include "server/objects/mapped_memory.h"
#include "server/tests/fake_ledger.h"

#define BYTES (UINT64_C(4) << 20)
#define BASE  (UINT64_C(1) << 32)

/* ---- a driver whose call of this number fails */

static int calls_left = -1; /* -1: none fails */
static int held;            /* allocations of the driver */

static CUresult driver_call(int holds)
{
    if (calls_left == 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    calls_left -= calls_left > 0;
    held += holds;
    return CUDA_SUCCESS;
}

static CUresult fake_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                            const CUmemAllocationProp *prop, unsigned long long flags)
{
    (void)bytes;
    (void)prop;
    (void)flags;
    *handle = 1;
    return driver_call(1);
}

static CUresult fake_release(CUmemGenericAllocationHandle handle)
{
    (void)handle;
    held--;
    return CUDA_SUCCESS;
}

static CUresult fake_map(CUdeviceptr address, size_t bytes, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    (void)address;
    (void)bytes;
    (void)offset;
    (void)handle;
    (void)flags;
    return driver_call(0);
}

static CUresult fake_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                            size_t count)
{
    (void)address;
    (void)bytes;
    (void)access;
    (void)count;
    return driver_call(0);
}

static CUresult fake_unmap(CUdeviceptr address, size_t bytes)
{
    (void)address;
    (void)bytes;
    return CUDA_SUCCESS;
}

static CUresult fake_alloc(CUdeviceptr *address, size_t bytes)
{
    (void)bytes;
    *address = BASE;
    return driver_call(1);
}

static CUresult fake_free(CUdeviceptr address)
{
    (void)address;
    held--;
    return CUDA_SUCCESS;
}

static CUresult fake_array(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    (void)shape;
    *array = (CUarray)&held;
    return driver_call(1);
}

static CUresult fake_array_end(CUarray array)
{
    (void)array;
    held--;
    return CUDA_SUCCESS;
}

static CUresult fake_mipmap(CUmipmappedArray *mipmap, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                            unsigned levels)
{
    (void)shape;
    (void)levels;
    *mipmap = (CUmipmappedArray)&held;
    return driver_call(1);
}

static CUresult fake_mipmap_end(CUmipmappedArray mipmap)
{
    (void)mipmap;
    held--;
    return CUDA_SUCCESS;
}

/* ---- the driver's calls that zero it */

static uint64_t zeroed;

static CUresult fake_stream(CUstream *stream, unsigned flags)
{
    cr_assert_eq(flags, CU_STREAM_NON_BLOCKING);
    *stream = (CUstream)&held;
    return driver_call(1);
}

static CUresult fake_stream_wait(CUstream stream)
{
    (void)stream;
    return driver_call(0);
}

static CUresult fake_stream_end(CUstream stream)
{
    (void)stream;
    held--;
    return CUDA_SUCCESS;
}

static CUresult fake_memset(CUdeviceptr address, unsigned char value, size_t count, CUstream stream)
{
    (void)address;
    (void)stream;
    cr_assert_eq(value, 0);
    zeroed += count;
    return driver_call(0);
}

static CUresult fake_copy(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    (void)stream;
    cr_assert(copy->srcMemoryType == CU_MEMORYTYPE_HOST &&
              copy->dstMemoryType == CU_MEMORYTYPE_ARRAY);
    zeroed += copy->WidthInBytes * copy->Height * copy->Depth;
    return driver_call(0);
}

static CUresult fake_level(CUarray *array, CUmipmappedArray mipmap, unsigned level)
{
    (void)mipmap;
    (void)level;
    *array = (CUarray)&held;
    return driver_call(0);
}

static CUresult fake_reserve(CUdeviceptr *address, size_t bytes, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags)
{
    (void)bytes;
    (void)alignment;
    (void)wanted;
    (void)flags;
    *address = BASE;
    return driver_call(1);
}

static CUresult fake_reserve_end(CUdeviceptr address, size_t bytes)
{
    (void)address;
    (void)bytes;
    held--;
    return CUDA_SUCCESS;
}

static CUresult fake_retain(CUcontext *primary, CUdevice device)
{
    (void)device;
    *primary = (CUcontext)&held;
    return driver_call(1);
}

static CUresult fake_retain_end(CUdevice device)
{
    (void)device;
    held--;
    return CUDA_SUCCESS;
}

static CUresult fake_current(CUcontext real)
{
    (void)real;
    return CUDA_SUCCESS;
}

static CUresult fake_total(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = 4 * BYTES;
    return CUDA_SUCCESS;
}

static const struct cuda_driver driver = {.cuDeviceTotalMem_v2 = fake_total,
                                          .cuMemCreate = fake_create,
                                          .cuMemRelease = fake_release,
                                          .cuMemMap = fake_map,
                                          .cuMemSetAccess = fake_access,
                                          .cuMemUnmap = fake_unmap,
                                          .cuMemAlloc_v2 = fake_alloc,
                                          .cuMemFree_v2 = fake_free,
                                          .cuArray3DCreate_v2 = fake_array,
                                          .cuArrayDestroy = fake_array_end,
                                          .cuMipmappedArrayCreate = fake_mipmap,
                                          .cuMipmappedArrayDestroy = fake_mipmap_end,
                                          .cuStreamCreate = fake_stream,
                                          .cuStreamSynchronize = fake_stream_wait,
                                          .cuStreamDestroy_v2 = fake_stream_end,
                                          .cuMemsetD8Async = fake_memset,
                                          .cuMemcpy3DAsync_v2 = fake_copy,
                                          .cuMipmappedArrayGetLevel = fake_level,
                                          .cuMemAddressReserve = fake_reserve,
                                          .cuMemAddressFree = fake_reserve_end,
                                          .cuDevicePrimaryCtxRetain = fake_retain,
                                          .cuDevicePrimaryCtxRelease_v2 = fake_retain_end,
                                          .cuCtxSetCurrent = fake_current};

/* ---- the application */

static struct server_host host;
static struct server_conn *conn;
static struct server_session session;
static struct server_context context;
static const struct wire_header header = {.session = 1};

static void start(void)
{
    conn = calloc(1, sizeof *conn);
    conn->app = calloc(1, sizeof *conn->app);
    conn->app->carrier = &conn_carrier;
    conn->app->carried_by = conn;
    conn->app->driver = &driver;
    conn->app->host = &host;
    conn->app->ledger = &fake_ledger;
    objects_init(&conn->app->objects, &fake_ledger);
    completer_init(&conn->completer, conn);
    waiting_calls_init(&conn->waiting);
    pthread_mutex_init(&conn->job_lock, NULL);
    ga_list_init(&conn->jobs);
    conn->wake_fd = -1;
    session = (struct server_session){
        .number = 1, .agreed = true, .mappable = true, .granularity_bytes = 1u << 21};
    context = (struct server_context){.session = &session};
    ga_list_init(&context.arrays);
    conn->app->sessions[1] = conn->app->call.session = &session;
    conn->app->call.header = &header;
    conn->app->current = &context;
}

static void stop(void)
{
    ga_handle_table_fini(&conn->app->objects.arrays);
    ga_handle_table_fini(&conn->app->objects.mipmaps);
    ga_handle_table_fini(&conn->app->objects.physicals);
    range_table_fini(&conn->app->ranges);
    completer_fini(&conn->completer);
    waiting_calls_fini(&conn->waiting);
    free(conn->app);
    free(conn);
}

TestSuite(device_memory, .init = start, .fini = stop);

static uint64_t device_bytes(void)
{
    return fake_figure(FIGURE_DEVICE_BYTES);
}

/* Each call of the driver fails once, then the limit is too low, then all is well. `contents` of
 * the bytes are zeroed. */
static void check_once(CUresult (*make)(void), uint64_t bytes, uint64_t contents,
                       CUresult (*end)(void))
{
    int failed = 0;
    uint64_t most = fake_ledger.most[FIGURE_DEVICE_BYTES];
    for (calls_left = 0;; calls_left = ++failed) {
        zeroed = 0;
        CUresult rc = make();
        conn_run_jobs(conn); /* what was made in vain is gone */
        if (rc == CUDA_SUCCESS) {
            break;
        }
        cr_assert_eq(device_bytes(), 0, "call %d of the driver has failed", failed);
        cr_assert_eq(held, 0);
    }
    cr_assert_gt(failed, 0);
    cr_assert_eq(zeroed, host.scrubs ? contents : 0);
    calls_left = -1;
    cr_assert_eq(device_bytes(), bytes);
    cr_assert_eq(held, 1);
    cr_assert_eq(end(), CUDA_SUCCESS);
    cr_assert_eq(device_bytes(), 0);
    cr_assert_eq(held, 0);
    fake_ledger.most[FIGURE_DEVICE_BYTES] = bytes - 1;
    cr_assert_eq(make(), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert(device_bytes() == 0 && held == 0, "the driver is not asked");
    fake_ledger.most[FIGURE_DEVICE_BYTES] = bytes;
    cr_assert_eq(make(), CUDA_SUCCESS);
    cr_assert_eq(end(), CUDA_SUCCESS);
    cr_assert_eq(device_bytes(), 0);
    fake_ledger.most[FIGURE_DEVICE_BYTES] = most;
}

/* In a process of its own, and in one that others have used. */
static void check_part(CUresult (*make)(void), uint64_t bytes, uint64_t contents,
                       CUresult (*end)(void))
{
    check_once(make, bytes, contents, end);
    host.scrubs = true;
    check_once(make, bytes, contents, end);
    host.scrubs = false;
}

static void check(CUresult (*make)(void), uint64_t bytes, CUresult (*end)(void))
{
    check_part(make, bytes, bytes, end);
}

static CUresult end_range(void)
{
    return memory_free(conn->app, BASE);
}

static CUresult make_block(void)
{
    return memory_make(conn->app, &session, &context, BASE, BYTES);
}

Test(device_memory, blocks_of_the_window)
{
    session.window = (struct handshake_window){.base = BASE, .bytes = 16 * BYTES};
    check(make_block, BYTES, end_range);
}

static CUresult make_allocation(void)
{
    const struct ga_memory_allocate_args args = {.bytes = BYTES};
    struct ga_memory_allocate_results results;
    return server_do_ga_memory_allocate(conn->app, &args, &results);
}

Test(device_memory, allocations_without_a_window)
{
    check(make_allocation, BYTES, end_range);
}

static const uint64_t physical = (uint64_t)GA_HANDLE_PHYSICAL << 56 | UINT64_C(1) << 32 | 1;

static CUresult make_physical(void)
{
    const struct ga_physical_create_args args = {.physical = physical, .bytes = BYTES};
    return server_do_ga_physical_create(conn->app, &args);
}

static CUresult end_physical(void)
{
    const struct ga_physical_release_args args = {.physical = physical};
    return server_do_ga_physical_release(conn->app, &args);
}

Test(device_memory, allocations_without_an_address)
{
    check(make_physical, BYTES, end_physical);
}

static const uint64_t array_handle = (uint64_t)GA_HANDLE_ARRAY << 56 | UINT64_C(1) << 32 | 1;
static const uint64_t mipmap_handle = (uint64_t)GA_HANDLE_MIPMAP << 56 | UINT64_C(1) << 32 | 1;

static CUresult make_array(void)
{
    const struct ga_array_create_args args = {.array = array_handle,
                                              .width = 100,
                                              .height = 50,
                                              .format = CU_AD_FORMAT_HALF,
                                              .channels = 4};
    return server_do_ga_array_create(conn->app, &args);
}

static CUresult end_array(void)
{
    return array_free(conn->app, ga_handle_table_find(&conn->app->objects.arrays, array_handle));
}

Test(device_memory, arrays)
{
    check_part(make_array, 832 * 56, 100 * 50 * 2 * 4, end_array);
    cr_assert_eq(make_array(), CUDA_SUCCESS);
    const struct server_array *array =
        ga_handle_table_find(&conn->app->objects.arrays, array_handle);
    const CUDA_ARRAY3D_DESCRIPTOR *shape = &array->made_from.shape;
    cr_assert(shape->Width == 100 && shape->Height == 50 && shape->Depth == 0 &&
                  shape->Format == CU_AD_FORMAT_HALF && shape->NumChannels == 4 &&
                  array->made_from.levels == 0,
              "another one can be made from it");
    cr_assert_eq(end_array(), CUDA_SUCCESS);
}

static CUresult make_mipmap(void)
{
    const struct ga_mipmap_create_args args = {.mipmap = mipmap_handle,
                                               .width = 8,
                                               .height = 4,
                                               .format = CU_AD_FORMAT_FLOAT,
                                               .channels = 1,
                                               .levels = 4};
    return server_do_ga_mipmap_create(conn->app, &args);
}

static CUresult end_mipmap(void)
{
    return array_free(conn->app, ga_handle_table_find(&conn->app->objects.mipmaps, mipmap_handle));
}

Test(device_memory, mipmapped_arrays_with_all_levels)
{
    check_part(make_mipmap, 4 * 512, (8 * 4 + 4 * 2 + 2 + 1) * 4, end_mipmap);
    cr_assert_eq(make_mipmap(), CUDA_SUCCESS);
    const struct server_array *mipmap =
        ga_handle_table_find(&conn->app->objects.mipmaps, mipmap_handle);
    cr_assert(mipmap->made_from.shape.Width == 8 && mipmap->made_from.levels == 4);
    cr_assert_eq(end_mipmap(), CUDA_SUCCESS);
}

/* ---- what others may be asked to give back */

static CUresult make_large(uint64_t bytes)
{
    const struct ga_memory_allocate_args args = {.bytes = bytes};
    struct ga_memory_allocate_results results;
    return server_do_ga_memory_allocate(conn->app, &args, &results);
}

static void expect_lack(CUresult (*make)(void), CUresult (*end)(void))
{
    cr_assert_not(memory_lacks(conn->app, &session), "nothing has been refused");
    calls_left = 0;
    cr_assert_eq(make(), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert(memory_lacks(conn->app, &session));
    cr_assert_not(memory_lacks(conn->app, &session), "one refusal, one lack");
    cr_assert_eq(make(), CUDA_ERROR_OUT_OF_MEMORY);
    calls_left = -1;
    cr_assert_eq(make(), CUDA_SUCCESS);
    cr_assert_not(memory_lacks(conn->app, &session), "it has got it meanwhile");
    cr_assert_eq(end(), CUDA_SUCCESS);
}

Test(device_memory, it_lacks_what_the_driver_has_refused)
{
    expect_lack(make_allocation, end_range);
    expect_lack(make_array, end_array);
    expect_lack(make_mipmap, end_mipmap);
    expect_lack(make_physical, end_physical);
    session.window = (struct handshake_window){.base = BASE, .bytes = 16 * BYTES};
    expect_lack(make_block, end_range);
}

Test(device_memory, it_does_not_lack_what_no_one_could_give)
{
    calls_left = 0;
    cr_assert_eq(make_large(4 * BYTES), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert(memory_lacks(conn->app, &session));
    cr_assert_eq(make_large(4 * BYTES + 1), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_not(memory_lacks(conn->app, &session), "the device is smaller");
    fake_ledger.most[FIGURE_DEVICE_BYTES] = BYTES - 1;
    cr_assert_eq(make_allocation(), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_not(memory_lacks(conn->app, &session), "it is its own limit");
}
