/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about addresses and memory. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "assume.h"

#define GIB (UINT64_C(1) << 30)

/* The windows that clients propose first, as in client/alloc/window.c. */
#if defined(__SANITIZE_THREAD__)
#define WINDOW_BYTES (64 * GIB)
#define WINDOW_FIRST (64 * GIB)
#else
#define WINDOW_BYTES (512 * GIB)
#define WINDOW_FIRST UINT64_C(0x200000000000)
#endif

static enum verdict hint_honoured(char *seen, size_t size)
{
    unsigned honoured = 0, asked = 5;
    for (unsigned i = 0; i < asked; i++) {
        CUdeviceptr got = 0, wanted = WINDOW_FIRST + i * WINDOW_BYTES;
        if (driver.cuMemAddressReserve(&got, WINDOW_BYTES, 0, wanted, 0) == CUDA_SUCCESS) {
            honoured += got == wanted;
        }
    }
    snprintf(seen, size, "%u of %u windows of %u GiB at the wanted address", honoured, asked,
             (unsigned)(WINDOW_BYTES / GIB));
    return honoured != 0 ? HOLDS : DIFFERS;
}

static enum verdict granularity_small(char *seen, size_t size)
{
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    size_t bytes = 0;
    NEED(driver.cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    snprintf(seen, size, "%zu KiB", bytes >> 10);
    return bytes <= 2u << 20 ? HOLDS : DIFFERS;
}

static enum verdict posix_handles(char *seen, size_t size)
{
    int value = attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemGenericAllocationHandle handle;
    CUresult rc = driver.cuMemCreate(&handle, 2u << 20, &prop, 0);
    snprintf(seen, size, "attribute %d, creating such memory gives %s", value, name_of(rc));
    return value != 0 && rc == CUDA_SUCCESS ? HOLDS : DIFFERS;
}

static enum verdict gpudirect(char *seen, size_t size)
{
    int rdma = attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
    int vmm = attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
    snprintf(seen, size, "GPUDirect RDMA %d, with mapped memory %d", rdma, vmm);
    return rdma != 0 && vmm != 0 ? HOLDS : DIFFERS;
}

static enum verdict context_small(char *seen, size_t size)
{
    size_t before, after, total;
    CUcontext more;
    NEED(driver.cuMemGetInfo_v2(&before, &total));
    NEED(driver.cuCtxCreate_v2(&more, 0, device));
    NEED(driver.cuMemGetInfo_v2(&after, &total));
    double mib = before > after ? (double)(before - after) / 1048576 : 0;
    snprintf(seen, size, "a second context of the process takes %.0f MiB; %.0f of %.0f MiB free",
             mib, (double)after / 1048576, (double)total / 1048576);
    return mib <= 600 ? HOLDS : DIFFERS;
}

static enum verdict mapped_host_wait(char *seen, size_t size)
{
    typedef CUresult wait_function(CUstream, CUdeviceptr, cuuint32_t, unsigned);
    wait_function *wait = NULL;
    *(void **)&wait = symbol("cuStreamWaitValue32_v2");
    if (wait == NULL) {
        snprintf(seen, size, "the library has no cuStreamWaitValue32_v2");
        return DIFFERS;
    }
    volatile uint32_t *word;
    CUdeviceptr address;
    CUstream stream;
    NEED(driver.cuMemHostAlloc((void **)&word, sizeof *word, CU_MEMHOSTALLOC_DEVICEMAP));
    *word = 0;
    NEED(driver.cuMemHostGetDevicePointer_v2(&address, (void *)word, 0));
    NEED(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUresult rc = wait(stream, address, 1, CU_STREAM_WAIT_VALUE_GEQ);
    if (rc != CUDA_SUCCESS) {
        snprintf(seen, size, "cuStreamWaitValue32 gives %s", name_of(rc));
        return DIFFERS;
    }
    usleep(50000);
    CUresult held = driver.cuStreamQuery(stream);
    *word = 1;
    NEED(driver.cuStreamSynchronize(stream));
    snprintf(seen, size, "the stream was %s, and went on when the host wrote the word",
             held == CUDA_ERROR_NOT_READY ? "held" : "not held");
    return held == CUDA_ERROR_NOT_READY ? HOLDS : DIFFERS;
}

/* ---- what waits */

static CUdeviceptr victim;
static void *target;
static _Atomic int returned;

static void *free_it(void *unused)
{
    (void)unused;
    NEED(driver.cuCtxSetCurrent(context));
    NEED(driver.cuMemFree_v2(victim));
    atomic_store(&returned, 1);
    return NULL;
}

static void *read_it(void *stream)
{
    NEED(driver.cuCtxSetCurrent(context));
    NEED(driver.cuMemcpyDtoHAsync_v2(target, victim, 1u << 20, stream));
    atomic_store(&returned, 1);
    return NULL;
}

/* Whether `function`, called while a kernel runs in `stream`, returns before it has ended. */
static enum verdict waits(void *(*function)(void *), CUstream stream, char *seen, size_t size)
{
    pthread_t thread;
    NEED(driver.cuMemAlloc_v2(&victim, 1u << 20));
    CUdeviceptr flag = wait_begin(stream);
    pthread_create(&thread, NULL, function, stream);
    usleep(300000);
    int early = atomic_load(&returned);
    wait_release(flag);
    pthread_join(thread, NULL);
    snprintf(seen, size, "it returned %s the kernel before it had ended",
             early ? "while" : "after");
    return early ? DIFFERS : HOLDS;
}

static enum verdict free_waits(char *seen, size_t size)
{
    CUstream stream;
    NEED(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return waits(free_it, stream, seen, size);
}

static enum verdict pageable_read_waits(char *seen, size_t size)
{
    CUstream stream;
    NEED(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    target = malloc(1u << 20);
    return waits(read_it, stream, seen, size);
}

const struct assumption assumptions_of_memory[] = {
    {"hint_honoured", "cuMemAddressReserve gives the address that is asked for",
     "the server proposes windows; without a common one sessions run unpinned", hint_honoured},
    {"granularity_small", "memory is mapped in pieces of 2 MiB or less",
     "the allocator takes the driver's granularity; small allocations waste more",
     granularity_small},
    {"posix_handles", "physical memory can be exported as a file descriptor",
     "memory is created without handle types: no sharing between processes", posix_handles},
    {"gpudirect", "network cards may read mapped memory", "copies go through staging in the host",
     gpudirect},
    {"context_small", "a further context takes 600 MiB or less",
     "fewer applications fit on a GPU: lower `clients`, share contexts", context_small},
    {"mapped_host_wait", "a stream can wait for a word of pinned memory that the host writes",
     "host functions and stream callbacks answer 801", mapped_host_wait},
    {"free_waits", "cuMemFree waits for the work before it",
     "none is needed: the server records events of its own", free_waits},
    {"pageable_read_waits", "an asynchronous copy into pageable memory waits",
     "none is needed: ours waits always", pageable_read_waits},
    {0},
};
