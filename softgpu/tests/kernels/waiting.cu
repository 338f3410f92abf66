// SPDX-License-Identifier: Apache-2.0
// Threads that wait for each other in every way that a GPU allows: each kernel ends on a GPU, with
// the result that its test computes.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// ---- locks inside a warp, in the spellings that programs use

__device__ __noinline__ void work(volatile int *count, int by)
{
    for (int i = 0; i < by; i++)
        *count += 1;
}

extern "C" __global__ void lock_done_flag(int *lock, int *count)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            work(count, threadIdx.x % 3 + 1);
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

extern "C" __global__ void lock_do_while(int *lock, int *count)
{
    do {
    } while (atomicCAS(lock, 0, 1) != 0);
    __threadfence();
    work(count, threadIdx.x % 3 + 1);
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void lock_backoff(int *lock, int *count)
{
    unsigned ns = 8;
    while (atomicCAS(lock, 0, 1) != 0) {
        __nanosleep(ns);
        if (ns < 256)
            ns *= 2;
    }
    work(count, threadIdx.x % 3 + 1);
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void lock_ticket(int *lock, int *count)
{
    int mine = atomicAdd(&lock[1], 1);
    while (atomicAdd(&lock[2], 0) != mine) {
    }
    work(count, threadIdx.x % 3 + 1);
    __threadfence();
    atomicAdd(&lock[2], 1);
}

extern "C" __global__ void lock_goto(int *lock, int *count)
{
again:
    if (atomicExch(lock, 1) == 1)
        goto again;
    work(count, threadIdx.x % 3 + 1);
    __threadfence();
    atomicExch(lock, 0);
}

__device__ __noinline__ int try_lock(int *lock)
{
    return atomicCAS(lock, 0, 1) == 0;
}

__device__ __noinline__ void unlock(int *lock)
{
    __threadfence();
    atomicExch(lock, 0);
}

// Nothing is inlined, and a turn in the loop has many calls.
extern "C" __global__ void lock_in_calls(int *lock, int *count)
{
    int got = 0, tries = 0;
    while (!got) {
        got = try_lock(lock);
        tries += try_lock(&lock[3 + threadIdx.x]) + try_lock(&lock[3 + threadIdx.x]) +
                 try_lock(&lock[3 + threadIdx.x]) + try_lock(&lock[3 + threadIdx.x]) +
                 try_lock(&lock[3 + threadIdx.x]) + try_lock(&lock[3 + threadIdx.x]) +
                 try_lock(&lock[3 + threadIdx.x]) + try_lock(&lock[3 + threadIdx.x]);
        unlock(&lock[3 + threadIdx.x]);
    }
    work(count, threadIdx.x % 3 + 1 + (tries < 0));
    unlock(lock);
}

// Two locks, always in the same order, and one of them taken in divergent code.
extern "C" __global__ void lock_two(int *lock, int *count)
{
    for (int round = 0; round < 2; round++) {
        if ((threadIdx.x + round) & 1) {
            while (atomicCAS(&lock[0], 0, 1) != 0) {
            }
            while (atomicCAS(&lock[1], 0, 1) != 0) {
            }
            work(count, 1);
            unlock(&lock[1]);
            unlock(&lock[0]);
        } else {
            while (atomicCAS(&lock[1], 0, 1) != 0) {
            }
            *(volatile int *)&count[1] += 1;
            unlock(&lock[1]);
        }
    }
}

// ---- one lane waits for another, with calls in the loop

__device__ __noinline__ int look(volatile int *flag)
{
    return *flag;
}

extern "C" __global__ void lane_waits_in_calls(int *flag, int *out)
{
    if (threadIdx.x == 0) {
        while (look(flag) + look(flag) + look(flag) + look(flag) + look(flag) + look(flag) +
                   look(flag) + look(flag) + look(flag) + look(flag) + look(flag) + look(flag) ==
               0) {
        }
        out[0] = *(volatile int *)flag;
    } else if (threadIdx.x == 31) {
        *(volatile int *)flag = 79;
    }
}

// Every lane waits for the one behind it: 31 levels of waiting.
extern "C" __global__ void lane_chain(volatile int *flags, int *out)
{
    int t = threadIdx.x;
    if (t < blockDim.x - 1) {
        while (flags[t + 1] == 0) {
        }
    }
    out[t] = t < blockDim.x - 1 ? out[t + 1] + 1 : 1;
    __threadfence();
    flags[t] = 1;
}

__device__ unsigned recurse_and_wait(int depth, volatile int *turn, int me)
{
    if (depth == 0) {
        while (*turn != me) {
        }
        *turn = me + 1;
        return me;
    }
    return recurse_and_wait(depth - 1, turn, me) + depth;
}

// Each lane waits for the lane before it, at the bottom of a recursion as deep as its number.
extern "C" __global__ void turns_in_recursion(int *turn, unsigned *out)
{
    out[threadIdx.x] = recurse_and_wait(threadIdx.x % 7, turn, threadIdx.x);
}

// ---- warps and blocks

extern "C" __global__ void warp_pipeline(int *out, int rounds)
{
    __shared__ volatile int full, value;
    if (threadIdx.x == 0)
        full = 0;
    __syncthreads();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = 0; i < rounds; i++) {
        if (warp == 0) { // produces
            if (lane == 0) {
                while (full) {
                }
                value = i * 3;
                __threadfence_block();
                full = 1;
            }
            __syncwarp();
        } else if (warp == 1) {
            while (!full) {
            }
            int got = value;
            __syncwarp();
            if (lane == 0) {
                __threadfence_block();
                full = 0;
            }
            __syncwarp();
            out[lane] += got;
        }
    }
}

// A single-pass scan with decoupled look-back: blocks wait for those before them.
extern "C" __global__ void look_back(volatile int *state, volatile int *sums, int *ticket, int *out)
{
    __shared__ int block, before;
    if (threadIdx.x == 0)
        block = atomicAdd(ticket, 1);
    __syncthreads();
    int mine = block + 1, total = __syncthreads_count(1) * mine;
    if (threadIdx.x == 0) {
        int sum = 0;
        if (block > 0) {
            while (state[block - 1] != 2) {
            }
            __threadfence();
            sum = sums[block - 1];
        }
        sums[block] = sum + total;
        __threadfence();
        state[block] = 2;
        before = sum;
    }
    __syncthreads();
    out[block * blockDim.x + threadIdx.x] = before + mine * (threadIdx.x + 1);
}

extern "C" __global__ void ping_pong(volatile int *turn, int *out, int rounds)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < rounds; i++) {
            while (*turn != (int)blockIdx.x) {
            }
            out[0]++;
            __threadfence();
            *turn = (blockIdx.x + 1) % gridDim.x;
        }
    }
}

