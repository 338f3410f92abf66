// SPDX-License-Identifier: Apache-2.0
// endless kernel|copy|copies|idle|done|past|callback|leave|destroy|destroy_function: does that
// until something ends it. A helper of the end-to-end tests, which kill things meanwhile: it says
// "started" when it is at it, then the error it gets; how long the failing call took to say so is
// for the test to measure.
#include <atomic>
#include <thread>
#include <unistd.h>

#include "check.h"
#include "check_driver.h"

__global__ void spin(volatile int *flag)
{
    while (*flag == 0)
        ;
}

static void report(const char *call, cudaError_t error)
{
    printf("%s: error %d %s\n", call, (int)error, cudaGetErrorName(error));
    fflush(stdout);
}

static void started()
{
    printf("started\n");
    fflush(stdout);
}

// Says so a moment later: by then the caller waits.
static void started_soon()
{
    std::thread([] {
        usleep(500000);
        started();
    }).detach();
}

static int *start_kernel(cudaStream_t stream)
{
    int *flag;
    CHECK(cudaMalloc(&flag, sizeof *flag));
    CHECK(cudaMemset(flag, 0, sizeof *flag));
    CHECK(cudaDeviceSynchronize());
    spin<<<1, 32, 0, stream>>>(flag);
    CHECK(cudaGetLastError());
    if (cudaStreamQuery(stream) != cudaErrorNotReady)
        fail("the endless kernel has ended");
    return flag;
}

static int run_kernel()
{
    int *flag = start_kernel(0);
    started();
    report("cudaDeviceSynchronize", cudaDeviceSynchronize());
    report("cudaMalloc", cudaMalloc(&flag, sizeof *flag));
    return 1;
}

static int run_copy()
{
    const size_t bytes = 32 << 20;
    char *device, *host;
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMallocHost(&host, bytes));
    memset(host, 1, bytes);
    for (bool first = true;; first = false) {
        cudaError_t error = cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, 0);
        if (error == cudaSuccess)
            error = cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, 0);
        if (first)
            started();
        if (error == cudaSuccess)
            error = cudaStreamSynchronize(0);
        if (error != cudaSuccess) {
            report("copying", error);
            return 1;
        }
    }
}

// More small copies to the host than a server keeps in mind at once.
static int run_copies()
{
    int *device = start_kernel(0), *host;
    CHECK(cudaMallocHost(&host, sizeof *host));
    started_soon();
    for (;;) {
        cudaError_t error = cudaMemcpyAsync(host, device, sizeof *host, cudaMemcpyDeviceToHost, 0);
        if (error != cudaSuccess) {
            report("copying", error);
            return 1;
        }
    }
}

static int run_idle()
{
    void *device;
    CHECK(cudaMalloc(&device, 1 << 20));
    CHECK(cudaDeviceSynchronize());
    started();
    for (;;)
        sleep(1);
}

// Nothing is under way, and that is known.
static int run_done()
{
    void *device;
    CHECK(cudaMalloc(&device, 1 << 20));
    CHECK(cudaMemset(device, 1, 1 << 20));
    CHECK(cudaDeviceSynchronize());
    started();
    cudaError_t error;
    while ((error = cudaDeviceSynchronize()) == cudaSuccess)
        usleep(1000);
    report("cudaDeviceSynchronize", error);
    return 1;
}

// Runs past the end, with an event.
static int run_past()
{
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventRecord(event, 0));
    CHECK(cudaDeviceSynchronize());
    started();
    cudaError_t error;
    while ((error = cudaEventSynchronize(event)) == cudaSuccess)
        usleep(1000);
    report("cudaEventSynchronize", error);
    return 1;
}

static std::atomic<int> over(0), told(0), never(0);

static void CUDART_CB busy(void *)
{
    started();
    while (!over)
        usleep(1000);
}

static void CUDART_CB callback(cudaStream_t, cudaError_t status, void *)
{
    report("callback", status);
    told = 1;
}

static void CUDART_CB not_called(void *)
{
    never = 1;
}

// A function runs, and a callback and another function stand behind it.
static void start_callbacks(cudaStream_t stream)
{
    CHECK(cudaLaunchHostFunc(stream, busy, nullptr));
    CHECK(cudaStreamAddCallback(stream, callback, nullptr, 0));
    CHECK(cudaLaunchHostFunc(stream, not_called, nullptr));
}

static int run_callback()
{
    start_callbacks(0);
    report("cudaDeviceSynchronize", cudaDeviceSynchronize());
    over = 1;
    while (!told)
        usleep(1000);
    usleep(100000);
    printf("functions called afterwards: %d\n", never.load());
    return 1;
}

// The end of a context waits for its work.
static int run_destroy(bool function)
{
    CHECK(cudaFree(0));
    CUcontext context = create_context(0);
    if (function)
        CHECK(cudaLaunchHostFunc(0, busy, nullptr)); // says that it has started
    else {
        start_kernel(0);
        started_soon();
    }
    CUresult result = cuCtxDestroy(context);
    printf("cuCtxDestroy: error %d\n", (int)result);
    return 1;
}

// Ends by itself while the function still runs.
static int run_leave()
{
    start_callbacks(0);
    if (cudaStreamQuery(0) != cudaErrorNotReady)
        fail("the function has ended");
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "kernel"))
        return run_kernel();
    if (!strcmp(what, "copy"))
        return run_copy();
    if (!strcmp(what, "copies"))
        return run_copies();
    if (!strcmp(what, "idle"))
        return run_idle();
    if (!strcmp(what, "done"))
        return run_done();
    if (!strcmp(what, "past"))
        return run_past();
    if (!strcmp(what, "callback"))
        return run_callback();
    if (!strcmp(what, "leave"))
        return run_leave();
    if (!strncmp(what, "destroy", 7))
        return run_destroy(what[7] != 0);
    fail("usage: %s kernel|copy|copies|idle|done|past|callback|leave|destroy|destroy_function",
         argv[0]);
}
