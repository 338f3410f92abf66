// SPDX-License-Identifier: Apache-2.0
// busy [SECONDS]: a kernel of about so many seconds, then 1 GB of copies behind it: the connection
// drains nothing all the while, and nobody may take that for a dead peer. Every byte is checked.
#include <chrono>

#include "check.h"

static const size_t bytes = 16 << 20;
static const int copies = 64;

__global__ void work(unsigned *out, unsigned long long rounds)
{
    unsigned value = 1;
    for (unsigned long long i = 0; i < rounds; i++)
        value = value * 1664525u + 1013904223u;
    *out = value;
}

static double run(unsigned *out, unsigned long long rounds)
{
    auto begin = std::chrono::steady_clock::now();
    work<<<1, 1>>>(out, rounds);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.1;
    unsigned *out;
    unsigned char *device, *host, *back;
    CHECK(cudaMalloc(&out, sizeof *out));
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaMallocHost(&back, bytes));
    for (size_t at = 0; at < bytes; at++)
        host[at] = (unsigned char)(at * 31 + at / 4096);
    unsigned long long rounds = 1 << 12;
    double took;
    while ((took = run(out, rounds)) < 0.2 && rounds < 1ull << 40)
        rounds *= 2;
    rounds = (unsigned long long)((double)rounds * seconds / took) + 1;
    auto begin = std::chrono::steady_clock::now();
    work<<<1, 1>>>(out, rounds);
    CHECK(cudaGetLastError());
    for (int i = 0; i < copies; i++)
        CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, 0));
    CHECK(cudaMemcpyAsync(back, device, bytes, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaDeviceSynchronize());
    printf("busy for %.1f s\n",
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    for (size_t at = 0; at < bytes; at++)
        if (back[at] != (unsigned char)(at * 31 + at / 4096))
            fail("byte %zu is %u", at, back[at]);
    return passed();
}
