/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and arrays are zeroed to the last byte, each once, where another application may have had
 * them; and nothing is done where it has not. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/app.h"
#include "server/objects/scrub.h"
#include "server/tests/fake_context.h"

#define COPIES 64u

static struct server_host host = {.scrubs = true};
static struct server_session session;
static struct server_app *app;
static unsigned streams, syncs, copies, sets, mapped, retained;
static CUDA_MEMCPY3D copied[COPIES];
static CUdeviceptr set_at;
static size_t set_bytes;

static CUresult stream_create(CUstream *stream, unsigned flags)
{
    cr_assert_eq(flags, CU_STREAM_NON_BLOCKING, "it waits for no other work");
    *stream = NULL;
    streams++;
    return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream)
{
    (void)stream;
    streams--;
    return CUDA_SUCCESS;
}

static CUresult stream_synchronize(CUstream stream)
{
    (void)stream;
    syncs++;
    return CUDA_SUCCESS;
}

static CUresult memset_async(CUdeviceptr at, unsigned char value, size_t bytes, CUstream stream)
{
    (void)stream;
    cr_assert_eq(value, 0);
    set_at = at;
    set_bytes = bytes;
    sets++;
    return CUDA_SUCCESS;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    (void)stream;
    cr_assert_lt(copies, COPIES);
    const char *zeros = copy->srcHost;
    for (size_t i = 0; i < copy->Height * copy->WidthInBytes; i++) {
        cr_assert_eq(zeros[i], 0);
    }
    copied[copies++] = *copy;
    return CUDA_SUCCESS;
}

static CUresult level_of(CUarray *array, CUmipmappedArray mipmap, unsigned level)
{
    (void)mipmap;
    *array = (CUarray)(uintptr_t)(100 + level);
    return CUDA_SUCCESS;
}

static CUresult primary_retain(CUcontext *context, CUdevice device)
{
    (void)device;
    *context = NULL;
    retained++;
    return CUDA_SUCCESS;
}

static CUresult primary_release(CUdevice device)
{
    (void)device;
    retained--;
    return CUDA_SUCCESS;
}

static CUresult address_reserve(CUdeviceptr *at, size_t bytes, size_t alignment, CUdeviceptr wanted,
                                unsigned long long flags)
{
    (void)bytes, (void)alignment, (void)wanted, (void)flags;
    *at = 0x7000;
    mapped++;
    return CUDA_SUCCESS;
}

static CUresult address_free(CUdeviceptr at, size_t bytes)
{
    cr_assert_eq(at, 0x7000);
    cr_assert_eq(bytes, 4096);
    mapped--;
    return CUDA_SUCCESS;
}

static CUresult memory_map(CUdeviceptr at, size_t bytes, size_t offset,
                           CUmemGenericAllocationHandle physical, unsigned long long flags)
{
    (void)flags;
    cr_assert(at == 0x7000 && bytes == 4096 && offset == 0 && physical == 55);
    mapped++;
    return CUDA_SUCCESS;
}

static CUresult memory_unmap(CUdeviceptr at, size_t bytes)
{
    cr_assert(at == 0x7000 && bytes == 4096);
    mapped--;
    return CUDA_SUCCESS;
}

static CUresult set_access(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *access,
                           size_t count)
{
    cr_assert(at == 0x7000 && bytes == 4096 && count == 1);
    cr_assert_eq(access->flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return CUDA_SUCCESS;
}

static const struct cuda_driver driver = {.cuDevicePrimaryCtxRetain = primary_retain,
                                          .cuDevicePrimaryCtxRelease_v2 = primary_release,
                                          .cuCtxSetCurrent = fake_set,
                                          .cuCtxGetCurrent = fake_get,
                                          .cuStreamCreate = stream_create,
                                          .cuStreamDestroy_v2 = stream_destroy,
                                          .cuStreamSynchronize = stream_synchronize,
                                          .cuMemsetD8Async = memset_async,
                                          .cuMemcpy3DAsync_v2 = copy_3d,
                                          .cuMipmappedArrayGetLevel = level_of,
                                          .cuMemAddressReserve = address_reserve,
                                          .cuMemAddressFree = address_free,
                                          .cuMemMap = memory_map,
                                          .cuMemUnmap = memory_unmap,
                                          .cuMemSetAccess = set_access};

static void start(void)
{
    app = calloc(1, sizeof *app);
    app->driver = &driver;
    app->host = &host;
}

static void stop(void)
{
    cr_assert_eq(streams, 0);
    cr_assert_eq(retained, 0);
    cr_assert_eq(mapped, 0);
    free(app);
}

TestSuite(scrub, .init = start, .fini = stop);

Test(scrub, memory_is_set_to_zero_and_waited_for)
{
    cr_assert_eq(scrub_memory(app, &session, NULL, 0x5000, 300), CUDA_SUCCESS);
    cr_assert_eq(set_at, 0x5000);
    cr_assert_eq(set_bytes, 300);
    cr_assert(sets == 1 && syncs == 1);
    cr_assert_eq(scrub_physical(app, &session, 55, 4096), CUDA_SUCCESS);
    cr_assert_eq(set_at, 0x7000);
    cr_assert_eq(set_bytes, 4096);
    cr_assert(sets == 2 && syncs == 2);
}

Test(scrub, where_nobody_had_it_before_nothing_is_done)
{
    const struct server_array array = {.made_from.shape = {.Width = 8}};
    host.scrubs = false;
    cr_assert_eq(scrub_memory(app, &session, NULL, 0x5000, 300), CUDA_SUCCESS);
    cr_assert_eq(scrub_physical(app, &session, 55, 4096), CUDA_SUCCESS);
    cr_assert_eq(scrub_array(app, &array, 4), CUDA_SUCCESS);
    cr_assert_eq(sets + copies + syncs, 0);
}

Test(scrub, an_array_is_zeroed_slice_by_slice)
{
    const struct server_array array = {.array = (CUarray)(uintptr_t)9,
                                       .made_from.shape = {.Width = 100, .Height = 7, .Depth = 3}};
    cr_assert_eq(scrub_array(app, &array, 4), CUDA_SUCCESS);
    cr_assert_eq(copies, 3);
    cr_assert_eq(syncs, 1);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(copied[i].dstArray, array.array);
        cr_assert_eq(copied[i].dstMemoryType, CU_MEMORYTYPE_ARRAY);
        cr_assert_eq(copied[i].srcMemoryType, CU_MEMORYTYPE_HOST);
        cr_assert(copied[i].dstZ == i && copied[i].dstY == 0 && copied[i].dstXInBytes == 0);
        cr_assert(copied[i].WidthInBytes == 400 && copied[i].Height == 7 && copied[i].Depth == 1);
        cr_assert_eq(copied[i].srcPitch, 400);
    }
}