extern "C" __global__ void grid_sum(int *value, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    for (int i = 0; i < rounds; i++) {
        atomicAdd(&value[i], 1);
        grid.sync();
        if (((volatile int *)value)[i] != (int)grid.size())
            atomicAdd(&value[rounds], 1);
    }
}

// ---- barriers

// Each round half of the threads comes from one place of the program and half from another.
extern "C" __global__ void barriers_here_and_there(int *out, int rounds)
{
    __shared__ int s[256];
    int t = threadIdx.x, n = blockDim.x, sum = 0;
    for (int i = 0; i < rounds; i++) {
        if ((t ^ i) & 1) {
            s[t] = t + i;
            __syncthreads();
        } else if ((t ^ i) & 2) {
            s[t] = 2 * t + i;
            __syncthreads();
        } else {
            s[t] = 3 * t + i;
            __syncthreads();
        }
        sum += s[n - 1 - t];
        __syncthreads();
    }
    out[t] = sum;
}

__device__ __noinline__ int barrier_in_call(int *s, int t, int depth)
{
    if (depth == 0) {
        s[t] = t * 5;
        __syncthreads();
        return s[t ^ 1];
    }
    return barrier_in_call(s, t, depth - 1) + 1;
}

// Lanes meet at a barrier from calls of different depth.
extern "C" __global__ void barriers_in_calls(int *out)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    out[t] = barrier_in_call(s, t, t % 5);
}

// Threads leave one after the other; the rest goes on meeting.
extern "C" __global__ void leave_one_by_one(int *out)
{
    for (int i = 0; i < (int)blockDim.x; i++) {
        if ((int)threadIdx.x == i)
            return;
        __syncthreads();
        out[threadIdx.x]++;
    }
}

