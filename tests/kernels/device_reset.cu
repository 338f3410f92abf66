// SPDX-License-Identifier: Apache-2.0
// cudaDeviceReset in the middle of a program: everything is gone, then everything works again, a
// module's variable and the settings have their initial values, and threads go on.
// semantics S32
#include <thread>
#include <vector>

#include "check.h"

__device__ int generation = 100;

__global__ void count_up(int *out)
{
    generation++;
    *out = generation;
}

__global__ void store(int *out, int value)
{
    *out = value;
}

static void cycles()
{
    for (int cycle = 0; cycle < 3; cycle++) {
        int *device, result = 0;
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaMalloc(&device, 1 << 20));
        count_up<<<1, 1, 0, stream>>>(device);
        CHECK(cudaGetLastError());
        count_up<<<1, 1, 0, stream>>>(device);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(&result, device, sizeof result, cudaMemcpyDeviceToHost));
        if (result != 102)
            fail("cycle %d: the variable is %d, 102 is right", cycle, result);
        printf("cycle %d: %d\n", cycle, result);
        CHECK(cudaDeviceReset());
    }
}

static void settings_and_memory()
{
    size_t limit, again, before = 0, after = 0, total;
    for (int cycle = 0; cycle < 3; cycle++) {
        void *memory;
        CHECK(cudaFree(nullptr));
        CHECK(cudaMemGetInfo(cycle == 0 ? &before : &after, &total));
        CHECK(cudaDeviceGetLimit(&again, cudaLimitStackSize));
        limit = cycle == 0 ? again : limit;
        if (again != limit)
            fail("after a reset stacks have %zu bytes, %zu at first", again, limit);
        cudaFuncCache cache;
        CHECK(cudaDeviceGetCacheConfig(&cache));
        if (cache != cudaFuncCachePreferNone)
            fail("after a reset the preference is %d", (int)cache);
        CHECK(cudaDeviceSetLimit(cudaLimitStackSize, limit + 2048));
        CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
        CHECK(cudaMalloc(&memory, 64 << 20));
        CHECK(cudaDeviceReset());
    }
    if (after < before)
        fail("%zu bytes were free, after resets %zu", before, after);
}

// Each thread has objects from before and makes new ones; one of them resets in between.
static void threads()
{
    const int count = 4;
    struct Objects {
        cudaStream_t stream;
        cudaEvent_t event;
        int *memory;
    } objects[count];
    auto work = [](int value) {
        int *memory, got = 0;
        CHECK(cudaMalloc(&memory, sizeof *memory));
        for (cudaStream_t stream : {cudaStreamPerThread, cudaStreamLegacy}) {
            store<<<1, 1, 0, stream>>>(memory, ++value);
            CHECK(cudaGetLastError());
            CHECK(cudaMemcpyAsync(&got, memory, sizeof got, cudaMemcpyDeviceToHost, stream));
            CHECK(cudaStreamSynchronize(stream));
            if (got != value)
                fail("%d, %d is right", got, value);
        }
        return memory;
    };
    std::vector<std::thread> all;
    for (int id = 0; id < count; id++)
        all.emplace_back([&, id] {
            objects[id].memory = work(10 * id);
            CHECK(cudaStreamCreate(&objects[id].stream));
            CHECK(cudaEventCreate(&objects[id].event));
        });
    for (std::thread &thread : all)
        thread.join();
    CHECK(cudaDeviceReset());
    all.clear();
    for (int id = 0; id < count; id++)
        all.emplace_back([&, id] {
            int got;
            CHECK(cudaFree(work(10 * id + 5)));
            EXPECT_ERROR(cudaStreamSynchronize(objects[id].stream), cudaErrorInvalidResourceHandle);
            EXPECT_ERROR(cudaEventQuery(objects[id].event), cudaErrorInvalidResourceHandle);
            EXPECT_ERROR(cudaMemcpy(&got, objects[id].memory + (64 << 20), sizeof got,
                                    cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
            (void)cudaGetLastError();
        });
    for (std::thread &thread : all)
        thread.join();
}

// A thread that lives across the reset goes on with its own stream.
static void across()
{
    int *memory, value = 0;
    for (int cycle = 0; cycle < 3; cycle++) {
        CHECK(cudaMalloc(&memory, sizeof *memory));
        store<<<1, 1, 0, cudaStreamPerThread>>>(memory, cycle + 1);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(cudaStreamPerThread));
        CHECK(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
        if (value != cycle + 1)
            fail("cycle %d: the thread's own stream has stored %d", cycle, value);
        CHECK(cudaDeviceReset());
    }
}

int main()
{
    cycles();
    settings_and_memory();
    threads();
    across();
    return passed();
}
