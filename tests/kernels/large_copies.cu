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

static unsigned char pattern(size_t i, int seed)
{
    return (unsigned char)(i * 31 + i / 4099 + (size_t)seed * 17);
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

static void *run(void *at)
{
    const work *mine = static_cast<const work *>(at);
    std::vector<unsigned char> pageable(most);
    unsigned char *device, *pinned;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, most));
    CHECK(cudaMallocHost(&pinned, most));
    for (int i = 0; i < rounds; i++)
        round_trip(mine->number * rounds + i, device, pinned, pageable, stream);
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
