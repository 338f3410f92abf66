// SPDX-License-Identifier: Apache-2.0
// What a scheduler gets wrong: locks in a warp, flags between warps, barriers in divergent code.
#include <cooperative_groups.h>

// Each block adds what the next one held before the barrier.
extern "C" __global__ void grid_barriers(int *value, int rounds)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (int i = 0; i < rounds; i++) {
        int next = ((volatile int *)value)[(blockIdx.x + 1) % gridDim.x];
        grid.sync();
        if (threadIdx.x == 0)
            ((volatile int *)value)[blockIdx.x] += next;
        grid.sync();
    }
}

extern "C" __global__ void spin_lock(int *lock, int *count)
{
    for (int done = 0; !done;) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *(volatile int *)count += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = 1;
        }
    }
}

extern "C" __global__ void direct_spin_lock(int *lock, int *count)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    *(volatile int *)count += 1;
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void warp_flag(volatile int *flag, int *out)
{
    if (threadIdx.x < 32) { // the first warp waits for the last thread
        while (*flag == 0) {
        }
        out[threadIdx.x] = *flag;
    } else if (threadIdx.x == blockDim.x - 1) {
        *flag = 77;
    }
}

extern "C" __global__ void lane_flag(volatile int *flag, int *out)
{
    if (threadIdx.x == 0) { // lane 0 waits for lane 31
        while (*flag == 0) {
        }
        out[0] = *flag;
    } else if (threadIdx.x == 31) {
        *flag = 78;
    }
}

// The last step of many block reductions: eight lanes shuffle as if there were 32.
extern "C" __global__ void few_lanes(int *out)
{
    int sum = 1000 + threadIdx.x;
    unsigned few = __ballot_sync(0xffffffffu, threadIdx.x < 8);
    if (threadIdx.x < 8) {
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(few, sum, step);
        if (threadIdx.x == 0)
            *out = sum;
    }
}

extern "C" __global__ void divergent_barrier(int *out)
{
    __shared__ int s[64];
    if (threadIdx.x & 1) {
        s[threadIdx.x] = 1;
        __syncthreads();
    } else {
        s[threadIdx.x] = 2;
        __syncthreads();
    }
    out[threadIdx.x] = s[63 - threadIdx.x];
}

extern "C" __global__ void early_exit(int *out)
{
    if (threadIdx.x % 3 == 0) {
        return;
    }
    __syncthreads();
    out[threadIdx.x] = 5;
    __syncthreads();
    if (threadIdx.x > 40) {
        return;
    }
    __syncthreads();
    out[threadIdx.x] = 6;
}

extern "C" __global__ void named_barriers(int *out)
{
    __shared__ int s[128];
    s[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x < 64) { // producer: half of the block
        s[threadIdx.x] = threadIdx.x + 1;
        asm volatile("bar.arrive 3, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 3, 128;" ::: "memory");
        out[threadIdx.x - 64] = s[threadIdx.x - 64];
    }
}

// blocks wait for a later block: needs more than one of them under way
extern "C" __global__ void grid_barrier(int *arrived, int *out)
{
    __shared__ int dummy;
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*(volatile int *)arrived < (int)gridDim.x) {
        }
        dummy = *(volatile int *)arrived;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = dummy;
}

extern "C" __global__ void collatz(const unsigned *in, unsigned *out)
{
    unsigned x = in[threadIdx.x], steps = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        steps++;
    }
    out[threadIdx.x] = steps;
}

extern "C" __global__ void switches(const int *in, int *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, x = in[t], r = 0;
    for (int i = 0; i < 40; i++) {
        switch ((x + i) % 7) {
        case 0: r += 3; break;
        case 1: r ^= x; break;
        case 2: r = r * 5 + 1; continue;
        case 3: if (r & 1) break; r -= x; break;
        case 4: r <<= 1; // falls through
        case 5: r += i; break;
        default: if (r > 100000) goto out; r++; break;
        }
        x = x * 1103515245 + 12345;
    }
out:
    out[t] = r;
}

extern "C" __global__ void endless(volatile int *flag)
{
    while (*flag == 0) {
    }
}

extern "C" __global__ void wild(int *p, long long offset)
{
    if (threadIdx.x == 5 && blockIdx.x == 2) {
        p[offset] = 1;
    }
}

extern "C" __global__ void crooked(char *p)
{
    *(volatile int *)(p + threadIdx.x) = 1;
}

extern "C" __global__ void shared_wild(int *out, int at)
{
    __shared__ int s[16];
    s[threadIdx.x & 15] = 1;
    __syncthreads();
    out[threadIdx.x] = s[at];
}

extern "C" __global__ void trapping(int *p)
{
    if (*p == 0) {
        __trap();
    }
}

#include <cassert>
extern "C" __global__ void asserting(int *p)
{
    assert(p[threadIdx.x] == 0);
}

__device__ __noinline__ unsigned tree(unsigned n)
{
    return n < 2 ? n : tree(n - 1) + tree(n - 2);
}

extern "C" __global__ void endless_calls(unsigned *out)
{
    out[threadIdx.x] = tree(out[threadIdx.x]);
}

// Even blocks write vectors whose elements are equal, odd ones count those that they find torn.
extern "C" __global__ void vectors_of_16(ulonglong2 *place, unsigned *torn, unsigned rounds)
{
    for (unsigned i = 1; i <= rounds; i++) {
        unsigned long long x = i, y = i;
        if (blockIdx.x % 2 == 0) {
            asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(place + threadIdx.x),
                         "l"(x), "l"(y) : "memory");
        } else {
            asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y)
                         : "l"(place + threadIdx.x) : "memory");
            if (x != y) {
                atomicAdd(torn, 1u);
            }
        }
    }
}

extern "C" __global__ void vectors_of_8(uint2 *place, unsigned *torn, unsigned rounds)
{
    for (unsigned i = 1; i <= rounds; i++) {
        unsigned x = i, y = i;
        if (blockIdx.x % 2 == 0) {
            asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(place + threadIdx.x),
                         "r"(x), "r"(y) : "memory");
        } else {
            asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y)
                         : "l"(place + threadIdx.x) : "memory");
            if (x != y) {
                atomicAdd(torn, 1u);
            }
        }
    }
}
