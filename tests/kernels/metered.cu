// SPDX-License-Identifier: Apache-2.0
// Gives the engines of a GPU work in one of several ways, says PASSED when it is done, and stays
// until its standard input ends: then somebody can look what was measured of it. The work waits
// behind a gate until all of it has been submitted: then it does not matter how slowly that went.
//
// metered stream|streams|waits|pauses|graph|long|whole
// The last two go on for ever, with kernels that fill next to nothing of the GPU, and all of it.
#include <atomic>
#include <unistd.h>

#include "check.h"

static const size_t bytes = 1 << 20;
static const int streams = 4;
static const int whole = bytes / sizeof(float) / 128; // blocks

// Memory for each kind of work, since all are at work at once.
static float *device_memory, *device_up, *device_down;
static float *above, *below; // the host's: to the device and back
static cudaStream_t stream[streams];

__global__ void spin(float *out, int rounds)
{
    float value = threadIdx.x;
    for (int round = 0; round < rounds; round++)
        value = value * 1.5f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static void work(int count, cudaStream_t where, int blocks = 2)
{
    for (int i = 0; i < count; i++)
        spin<<<blocks, 128, 0, where>>>(device_memory, 10);
    CHECK(cudaGetLastError());
}

static void up(cudaStream_t where)
{
    CHECK(cudaMemcpyAsync(device_up, above, bytes, cudaMemcpyHostToDevice, where));
}

static void down(cudaStream_t where)
{
    CHECK(cudaMemcpyAsync(below, device_down, bytes, cudaMemcpyDeviceToHost, where));
}

static void nap(void *)
{
    usleep(30000);
}

static std::atomic<bool> opened;

static void gate(void *)
{
    while (!opened)
        usleep(100);
}

static void close_gate()
{
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    opened = false;
    CHECK(cudaLaunchHostFunc(stream[0], gate, NULL));
    CHECK(cudaEventRecord(event, stream[0]));
    for (int i = 1; i < streams; i++)
        CHECK(cudaStreamWaitEvent(stream[i], event, 0));
}

static void open_gate()
{
    size_t left, total;
    CHECK(cudaMemGetInfo(&left, &total)); // the server answers, so it has read the calls before
    opened = true;
    CHECK(cudaDeviceSynchronize());
}

// Side by side: kernels of several streams, and copies. The timing model remembers what is at work
// at a time up to a number, and these rounds are smaller.
static void side_by_side()
{
    for (int round = 0; round < 20; round++) {
        close_gate();
        for (int i = 0; i < 20; i++) {
            for (int k = 0; k < streams; k++)
                work(1, stream[k]);
            if (i == 7)
                up(stream[0]);
            if (i == 12)
                down(stream[1]);
        }
        work(5, 0); // waits for all of them
        open_gate();
    }
}

// Streams that stand still: for another engine's work, for the host.
static void waits()
{
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 0; i < 6; i++) {
        close_gate();
        up(stream[1]);
        work(500, stream[0]);
        CHECK(cudaEventRecord(event, stream[0]));
        CHECK(cudaStreamWaitEvent(stream[1], event, 0));
        up(stream[1]); // 6 ms later
        work(10, stream[2]);
        CHECK(cudaLaunchHostFunc(stream[2], nap, NULL));
        work(10, stream[2]);
        down(stream[3]);
        CHECK(cudaLaunchHostFunc(stream[3], nap, NULL));
        down(stream[3]);
        open_gate();
    }
}

static void graph()
{
    cudaGraph_t made;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeGlobal));
    work(100, stream[0]);
    CHECK(cudaStreamEndCapture(stream[0], &made));
    CHECK(cudaGraphInstantiate(&exec, made, 0));
    close_gate();
    for (int i = 0; i < 20; i++)
        CHECK(cudaGraphLaunch(exec, stream[0]));
    open_gate();
}

int main(int count, char **arguments)
{
    const char *way = count > 1 ? arguments[1] : "";
    for (float **memory : {&device_memory, &device_up, &device_down})
        CHECK(cudaMalloc(memory, bytes));
    CHECK(cudaHostAlloc((void **)&above, bytes, 0));
    CHECK(cudaHostAlloc((void **)&below, bytes, 0));
    for (int i = 0; i < streams; i++)
        CHECK(cudaStreamCreate(&stream[i]));
    if (strcmp(way, "stream") == 0) {
        for (int i = 0; i < 20; i++) { // each shorter than what counts while it runs
            close_gate();
            work(250, stream[0]);
            open_gate();
        }
    } else if (strcmp(way, "streams") == 0)
        side_by_side();
    else if (strcmp(way, "waits") == 0)
        waits();
    else if (strcmp(way, "graph") == 0)
        graph();
    else if (strcmp(way, "pauses") == 0)
        for (int i = 0; i < 30; i++) {
            work(10, i % 2 ? stream[0] : 0);
            usleep(20000);
        }
    else if (strcmp(way, "long") == 0 || strcmp(way, "whole") == 0) {
        int blocks = strcmp(way, "long") == 0 ? 2 : whole;
        printf("begins\n");
        fflush(stdout);
        for (;;) {
            work(100, stream[0], blocks);
            CHECK(cudaStreamSynchronize(stream[0]));
        }
    } else
        fail("which way?");
    CHECK(cudaDeviceSynchronize());
    passed();
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
