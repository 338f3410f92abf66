/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and destroys objects of every kind again and again, in several threads at once: nothing may
 * be left over (device memory, mappings of the process, and leaks that a sanitizer finds at the
 * end), and nothing may race (thread sanitizer). A plain program, because criterion does not run
 * under the thread sanitizer. Usage: churn LIBCUDA [CYCLES] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_driver.h"

#define THREADS 4

static struct cuda_driver driver;
static int cycles = 60;

static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .global .align 4 .u32 table[4096];\n"
                          ".visible .entry store(.param .u64 data, .param .u32 value)\n{\n"
                          "    .reg .b64 %rd<5>; .reg .b32 %r<6>;\n"
                          "    ld.param.u64 %rd1, [data];\n"
                          "    ld.param.u32 %r1, [value];\n"
                          "    cvta.to.global.u64 %rd2, %rd1;\n"
                          "    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
                          "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
                          "    mul.wide.u32 %rd3, %r5, 4;\n"
                          "    add.s64 %rd4, %rd2, %rd3;\n"
                          "    st.global.u32 [%rd4], %r1;\n"
                          "    ret;\n}\n";

#define CALL(expr)                                                                                 \
    do {                                                                                           \
        CUresult result_ = (expr);                                                                 \
        if (result_ != CUDA_SUCCESS) {                                                             \
            fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #expr, (int)result_);      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "churn: %s\n", what);
        exit(1);
    }
}

/* A mapping that is used by a kernel, side by side with ordinary allocations. */
static void map_and_run(CUfunction store, CUdevice device, CUstream stream)
{
    const size_t bytes = 2 << 20;
    CUmemAllocationProp property = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemAccessDesc access = {.location = property.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr space;
    unsigned value = 3, got = 0;
    void *parameters[] = {&space, &value};
    CALL(driver.cuMemAddressReserve(&space, 4 * bytes, 0, 0, 0));
    CALL(driver.cuMemCreate(&handle, bytes, &property, 0));
    CALL(driver.cuMemMap(space, bytes, 0, handle, 0));
    CALL(driver.cuMemRelease(handle));
    CALL(driver.cuMemSetAccess(space, bytes, &access, 1));
    CALL(driver.cuLaunchKernel(store, 8, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
    CALL(driver.cuMemcpyDtoHAsync_v2(&got, space + 4092, 4, stream));
    check(got == value, "the mapped memory holds something else");
    CALL(driver.cuStreamSynchronize(stream));
    CALL(driver.cuMemUnmap(space, bytes));
    CALL(driver.cuMemAddressFree(space, 4 * bytes));
}

static void one_cycle(CUdevice device, unsigned seed, CUlibrary library)
{
    CUcontext context;
    CUmodule module;
    CUfunction store;
    CUkernel kernel;
    CUstream stream, side;
    CUevent event;
    CUdeviceptr small, large;
    unsigned *host, value = seed + 1;
    void *parameters[] = {&small, &value};
    CALL(driver.cuCtxCreate_v2(&context, 0, device));
    CALL(driver.cuModuleLoadData(&module, ptx));
    CALL(driver.cuModuleGetFunction(&store, module, "store"));
    CALL(driver.cuLibraryGetKernel(&kernel, library, "store"));
    CALL(driver.cuStreamCreate(&stream, seed % 2));
    CALL(driver.cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    CALL(driver.cuEventCreate(&event, 0));
    CALL(driver.cuMemAlloc_v2(&small, 4096));
    CALL(driver.cuMemAlloc_v2(&large, (seed % 7 + 1) << 20));
    CALL(driver.cuMemHostAlloc((void **)&host, 4096, 0));
    CALL(driver.cuMemsetD8Async(large, 1, 1 << 20, side));
    CALL(driver.cuLaunchKernel(store, 8, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
    CALL(driver.cuEventRecord(event, stream));
    CALL(driver.cuStreamWaitEvent(side, event, 0));
    CALL(driver.cuMemcpyDtoHAsync_v2(host, small, 4096, side));
    CALL(driver.cuStreamSynchronize(side));
    check(host[0] == value && host[1023] == value, "the kernel's result is not there");
    value += 5;
    CALL(driver.cuLaunchKernel((CUfunction)kernel, 8, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
    CALL(driver.cuMemcpyDtoH_v2(host, small, 4096));
    check(host[77] == value, "the library's kernel did not run");
    map_and_run(store, device, stream);
    if (seed % 3 == 0) { /* otherwise the context destroys them */
        CALL(driver.cuMemFree_v2(large));
        CALL(driver.cuStreamDestroy_v2(stream));
        CALL(driver.cuEventDestroy_v2(event));
        CALL(driver.cuModuleUnload(module));
        CALL(driver.cuMemFreeHost(host));
    }
    CALL(driver.cuCtxDestroy_v2(context));
}

static void *thread_main(void *argument)
{
    unsigned id = *(unsigned *)argument;
    CUlibrary library;
    CALL(driver.cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    for (int cycle = 0; cycle < cycles; cycle++) {
        one_cycle((CUdevice)(id % 2), id * 31 + (unsigned)cycle, library);
    }
    CALL(driver.cuLibraryUnload(library));
    return NULL;
}

static void round_of_threads(void)
{
    pthread_t threads[THREADS];
    unsigned ids[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        ids[i] = i;
        check(pthread_create(&threads[i], NULL, thread_main, &ids[i]) == 0, "no thread");
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static size_t free_memory(CUdevice device)
{
    CUcontext context;
    size_t free_bytes = 0, total = 0;
    CALL(driver.cuCtxCreate_v2(&context, 0, device));
    CALL(driver.cuMemGetInfo_v2(&free_bytes, &total));
    CALL(driver.cuCtxDestroy_v2(context));
    check(free_bytes == total, "device memory is still taken");
    return free_bytes;
}

/* Mappings of the device's memory in this process. */
static unsigned mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    unsigned count = 0;
    check(maps != NULL, "no /proc/self/maps");
    while (fgets(line, sizeof line, maps) != NULL) {
        count += strstr(line, "memfd:softgpu") != NULL;
    }
    fclose(maps);
    return count;
}

int main(int argc, char **argv)
{
    char why[256] = "";
    check(argc >= 2, "usage: churn LIBCUDA [CYCLES]");
    cycles = argc > 2 ? atoi(argv[2]) : cycles;
    setenv("SOFTGPU_DEVICES", "name=A,memory=256MiB,sms=2;name=B,memory=256MiB", 1);
    if (cuda_driver_open(&driver, argv[1], why, sizeof why) != GA_OK) {
        fprintf(stderr, "churn: %s\n", why);
        return 1;
    }
    CALL(driver.cuInit(0));
    for (int round = 0; round < 2; round++) {
        round_of_threads();
        (void)free_memory(0);
        (void)free_memory(1);
        check(mappings() == 0, "device memory is still mapped");
    }
    printf("%d cycles in each of %d threads, twice\n", cycles, THREADS);
    return 0;
}
