// SPDX-License-Identifier: Apache-2.0
// Calls, recursion, constants, local memory, bit tricks, 64-bit division, vectors, generic access.
#include <cooperative_groups.h>

__constant__ float table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__device__ int counter = 40;
__device__ int numbers[4] = {10, 20, 30, 40};
__device__ int *third = &numbers[2];
struct pair {
    int *where;
    char tag[5];
};
__device__ pair pairs[2] = {{&numbers[1], "ab"}, {&counter, "xyz"}};

__device__ __noinline__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ int ackermann(int m, int n);
__device__ __noinline__ int ackermann_step(int m, int n)
{
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}
__device__ __noinline__ int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : ackermann_step(m, n);
}

extern "C" __global__ void recursion(int *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = t % 3 == 2 ? ackermann(2, t % 5) : fibonacci(t % 12);
}

__device__ __noinline__ int endless(int n)
{
    return endless(n + 1) + n;
}

extern "C" __global__ void overflow(int *out)
{
    out[0] = endless(out[1]);
}

struct record {
    int a;
    double b;
    char c[6];
};

__device__ __noinline__ record change(record r, int by)
{
    r.a += by;
    r.b *= by;
    r.c[by % 6] = (char)by;
    return r;
}

extern "C" __global__ void records(record in, record *out, int *tags)
{
    int t = threadIdx.x;
    out[t] = change(in, t);
    tags[t] = *pairs[t % 2].where + pairs[t % 2].tag[t % 3] + *third + (int)table[t % 8];
}

extern "C" __global__ void bump(int by)
{
    atomicAdd(&counter, by);
}

extern "C" __global__ void bits(const unsigned *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned x = in[2 * i], y = in[2 * i + 1], *o = out + i * 16;
    o[0] = __brev(x);
    o[1] = __clz((int)x);
    o[2] = __popc(x);
    o[3] = __byte_perm(x, y, 0x3715);
    o[4] = __funnelshift_l(x, y, y & 63);
    o[5] = __funnelshift_rc(x, y, x & 63);
    o[6] = __umulhi(x, y);
    o[7] = (unsigned)__mulhi((int)x, (int)y);
    o[8] = __ffs((int)x);
    o[9] = (x ^ y) & ~(x | 0xff) ^ 0x1234;
    o[10] = __usad(x, y, 7);
    o[11] = (unsigned)((int)x >> (y & 31));
    o[12] = x / (y | 1);
    o[13] = x % (y | 1);
    o[14] = (unsigned)((int)x / (int)(y | 1));
    o[15] = (unsigned)__mul24((int)x, (int)y);
}

extern "C" __global__ void wide(const long long *in, long long *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    long long x = in[2 * i], y = in[2 * i + 1] | 1, *o = out + i * 8;
    o[0] = x / y;
    o[1] = x % y;
    o[2] = (long long)((unsigned long long)x / (unsigned long long)y);
    o[3] = (long long)((unsigned long long)x % (unsigned long long)y);
    o[4] = __mul64hi(x, y);
    o[5] = __clzll(x) + __popcll(y);
    o[6] = (long long)(double)x + (long long)(float)y;
    o[7] = (long long)__brevll((unsigned long long)x) ^ (x << (y & 63)) ^ (x >> (y & 63));
}

extern "C" __global__ void local_sort(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v[16];
    if (i >= n) {
        return;
    }
    for (int k = 0; k < 16; k++) {
        v[k] = in[i * 16 + k];
    }
    for (int k = 1; k < 16; k++) {
        int x = v[k], j = k;
        while (j > 0 && v[j - 1] > x) {
            v[j] = v[j - 1];
            j--;
        }
        v[j] = x;
    }
    for (int k = 0; k < 16; k++) {
        out[i * 16 + k] = v[k];
    }
}

__device__ __noinline__ void add_into(int *p, int by)
{
    *p += by; // generic: shared, local and global come here
}

extern "C" __global__ void generic(int *out, int *spaces)
{
    __shared__ int s[64];
    int local[2] = {(int)threadIdx.x, 5};
    s[threadIdx.x] = 100;
    add_into(&s[threadIdx.x], threadIdx.x);
    add_into(&local[threadIdx.x & 1], 1000);
    add_into(&out[threadIdx.x], 7);
    __syncthreads();
    int *which = threadIdx.x % 3 == 0 ? &s[threadIdx.x] : threadIdx.x % 3 == 1 ? local : out;
    add_into(which, 1);
    spaces[threadIdx.x] = __isShared(which) + 2 * __isLocal(which) + 4 * __isGlobal(which);
    __syncthreads();
    out[threadIdx.x] += s[threadIdx.x] + local[0] + local[1];
}

extern "C" __global__ void vectors(const float4 *in, float4 *out, const short4 *shorts, int2 *ints)
{
    int t = threadIdx.x;
    float4 v = in[t];
    out[t] = make_float4(v.w, v.z, v.y, v.x);
    short4 s = shorts[t];
    ints[t] = make_int2(s.x * s.y, s.z - s.w);
}

extern "C" __global__ void groups(int *out)
{
    namespace cg = cooperative_groups;
    cg::thread_block block = cg::this_thread_block();
    __shared__ int s[128];
    s[block.thread_rank()] = block.thread_rank() * 3;
    block.sync();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int v = s[127 - block.thread_rank()];
    for (int step = 4; step > 0; step /= 2) {
        v += tile.shfl_down(v, step);
    }
    out[block.thread_rank()] = tile.shfl(v, 0);
}

extern "C" __global__ void warps(unsigned *out)
{
    unsigned t = threadIdx.x, *o = out + t * 8;
    o[0] = __ballot_sync(0xffffffffu, t % 3 == 0);
    o[1] = __any_sync(0xffffffffu, t == 40);
    o[2] = __all_sync(0xffffffffu, t < 32);
    o[3] = __shfl_xor_sync(0xffffffffu, t, 5);
    o[4] = __shfl_up_sync(0xffffffffu, t, 3, 16);
    o[5] = __match_any_sync(0xffffffffu, t % 4);
    unsigned m = 0;
    if (t & 1) {
        m = __activemask();
    }
    __syncwarp();
    o[6] = m;
    o[7] = (unsigned)__syncthreads_count(t % 5 == 0) + 1000 * (unsigned)__syncthreads_and(t < 64) +
           2000 * (unsigned)__syncthreads_or(t == 63);
}

extern "C" __global__ void atomics(unsigned *u, int *s, unsigned long long *w, float *f, double *d)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&u[0], t);
    atomicSub(&u[1], 1u);
    atomicMin(&u[2], t + 5);
    atomicMax(&u[3], t);
    atomicInc(&u[4], 99u);
    atomicDec(&u[5], 99u);
    atomicAnd(&u[6], ~(1u << (t % 32)));
    atomicOr(&u[7], 1u << (t % 7));
    atomicXor(&u[8], t);
    atomicMin(&s[0], -(int)t);
    atomicMax(&s[1], -(int)t - 1);
    atomicAdd(&w[0], (unsigned long long)t << 20);
    atomicMax(&w[1], (unsigned long long)t << 33);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    unsigned old = u[9], seen;
    do { // a product by compare and swap
        seen = old;
        old = atomicCAS(&u[9], seen, seen * 3u);
    } while (old != seen);
    if (atomicExch(&u[10], t + 1) == 0) {
        atomicAdd(&u[11], 1u);
    }
}
