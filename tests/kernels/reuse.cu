// SPDX-License-Identifier: Apache-2.0
// reuse WHAT COUNT: a loop that does the same COUNT times, as programs do that allocate what they
// need for each step. The end-to-end tests count its round trips.
//   free_first   allocates, launches, frees, waits
//   wait_first   allocates, launches, waits, frees
//   queries      launches, records events, waits for the work another way, and asks and waits for
//                each event and the stream
//   copies_in    copies to the device, launches in a stream that was made, waits for it
//   copies_both  copies to the device, launches in a stream that was made, copies back
//   facts        asks for attributes and occupancy
// In each turn 5 KiB and 12 MiB are allocated. Without arguments: all of them, a few times.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"

static const size_t large = 12 << 20, small = 5 << 10;

__global__ void fill(int *data, int value)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static void allocations(int count, bool free_first)
{
    int *last;
    CHECK(cudaMalloc(&last, sizeof(int) * 64));
    for (int i = 0; i < count; i++) {
        int *blocks[2];
        CHECK(cudaMalloc(&blocks[0], large));
        CHECK(cudaMalloc(&blocks[1], small));
        for (int *block : blocks)
            fill<<<2, 32>>>(block, i);
        CHECK(cudaMemcpyAsync(last, blocks[i % 2], sizeof(int) * 64, cudaMemcpyDeviceToDevice));
        if (!free_first)
            CHECK(cudaStreamSynchronize(0));
        CHECK(cudaFree(blocks[0]));
        CHECK(cudaFree(blocks[1]));
        if (free_first)
            CHECK(cudaStreamSynchronize(0));
    }
    int got[64];
    CHECK(cudaMemcpy(got, last, sizeof got, cudaMemcpyDeviceToHost));
    for (int value : got) {
        if (value != count - 1)
            fail("a value is %d, %d is right", value, count - 1);
    }
    CHECK(cudaFree(last));
}

static void queries(int count)
{
    cudaStream_t stream;
    std::vector<cudaEvent_t> events(8);
    int *data;
    CHECK(cudaMalloc(&data, sizeof(int) * 64));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (cudaEvent_t &event : events)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 0; i < count; i++) {
        for (cudaEvent_t event : events) {
            fill<<<2, 32, 0, stream>>>(data, i);
            CHECK(cudaEventRecord(event, stream));
        }
        if (i % 2 == 0)
            CHECK(cudaStreamSynchronize(stream));
        else
            CHECK(cudaEventSynchronize(events.back()));
        for (cudaEvent_t event : events) {
            CHECK(cudaEventQuery(event));
            CHECK(cudaEventSynchronize(event));
        }
        CHECK(cudaStreamQuery(stream));
    }
    for (cudaEvent_t event : events)
        CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
}

__global__ void add(int *sum, const int *value)
{
    *sum += *value;
}

// Both streams wait for each other, so the copies need not be waited for.
static void copies(int count, bool back)
{
    cudaStream_t streams[2];
    int *data, sum = 0;
    CHECK(cudaMalloc(&data, sizeof(int) * 2));
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpy(data, &sum, sizeof sum, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(&sum, data, sizeof sum, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) {
        CHECK(cudaMemcpy(data + 1, &i, sizeof i, cudaMemcpyHostToDevice));
        add<<<1, 1, 0, streams[i % 2]>>>(data, data + 1);
        if (back)
            CHECK(cudaMemcpy(&sum, data, sizeof sum, cudaMemcpyDeviceToHost));
        else
            CHECK(cudaStreamSynchronize(streams[i % 2]));
    }
    CHECK(cudaMemcpy(&sum, data, sizeof sum, cudaMemcpyDeviceToHost));
    if (sum != count * (count - 1) / 2)
        fail("the sum of the numbers below %d is not %d", count, sum);
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
}

static void facts(int count)
{
    int *data;
    CHECK(cudaMalloc(&data, sizeof(int) * 64)); // the module is loaded
    fill<<<2, 32>>>(data, 1);
    for (int i = 0; i < count; i++) {
        int value, blocks, grid, block;
        cudaDeviceProp properties;
        cudaFuncAttributes attributes;
        CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
        CHECK(cudaGetDeviceProperties(&properties, 0));
        CHECK(cudaFuncGetAttributes(&attributes, fill));
        CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 32, i % 2 * 1024));
        CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill));
        if (value != properties.multiProcessorCount || blocks < 1 || grid < value ||
            block > attributes.maxThreadsPerBlock)
            fail("%d multiprocessors, %d and %d blocks of %d", value, blocks, grid, block);
    }
    CHECK(cudaFree(data));
}

static void run(const char *what, int count)
{
    if (!strcmp(what, "free_first") || !strcmp(what, "wait_first"))
        allocations(count, what[0] == 'f');
    else if (!strcmp(what, "queries"))
        queries(count);
    else if (!strcmp(what, "copies_in") || !strcmp(what, "copies_both"))
        copies(count, what[7] == 'b');
    else if (!strcmp(what, "facts"))
        facts(count);
    else
        fail("%s?", what);
}

int main(int argc, char **argv)
{
    const char *all[] = {"free_first", "wait_first", "queries", "copies_in", "copies_both",
                         "facts"};
    if (argc == 3) {
        run(argv[1], atoi(argv[2]));
    } else {
        for (const char *what : all)
            run(what, 5);
    }
    return passed();
}