extern "C" __global__ void subsets(int *out, int rounds)
{
    __shared__ volatile int s[4];
    int pair = threadIdx.x / 64, sum = 0;
    if (threadIdx.x < 4)
        s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < rounds; i++) { // each pair of warps has a barrier of its own
        if (threadIdx.x % 64 == 0)
            s[pair] = i + pair;
        asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
        sum += s[pair];
        asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void ring(int *out, int rounds)
{
    __shared__ volatile int slot[2];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = 0; i < rounds; i++) { // two slots, barriers 1, 2 full and 3, 4 empty
        int k = i & 1;
        if (warp == 0) {
            if (i >= 2)
                asm volatile("bar.sync %0, 64;" ::"r"(k + 3) : "memory");
            if (lane == 0)
                slot[k] = i * i;
            __syncwarp();
            asm volatile("bar.arrive %0, 64;" ::"r"(k + 1) : "memory");
        } else {
            asm volatile("bar.sync %0, 64;" ::"r"(k + 1) : "memory");
            out[lane] += slot[k];
            if (i + 2 < rounds)
                asm volatile("bar.arrive %0, 64;" ::"r"(k + 3) : "memory");
        }
    }
}

extern "C" __global__ void votes(int *out)
{
    int t = threadIdx.x;
    int count = __syncthreads_count(t % 3 == 0), all = __syncthreads_and(t < 1000),
        any = __syncthreads_or(t == 77), none = __syncthreads_or(t == 777);
    if (t & 1) // again, with the warp in two parts
        count += __syncthreads_count(t % 5 == 1);
    else
        count += __syncthreads_count(t % 5 == 2);
    out[t] = count * 8 + (all != 0) * 4 + (any != 0) * 2 + (none != 0);
}

// ---- lanes of a warp

// Not all lanes take part, and those that do come from different places.
extern "C" __global__ void partial(int *out)
{
    int lane = threadIdx.x % 32, r = 0;
    if (lane < 20) {
        if (lane & 1)
            r = __shfl_sync(0xaaaaa, lane * 10, 7);
        else
            r = __shfl_sync(0x55555, lane * 10, 4) + 1;
    }
    unsigned odd = __match_any_sync(0xffffffff, lane % 5);
    if (lane % 5 == 2)
        r += __popc(__ballot_sync(odd, lane > 10)) * 1000;
    if (lane >= 16) {
        int all = __all_sync(0xffff0000, lane > 3), any = __any_sync(0xffff0000, lane == 3);
        r += (all != 0) * 100000 + (any != 0) * 200000;
    }
    out[threadIdx.x] = r;
}

__device__ __noinline__ int exchange(int value, int with)
{
    return __shfl_xor_sync(0xffffffff, value, with);
}

// The lanes meet in a function that they have called from different places.
extern "C" __global__ void shuffle_in_calls(int *out)
{
    int t = threadIdx.x, r;
    if (t & 1)
        r = exchange(t, 1);
    else if (t & 2)
        r = exchange(t * 2, 1) + 100;
    else
        r = exchange(t * 3, 1) + 200;
    out[t] = r;
}

__device__ __noinline__ int vote_below(int depth, int t)
{
    if (depth == 0)
        return __popc(__ballot_sync(0xffffffff, t % 3 == 0));
    return vote_below(depth - 1, t) + 1;
}

// ... and at different depths of a recursion.
extern "C" __global__ void vote_in_recursion(int *out)
{
    out[threadIdx.x] = vote_below(threadIdx.x % 4, threadIdx.x);
}

// Lanes leave; those that stay go on with the masks that they have.
extern "C" __global__ void lanes_leave(int *out)
{
    unsigned mask = 0xffffffff;
    int lane = threadIdx.x % 32, sum = 0;
    for (int i = 0; i < 32; i++) {
        mask = __ballot_sync(mask, lane >= i);
        if (lane < i)
            return;
        sum += __shfl_sync(mask, lane, 31);
        out[threadIdx.x] = sum;
        __syncwarp(mask);
    }
}

// Two halves of a warp hand values to each other through memory, again and again.
extern "C" __global__ void halves(volatile int *box, int *out, int rounds)
{
    int lane = threadIdx.x, half = lane / 16;
    for (int i = 0; i < rounds; i++) {
        if (half == (i & 1)) {
            box[lane % 16] = i * 100 + lane;
            __threadfence_block();
            __syncwarp(half ? 0xffff0000 : 0x0000ffff);
            if (lane % 16 == 0)
                box[16] = i + 1;
        } else {
            while (box[16] != i + 1) {
            }
            out[lane] += box[lane % 16];
            __syncwarp(half ? 0xffff0000 : 0x0000ffff);
        }
    }
}

extern "C" __global__ void tiles(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int sum = 0;
    for (int i = 0; i <= (int)tile.meta_group_rank() % 4; i++) { // tiles go different ways
        int v = tile.thread_rank() + i;
        for (int step = 4; step > 0; step /= 2)
            v += tile.shfl_down(v, step);
        sum += tile.shfl(v, 0);
        tile.sync();
    }
    out[threadIdx.x] = sum;
}
