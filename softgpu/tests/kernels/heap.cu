// SPDX-License-Identifier: Apache-2.0
// malloc and free in kernels.
extern "C" __global__ void give_and_take(int **slots, int rounds, int *bad)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned random = t * 2654435761u + 1;
    for (int i = 0; i < rounds; i++) {
        random = random * 1664525u + 1013904223u;
        unsigned words = 1 + (random >> 20) % 200;
        int *p = (int *)malloc(words * sizeof(int));
        if (!p) {
            atomicAdd(&bad[0], 1);
            continue;
        }
        if ((size_t)p % 16)
            atomicAdd(&bad[1], 1);
        for (unsigned k = 0; k < words; k++)
            p[k] = t * 1000 + i;
        for (unsigned k = 0; k < words; k++)
            if (p[k] != t * 1000 + i)
                atomicAdd(&bad[2], 1);
        if (i % 2) {
            free(p);
        } else {
            free(slots[t]); // that of the round before, or of the kernel before
            slots[t] = p;
        }
    }
}

extern "C" __global__ void free_all(int **slots, int count)
{
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        free(slots[count - 1 - i]); // another thread's
}

extern "C" __global__ void take(void **out, unsigned long long bytes)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = malloc(bytes);
}

extern "C" __global__ void take_aligned(void **out, size_t bytes, size_t align)
{
    out[threadIdx.x] = __nv_aligned_device_malloc(bytes, align);
}

extern "C" __global__ void give(void *p) { free(p); }

extern "C" __global__ void objects(int *out)
{
    struct Pair {
        int a, b;
        __device__ Pair(int a) : a(a), b(a * a) {}
        __device__ virtual ~Pair() { a = 0; }
    };
    Pair *pair = new Pair(threadIdx.x);
    int *many = new int[threadIdx.x + 1];
    for (int i = 0; i <= (int)threadIdx.x; i++)
        many[i] = i;
    out[threadIdx.x] = pair->a + pair->b + many[threadIdx.x];
    delete pair;
    delete[] many;
}
