/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: the calls by which the server maps physical memory at addresses that the client chose,
 * and what kernels and copies make of it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"

TestSuite(driver_memory, .init = open_driver, .timeout = 120);

static const CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static size_t granularity(void)
{
    size_t bytes = 0;

    CALL(driver.cuMemGetAllocationGranularity(&bytes, &property,
                                              CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    cr_assert(bytes > 0 && (bytes & (bytes - 1)) == 0, "granularity %zu", bytes);
    return bytes;
}

static void store_and_check(CUdeviceptr data, unsigned words, unsigned value)
{
    CUmodule module;
    CUfunction store = kernel(&module, "store");
    void *parameters[] = {&data, &value};
    unsigned *host = malloc(words * sizeof *host);

    CALL(driver.cuLaunchKernel(store, words / 64, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    CALL(driver.cuMemcpyDtoH_v2(host, data, words * sizeof *host));
    for (unsigned i = 0; i < words; i++)
        cr_assert_eq(host[i], value, "word %u is %u", i, host[i]);
    free(host);
    CALL(driver.cuModuleUnload(module));
}

Test(driver_memory, a_reservation_honours_the_hint)
{
    /* An address that is free here for certain: the kernel has just given it away. */
    const size_t bytes = 64 * granularity();
    char *hole = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(hole, MAP_FAILED);
    CUdeviceptr hint = ((CUdeviceptr)hole + bytes - 1) / bytes * bytes, got = 0;

    cr_assert_eq(munmap(hole, 2 * bytes), 0);
    CALL(driver.cuMemAddressReserve(&got, bytes, 0, hint, 0));
    cr_assert_eq(got, hint, "asked for %llx, got %llx", hint, got);
    CALL(driver.cuMemAddressFree(got, bytes));
}

Test(driver_memory, physical_memory_is_mapped_used_and_mapped_elsewhere)
{
    const size_t unit = granularity();
    CUdeviceptr range;
    CUmemGenericAllocationHandle handle;
    unsigned got = 0;

    CALL(driver.cuMemAddressReserve(&range, 4 * unit, 0, 0, 0));
    CALL(driver.cuMemCreate(&handle, unit, &property, 0));
    CALL(driver.cuMemMap(range + unit, unit, 0, handle, 0));
    CALL(driver.cuMemSetAccess(range + unit, unit, &access, 1));
    store_and_check(range + unit, 256, 77);
    /* Beyond what is mapped a copy is refused. */
    REQUIRE(driver.cuMemcpyDtoH_v2(&got, range, sizeof got), CUDA_ERROR_INVALID_VALUE);
    CALL(driver.cuMemUnmap(range + unit, unit));
    REQUIRE(driver.cuMemcpyDtoH_v2(&got, range + unit, sizeof got), CUDA_ERROR_INVALID_VALUE);
    /* The memory keeps what it holds. */
    CALL(driver.cuMemMap(range + 3 * unit, unit, 0, handle, 0));
    CALL(driver.cuMemSetAccess(range + 3 * unit, unit, &access, 1));
    CALL(driver.cuMemcpyDtoH_v2(&got, range + 3 * unit, sizeof got));
    cr_assert_eq(got, 77, "after mapping it elsewhere it is %u", got);
    CALL(driver.cuMemUnmap(range + 3 * unit, unit));
    CALL(driver.cuMemRelease(handle));
    CALL(driver.cuMemAddressFree(range, 4 * unit));
}

Test(driver_memory, neighbouring_mappings_are_one_range_to_copies)
{
    const size_t unit = granularity();
    CUdeviceptr range;
    CUmemGenericAllocationHandle handle[2];
    unsigned char *host = malloc(2 * unit);

    CALL(driver.cuMemAddressReserve(&range, 2 * unit, 0, 0, 0));
    for (unsigned i = 0; i < 2; i++) {
        CALL(driver.cuMemCreate(&handle[i], unit, &property, 0));
        CALL(driver.cuMemMap(range + i * unit, unit, 0, handle[i], 0));
        CALL(driver.cuMemSetAccess(range + i * unit, unit, &access, 1));
    }
    CALL(driver.cuMemsetD8_v2(range, 0xab, 2 * unit));
    CALL(driver.cuMemcpyDtoH_v2(host, range, 2 * unit));
    for (size_t i = 0; i < 2 * unit; i += 511)
        cr_assert_eq(host[i], 0xab, "byte %zu is %x", i, host[i]);
    free(host);
    for (unsigned i = 0; i < 2; i++) {
        CALL(driver.cuMemUnmap(range + i * unit, unit));
        CALL(driver.cuMemRelease(handle[i]));
    }
    CALL(driver.cuMemAddressFree(range, 2 * unit));
}

Test(driver_memory, released_memory_is_free_again)
{
    const size_t unit = granularity();
    CUmemGenericAllocationHandle handle;
    size_t before, during, after, total;

    CALL(driver.cuMemGetInfo_v2(&before, &total));
    CALL(driver.cuMemCreate(&handle, 16 * unit, &property, 0));
    CALL(driver.cuMemGetInfo_v2(&during, &total));
    CALL(driver.cuMemRelease(handle));
    CALL(driver.cuMemGetInfo_v2(&after, &total));
    cr_assert(during + 16 * unit <= before, "%zu bytes free, then %zu", before, during);
    cr_assert_geq(after, during + 16 * unit);
}

Test(driver_memory, more_than_there_is_is_refused_and_harms_nothing)
{
    size_t unit = granularity(), free_bytes, total;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr data;

    CALL(driver.cuMemGetInfo_v2(&free_bytes, &total));
    REQUIRE(driver.cuMemCreate(&handle, (total / unit + 1) * unit, &property, 0),
            CUDA_ERROR_OUT_OF_MEMORY);
    CALL(driver.cuMemAlloc_v2(&data, 4096));
    store_and_check(data, 1024, 5);
    CALL(driver.cuMemFree_v2(data));
}

Test(driver_memory, pinned_memory_is_known_as_such)
{
    void *host;
    unsigned type = 0;

    CALL(driver.cuMemHostAlloc(&host, 100000, CU_MEMHOSTALLOC_PORTABLE));
    memset(host, 1, 100000);
    CALL(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host));
    cr_assert_eq(type, CU_MEMORYTYPE_HOST);
    CALL(driver.cuMemFreeHost(host));
}
