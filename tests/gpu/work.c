/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about kernels, modules, events and errors. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "assume.h"

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static _Atomic int loaded;

static void *load_module(void *unused)
{
    (void)unused;
    CUmodule module;
    NEED(driver.cuCtxSetCurrent(context));
    NEED(driver.cuModuleLoadData(&module, kernels_ptx));
    atomic_store(&loaded, 1);
    return NULL;
}

static enum verdict load_beside_kernel(char *seen, size_t size)
{
    CUstream stream;
    pthread_t thread;
    NEED(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr flag = wait_begin(stream);
    pthread_create(&thread, NULL, load_module, NULL);
    for (int i = 0; i < 100 && !atomic_load(&loaded); i++) {
        usleep(50000);
    }
    int beside = atomic_load(&loaded);
    wait_release(flag);
    pthread_join(thread, NULL);
    snprintf(seen, size, "a module was loaded %s a kernel ran",
             beside ? "while" : "only after (5 s)");
    return beside ? HOLDS : DIFFERS;
}

static enum verdict events_cheap(char *seen, size_t size)
{
    enum { COUNT = 2000 };
    CUevent event;
    CUstream stream;
    NEED(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    double start = now_us();
    for (int i = 0; i < COUNT; i++) {
        NEED(driver.cuEventRecord(event, stream));
    }
    double recorded = now_us();
    NEED(driver.cuStreamSynchronize(stream));
    double queries = now_us();
    for (int i = 0; i < COUNT; i++) {
        NEED(driver.cuEventQuery(event));
    }
    double end = now_us();
    double record = (recorded - start) / COUNT, query = (end - queries) / COUNT;
    snprintf(seen, size, "%.2f us to record, %.2f us to query", record, query);
    return record < 20 && query < 10 ? HOLDS : DIFFERS;
}

static CUresult launch(const char *name, unsigned threads, unsigned shared)
{
    CUfunction function = kernel(name);
    CUresult rc = driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared, NULL, NULL, NULL);
    return rc == CUDA_SUCCESS ? driver.cuCtxSynchronize() : rc;
}

static enum verdict error_is(CUresult rc, CUresult due, char *seen, size_t size)
{
    snprintf(seen, size, "%s", name_of(rc));
    return rc == due ? HOLDS : DIFFERS;
}

static enum verdict too_much_shared(char *seen, size_t size)
{
    return error_is(launch("narrow", 32, 1u << 20), CUDA_ERROR_INVALID_VALUE, seen, size);
}

static enum verdict too_many_threads(char *seen, size_t size)
{
    return error_is(launch("narrow", 128, 0), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, seen, size);
}

static enum verdict fault_condemns(char *seen, size_t size)
{
    CUcontext other;
    size_t free_bytes, total;
    NEED(driver.cuCtxCreate_v2(&other, 0, device));
    NEED(driver.cuCtxSetCurrent(context));
    CUresult fault = launch("outside", 1, 0);
    NEED(driver.cuCtxSetCurrent(other));
    CUresult after = driver.cuMemGetInfo_v2(&free_bytes, &total);
    after = after == CUDA_SUCCESS ? driver.cuCtxSynchronize() : after;
    snprintf(seen, size, "the kernel's own context: %s; another of the process: %s", name_of(fault),
             name_of(after));
    return fault == CUDA_ERROR_ILLEGAL_ADDRESS && after != CUDA_SUCCESS ? HOLDS : DIFFERS;
}

static enum verdict streams_concurrent(char *seen, size_t size)
{
    CUstream first, second;
    CUdeviceptr data;
    NEED(driver.cuMemAlloc_v2(&data, 1024));
    NEED(driver.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    NEED(driver.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CUdeviceptr flag = wait_begin(first);
    NEED(driver.cuMemsetD8Async(data, 1, 1024, second));
    NEED(driver.cuStreamSynchronize(second));
    CUresult still = driver.cuStreamQuery(first);
    wait_release(flag);
    NEED(driver.cuStreamSynchronize(first));
    snprintf(seen, size, "a stream %s beside a kernel of another",
             still == CUDA_ERROR_NOT_READY ? "finished" : "did not finish");
    return still == CUDA_ERROR_NOT_READY ? HOLDS : DIFFERS;
}

const struct assumption assumptions_of_work[] = {
    {"load_beside_kernel", "loading a module does not wait for running kernels",
     "loading goes to a helper thread, so that other sessions of the process go on",
     load_beside_kernel},
    {"streams_concurrent", "streams do not wait for each other's kernels",
     "sessions that share a context wait for each other", streams_concurrent},
    {"events_cheap", "recording and querying an event costs a few microseconds",
     "fewer events: one for several copies", events_cheap},
    {"too_much_shared", "too much dynamic shared memory is error 1 from the launch",
     "the client's check (client/module/launch.c) and softgpu's take the code that was seen",
     too_much_shared},
    {"too_many_threads", "more threads than the kernel allows is error 701 from the launch",
     "the client's check (client/module/launch.c) and softgpu's take the code that was seen",
     too_many_threads},
    {"fault_condemns", "an execution fault is seen by every context of its process",
     "none is needed: the server condemns the whole process itself", fault_condemns},
    {0},
};
