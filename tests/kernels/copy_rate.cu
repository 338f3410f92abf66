// SPDX-License-Identifier: Apache-2.0
// copy_rate MEGABYTES TURNS: how fast pinned memory is copied to the device and back, a line of
// JSON with the MB/s of each turn. A helper of tests/rdma/measure.py, which compares.
#include <chrono>
#include <string>

#include "check.h"

static double seconds_now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static double turn(char *device, char *host, size_t bytes, bool in)
{
    double begin = seconds_now();
    CHECK(cudaMemcpyAsync(in ? device : host, in ? host : device, bytes, cudaMemcpyDefault, 0));
    CHECK(cudaStreamSynchronize(0));
    return (double)bytes / (seconds_now() - begin) / 1e6;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        fail("usage: copy_rate MEGABYTES TURNS");
    size_t bytes = (size_t)atoi(argv[1]) << 20;
    int turns = atoi(argv[2]);
    char *device, *host;
    std::string results[2];
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMallocHost(&host, bytes));
    memset(host, 1, bytes);
    for (int i = 0; i < 4; i++) // until the server knows the memory
        (void)turn(device, host, 65536, i % 2 == 0);
    for (int i = 0; i < 2 * turns; i++)
        results[i % 2] +=
            (i < 2 ? "" : ", ") + std::to_string(turn(device, host, bytes, i % 2 == 0));
    printf("{\"in\": [%s], \"out\": [%s]}\n", results[0].c_str(), results[1].c_str());
    return passed();
}
