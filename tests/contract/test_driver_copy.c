/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills: rectangles, widths, and when the caller's memory may be used again. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

TestSuite(driver_copy, .init = open_driver, .timeout = 120);

Test(driver_copy, rectangles_keep_what_is_beside_them)
{
    enum { WIDTH = 37, HEIGHT = 11, ROW = 64 };
    unsigned char from[HEIGHT * ROW], to[HEIGHT * ROW];
    CUdeviceptr data;
    size_t pitch = 0;

    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7);
    CALL(driver.cuMemAllocPitch_v2(&data, &pitch, ROW, HEIGHT, 4));
    cr_assert_geq(pitch, ROW);
    CALL(driver.cuMemsetD2D8_v2(data, pitch, 0xee, ROW, HEIGHT));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = from,
                          .srcPitch = ROW,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = data,
                          .dstPitch = pitch,
                          .dstXInBytes = 3,
                          .dstY = 1,
                          .WidthInBytes = WIDTH,
                          .Height = HEIGHT - 2};
    CALL(driver.cuMemcpy2D_v2(&copy));
    CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = data,
                          .srcPitch = pitch,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = to,
                          .dstPitch = ROW,
                          .WidthInBytes = ROW,
                          .Height = HEIGHT};
    CALL(driver.cuMemcpy2DUnaligned_v2(&back));
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < ROW; x++) {
            bool inside = y >= 1 && y < HEIGHT - 1 && x >= 3 && x < 3 + WIDTH;
            int due = inside ? from[(y - 1) * ROW + x - 3] : 0xee;
            cr_assert_eq(to[y * ROW + x], due, "(%d, %d) is %d", x, y, to[y * ROW + x]);
        }
    }
}

Test(driver_copy, fills_of_all_widths)
{
    CUdeviceptr data;
    uint8_t got[64];

    CALL(driver.cuMemAlloc_v2(&data, sizeof got));
    CALL(driver.cuMemsetD8_v2(data, 1, 64));
    CALL(driver.cuMemsetD16_v2(data + 8, 0x0203, 4));
    CALL(driver.cuMemsetD32_v2(data + 32, 0x04050607, 4));
    CALL(driver.cuMemcpyDtoH_v2(got, data, sizeof got));
    for (int i = 0; i < 64; i++) {
        static const uint8_t half[] = {3, 2}, word[] = {7, 6, 5, 4};
        int due = i >= 32 && i < 48 ? word[i % 4] : i >= 8 && i < 16 ? half[i % 2] : 1;
        cr_assert_eq(got[i], due, "byte %d is %d", i, got[i]);
    }
}

Test(driver_copy, a_pageable_source_may_be_changed_at_once)
{
    enum { BYTES = 3 << 20 };
    CUstream stream;
    CUdeviceptr data;
    unsigned char *host = malloc(BYTES);

    CALL(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CALL(driver.cuMemAlloc_v2(&data, BYTES));
    for (size_t bytes = 100; bytes <= BYTES; bytes *= 29) {
        memset(host, 5, bytes);
        CALL(driver.cuMemcpyHtoDAsync_v2(data, host, bytes, stream));
        memset(host, 6, bytes);
        CALL(driver.cuMemcpyDtoHAsync_v2(host, data, bytes, stream));
        CALL(driver.cuStreamSynchronize(stream));
        cr_assert(host[0] == 5 && host[bytes - 1] == 5, "%zu bytes", bytes);
    }
    free(host);
}

Test(driver_copy, the_driver_finds_out_where_memory_is)
{
    CUdeviceptr data;
    int from = 42, to = 0;
    void *pinned;

    CALL(driver.cuMemAlloc_v2(&data, 4));
    CALL(driver.cuMemHostAlloc(&pinned, 4, 0));
    CALL(driver.cuMemcpy(data, (CUdeviceptr)(uintptr_t)&from, 4));
    CALL(driver.cuMemcpy((CUdeviceptr)(uintptr_t)pinned, data, 4));
    CALL(driver.cuMemcpy((CUdeviceptr)(uintptr_t)&to, (CUdeviceptr)(uintptr_t)pinned, 4));
    cr_assert_eq(to, 42);
}

Test(driver_copy, pointers_tell_what_they_are)
{
    CUdeviceptr data, base = 0;
    size_t bytes = 0;
    unsigned type = 0;
    CUcontext of = NULL;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT};
    void *values[] = {&type, &of};

    CALL(driver.cuMemAlloc_v2(&data, 1000));
    CALL(driver.cuMemGetAddressRange_v2(&base, &bytes, data + 999));
    cr_assert(base == data && bytes == 1000);
    CALL(driver.cuPointerGetAttributes(2, which, values, data + 10));
    cr_assert_eq(type, CU_MEMORYTYPE_DEVICE);
    cr_assert_eq(of, context);
    CALL(driver.cuPointerGetAttributes(2, which, values, (CUdeviceptr)(uintptr_t)&bytes));
    cr_assert_eq(type, 0);
    cr_assert_null(of);
}

Test(driver_copy, registered_memory_is_used_by_kernels)
{
    CUmodule module;
    CUfunction store = kernel(&module, "store");
    unsigned *host = aligned_alloc(4096, 8192), value = 7;
    CUdeviceptr seen = 0;

    memset(host, 0, 8192);
    CALL(driver.cuMemHostRegister_v2(host, 8192, CU_MEMHOSTREGISTER_DEVICEMAP));
    CALL(driver.cuMemHostGetDevicePointer_v2(&seen, host, 0));
    void *parameters[] = {&seen, &value};
    CALL(driver.cuLaunchKernel(store, 2, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    CALL(driver.cuCtxSynchronize());
    cr_assert(host[0] == 7 && host[127] == 7 && host[128] == 0);
    CALL(driver.cuMemHostUnregister(host));
    free(host);
}
