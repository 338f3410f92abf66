// SPDX-License-Identifier: Apache-2.0
// malloc and new in kernels: memory that lives from one kernel to the next, is freed by another
// thread, and ends where the limit says.
#include "check.h"

struct Item {
    Item *next;
    int value;
};

__device__ Item *head;
__device__ int failures;

__global__ void push(int n)
{
    for (int i = 0; i < n; i++) {
        Item *item = new Item;
        if (!item) {
            atomicAdd(&failures, 1);
            return;
        }
        item->value = (blockIdx.x * blockDim.x + threadIdx.x) * n + i;
        Item *seen = head;
        do {
            item->next = seen;
            seen = (Item *)atomicCAS((unsigned long long *)&head, (unsigned long long)item->next,
                                     (unsigned long long)item);
        } while (seen != item->next);
    }
}

__global__ void pop_all(unsigned long long *sum, int *count)
{
    while (head) {
        Item *item = head;
        head = item->next;
        *sum += item->value;
        ++*count;
        delete item;
    }
}

__global__ void exhaust(int *blocks, size_t bytes)
{
    while (void *p = malloc(bytes)) {
        *(void **)p = nullptr;
        ++*blocks;
    }
}

int main()
{
    size_t limit;
    CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    if (limit != 8 << 20)
        fail("the heap has %zu bytes by default", limit);
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 3 << 20));

    unsigned long long *sum, host_sum;
    int *count, host_count;
    CHECK(cudaMalloc(&sum, sizeof *sum));
    CHECK(cudaMalloc(&count, sizeof *count));
    for (int round = 0; round < 3; round++) {
        const int threads = 8 * 64, each = 20, total = threads * each;
        CHECK(cudaMemset(sum, 0, sizeof *sum));
        CHECK(cudaMemset(count, 0, sizeof *count));
        push<<<8, 64>>>(each);
        pop_all<<<1, 1>>>(sum, count);
        CHECK(cudaMemcpy(&host_sum, sum, sizeof host_sum, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&host_count, count, sizeof host_count, cudaMemcpyDeviceToHost));
        if (host_count != total || host_sum != (unsigned long long)total * (total - 1) / 2)
            fail("round %d: %d items, sum %llu", round, host_count, host_sum);
    }
    int host_failures;
    CHECK(cudaMemcpyFromSymbol(&host_failures, failures, sizeof host_failures));
    if (host_failures)
        fail("%d times there was no memory", host_failures);

    // Kernels have used the heap: its size stays.
    EXPECT_ERROR(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    if (limit != 3 << 20)
        fail("the heap has %zu bytes, 3 MiB were asked for", limit);
    CHECK(cudaMemset(count, 0, sizeof *count));
    exhaust<<<1, 1>>>(count, 100000);
    CHECK(cudaMemcpy(&host_count, count, sizeof host_count, cudaMemcpyDeviceToHost));
    if (host_count < 25 || host_count > 31)
        fail("%d blocks of 100000 bytes in a heap of 3 MiB", host_count);
    printf("%d blocks of 100000 bytes in a heap of 3 MiB\n", host_count);
    CHECK(cudaFree(sum));
    CHECK(cudaFree(count));
    return passed();
}