Test(scrub, of_one_row_there_is_one)
{
    const struct server_array array = {.made_from.shape = {.Width = 100}};
    cr_assert_eq(scrub_array(app, &array, 2), CUDA_SUCCESS);
    cr_assert_eq(copies, 1);
    cr_assert(copied[0].WidthInBytes == 200 && copied[0].Height == 1);
}

Test(scrub, of_many_rows_as_many_at_once_as_4_mib_are)
{
    const struct server_array array = {.made_from.shape = {.Width = 1 << 18, .Height = 9}};
    cr_assert_eq(scrub_array(app, &array, 4), CUDA_SUCCESS); /* a MiB each */
    cr_assert_eq(copies, 3);
    cr_assert(copied[0].dstY == 0 && copied[0].Height == 4);
    cr_assert(copied[1].dstY == 4 && copied[1].Height == 4);
    cr_assert(copied[2].dstY == 8 && copied[2].Height == 1);
}

Test(scrub, a_row_that_is_larger_is_one_piece)
{
    const struct server_array array = {.made_from.shape = {.Width = 3 << 19, .Height = 2}};
    cr_assert_eq(scrub_array(app, &array, 4), CUDA_SUCCESS);
    cr_assert_eq(copies, 2);
    cr_assert(copied[0].Height == 1 && copied[1].dstY == 1 && copied[1].Height == 1);
}

static void assert_level(unsigned at, unsigned level, size_t width, size_t height, size_t z)
{
    cr_assert_eq(copied[at].dstArray, (CUarray)(uintptr_t)(100 + level), "%u", at);
    cr_assert_eq(copied[at].WidthInBytes, width, "%u", at);
    cr_assert_eq(copied[at].Height, height, "%u", at);
    cr_assert_eq(copied[at].dstZ, z, "%u", at);
}

Test(scrub, all_levels_of_a_mipmapped_array_are)
{
    struct server_array array = {
        .mipmap = (CUmipmappedArray)(uintptr_t)9,
        .made_from = {.shape = {.Width = 8, .Height = 2, .Depth = 4}, .levels = 4}};
    cr_assert_eq(scrub_array(app, &array, 4), CUDA_SUCCESS);
    cr_assert_eq(copies, 4 + 2 + 1 + 1);
    for (unsigned z = 0; z < 4; z++) {
        assert_level(z, 0, 32, 2, z);
    }
    assert_level(4, 1, 16, 1, 0);
    assert_level(5, 1, 16, 1, 1);
    assert_level(6, 2, 8, 1, 0);
    assert_level(7, 3, 4, 1, 0);
}

Test(scrub, layers_stay_as_many_on_each_level)
{
    struct server_array array = {
        .mipmap = (CUmipmappedArray)(uintptr_t)9,
        .made_from = {.shape = {.Width = 4, .Depth = 3, .Flags = CUDA_ARRAY3D_LAYERED},
                      .levels = 2}};
    cr_assert_eq(scrub_array(app, &array, 1), CUDA_SUCCESS);
    cr_assert_eq(copies, 6);
    for (unsigned z = 0; z < 3; z++) {
        assert_level(z, 0, 4, 1, z);
        assert_level(3 + z, 1, 2, 1, z);
    }
    copies = 0;
    array.made_from.shape.Flags = CUDA_ARRAY3D_CUBEMAP;
    cr_assert_eq(scrub_array(app, &array, 1), CUDA_SUCCESS);
    cr_assert_eq(copies, 6);
}
