// SPDX-License-Identifier: Apache-2.0
// Threads that allocate and free at the same time: memory that one has freed another may have at
// once, none of them runs out of it, and nobody writes into another's.
#include <pthread.h>

#include "check.h"

static const int threads = 4, rounds = 60;
static const size_t small = 1 << 10, large = 4 << 20, share = 100 << 20;

static void use(int thread, int round, size_t bytes)
{
    int value = thread * rounds + round + 1, first, last;
    int *memory;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemcpy(memory, &value, sizeof value, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(memory + bytes / sizeof value - 1, &value, sizeof value,
                     cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(&first, memory, sizeof first, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&last, memory + bytes / sizeof value - 1, sizeof last,
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(memory));
    if (first != value || last != value)
        fail("thread %d, round %d: %d and %d, %d is right", thread, round, first, last, value);
}

static void *run(void *at)
{
    int thread = *static_cast<int *>(at);
    for (int round = 0; round < rounds; round++)
        use(thread, round, round % 3 == 0 ? small : round % 3 == 1 ? large : share);
    return nullptr;
}

int main()
{
    pthread_t running[threads];
    int numbers[threads];
    CHECK(cudaFree(nullptr));
    for (int i = 0; i < threads; i++) {
        numbers[i] = i;
        pthread_create(&running[i], nullptr, run, &numbers[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(running[i], nullptr);
    puts("PASSED");
    return 0;
}
