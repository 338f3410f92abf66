// SPDX-License-Identifier: Apache-2.0
// Large copies of several threads at the same time, both ways, pageable and pinned, of sizes that
// are no multiple of anything: each is whole, and in the order of its stream, while small copies
// and launches go on beside it.
#include <pthread.h>
#include <vector>

#include "check.h"

static const int threads = 3, rounds = 4;
static const size_t most = (5 << 20) + 12345;

__global__ void add(unsigned char *data, size_t count, int value)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        data[i] = (unsigned char)(data[i] + value);
}

// Compresses as text does.
static unsigned char pattern(size_t i, int seed)
{
    unsigned word = (unsigned)(i / 8) * 2654435761u >> 24;
    return (unsigned char)(word * 31 + i % 8 * 7 + i / 65521 + (size_t)seed * 17);
}

static void fill(unsigned char *host, size_t bytes, int seed)
{
    for (size_t i = 0; i < bytes; i++)
        host[i] = pattern(i, seed);
}

static void expect(const unsigned char *host, size_t bytes, int seed, int added, const char *what)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char right = (unsigned char)(pattern(i, seed) + added);
        if (host[i] != right)
            fail("%s: byte %zu of %zu is %d, %d is right", what, i, bytes, host[i], right);
    }
}

struct work {
    int number;
    pthread_t thread;
};

static void round_trip(int seed, unsigned char *device, unsigned char *pinned,
                       std::vector<unsigned char> &pageable, cudaStream_t stream)
{
    size_t bytes = most - (size_t)seed * 777;
    int small = seed, got = 0, *word;
    CHECK(cudaMalloc(&word, sizeof *word));
    fill(pageable.data(), bytes, seed);
    CHECK(cudaMemcpyAsync(device, pageable.data(), bytes, cudaMemcpyHostToDevice, stream));
    memset(pageable.data(), 0, bytes); // it has been taken
    add<<<8, 128, 0, stream>>>(device, bytes, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(word, &small, sizeof small, cudaMemcpyHostToDevice, stream));
    memset(pinned, 0, bytes);
    CHECK(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream));
    add<<<8, 128, 0, stream>>>(device, bytes, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(&got, word, sizeof got, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(pageable.data(), device, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(pinned, bytes, seed, 1, "into pinned memory");
    expect(pageable.data(), bytes, seed, 2, "into pageable memory");
    CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpy2DAsync(pageable.data(), 1000, device, 1001, 999, 2000, cudaMemcpyDeviceToHost,
                            stream));
    CHECK(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < 999 * 2000; i++) {
        size_t row = i / 999, column = i % 999;
        unsigned char right = (unsigned char)(pattern(row * 1001 + column, seed) + 1);
        if (pageable[row * 1000 + column] != right)
            fail("row %zu, column %zu", row, column);
    }
    if (got != small)
        fail("a small copy: %d, %d is right", got, small);
    CHECK(cudaFree(word));
}

static const size_t width = 999, rows = 2000;

static void expect_rows(const unsigned char *host, size_t pitch, size_t from_pitch, int seed,
                        const char *what)
{
    for (size_t i = 0; i < width * rows; i++) {
        size_t row = i / width, column = i % width;
        if (host[row * pitch + column] != pattern(row * from_pitch + column, seed))
            fail("%s: row %zu, column %zu", what, row, column);
    }
}

// Rows that lie apart on the host, and rows that do not; into rows that lie apart, and an array.
static void rows_in(int seed, size_t host_pitch, unsigned char *device,
                    std::vector<unsigned char> &pageable, cudaArray_t array, cudaStream_t stream)
{
    const size_t pitch = 1001;
    fill(pageable.data(), most, seed);
    CHECK(cudaMemcpy2DAsync(device, pitch, pageable.data(), host_pitch, width, rows,
                            cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, pageable.data(), host_pitch, width, rows,
                                   cudaMemcpyHostToDevice, stream));
    memset(pageable.data(), 0, most); // it has been taken
    CHECK(cudaMemcpyAsync(pageable.data(), device, pitch * rows, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect_rows(pageable.data(), pitch, host_pitch, seed, "rows in");
    CHECK(cudaMemcpy2DFromArrayAsync(pageable.data(), width, array, 0, 0, width, rows,
                                     cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect_rows(pageable.data(), width, host_pitch, seed, "into an array");
}

static void *run(void *at)
{
    const work *mine = static_cast<const work *>(at);
    std::vector<unsigned char> pageable(most);
    unsigned char *device, *pinned;
    cudaStream_t stream;
    cudaArray_t array;
    const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
    CHECK(cudaMallocArray(&array, &bytes, width, rows));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, most));
    CHECK(cudaMallocHost(&pinned, most));
    for (int i = 0; i < rounds; i++)
        round_trip(mine->number * rounds + i, device, pinned, pageable, stream);
    rows_in(mine->number, width + 4, device, pageable, array, stream);
    rows_in(mine->number, width, device, pageable, array, stream);
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return nullptr;
}

int main()
{
    work all[threads];
    CHECK(cudaFree(nullptr));
    for (int i = 0; i < threads; i++) {
        all[i].number = i;
        pthread_create(&all[i].thread, nullptr, run, &all[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(all[i].thread, nullptr);
    return passed();
}
