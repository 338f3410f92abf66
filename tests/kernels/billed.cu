// SPDX-License-Identifier: Apache-2.0
// Uses a GPU for known times, by timed kernels (timed.h), and ends in one of several ways. It says
// "ready" and begins with the next line of its standard input, so that several can begin together.
//
// billed kernels COUNT US GAP_US: each is waited for, and the next one comes after a gap
// billed queued COUNT US: all are submitted at once
// billed mixed COUNT US: each beside a copy of 4 MiB to the device
// billed random SEED MS: kernels and copies of several streams, for so long
// billed fault US: a kernel, and behind it one that faults
// billed runs US | asks US: says "begins", and waits for it, or asks again and again
// billed fills US: says "begins", and launches on without end, so that the stream's queue is full
// billed reset US | leave US: resets the device, or exits, 100 ms after the kernel was launched
#include <unistd.h>

#include "check.h"
#include "timed.h"

static const int streams = 3;
static const size_t bytes = 4 << 20;
static cudaStream_t stream[streams];
static char *device, *host;

__global__ void fault(int *nowhere)
{
    *nowhere = 1;
}

static void launch(long us, cudaStream_t where = 0)
{
    gpuaas_timed<<<1, 32, 0, where>>>(us * 1000ULL, 1, 1, 0);
    CHECK(cudaGetLastError());
}

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

static void copies_make()
{
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaHostAlloc(&host, bytes, 0));
    for (cudaStream_t &each : stream)
        CHECK(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
}

static void random_work(unsigned seed, long ms)
{
    timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        cudaStream_t where = stream[rand_r(&seed) % streams];
        size_t some = 1 + rand_r(&seed) % bytes;
        switch (rand_r(&seed) % 7) {
        case 0:
            CHECK(cudaMemcpyAsync(device, host, some, cudaMemcpyHostToDevice, where));
            break;
        case 1:
            CHECK(cudaMemcpyAsync(host, device, some, cudaMemcpyDeviceToHost, where));
            break;
        case 2:
            CHECK(cudaStreamSynchronize(where));
            break;
        case 3:
            CHECK(cudaDeviceSynchronize());
            usleep(rand_r(&seed) % 3000);
            break;
        default:
            launch(rand_r(&seed) % 3000, where);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

// The server has read the launch.
static void begins(long us)
{
    launch(us);
    if (cudaStreamQuery(0) != cudaErrorNotReady)
        fail("the kernel is over");
    say("begins");
}

static int ends(const char *way, long us)
{
    if (!strcmp(way, "fault")) {
        launch(us);
        fault<<<1, 1>>>(nullptr);
        if (cudaDeviceSynchronize() != cudaErrorIllegalAddress)
            fail("there is no fault");
        say("fault");
        return 1;
    }
    begins(us);
    if (!strcmp(way, "runs"))
        CHECK(cudaDeviceSynchronize());
    else if (!strcmp(way, "asks"))
        while (cudaStreamQuery(0) == cudaErrorNotReady) {
        }
    else if (!strcmp(way, "fills"))
        for (;;)
            launch(0);
    usleep(100000);
    if (!strcmp(way, "reset"))
        CHECK(cudaDeviceReset());
    return 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 2 ? argv[1] : "";
    long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 0;
    CHECK(cudaFree(0));
    copies_make();
    launch(0);
    CHECK(cudaDeviceSynchronize());
    say("ready");
    getchar();
    if (!strcmp(way, "kernels"))
        for (long i = 0; i < first; i++) {
            launch(second);
            CHECK(cudaDeviceSynchronize());
            usleep(argc > 4 ? atol(argv[4]) : 0);
        }
    else if (!strcmp(way, "queued"))
        for (long i = 0; i < first; i++)
            launch(second);
    else if (!strcmp(way, "mixed"))
        for (long i = 0; i < first; i++) {
            launch(second, stream[0]);
            CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream[1]));
            CHECK(cudaDeviceSynchronize());
        }
    else if (!strcmp(way, "random"))
        random_work((unsigned)first, second);
    else
        return ends(way, first);
    CHECK(cudaDeviceSynchronize());
    return passed();
}
