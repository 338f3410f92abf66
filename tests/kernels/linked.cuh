// SPDX-License-Identifier: Apache-2.0
// What the units of the program "linked" know of each other.
#pragma once

extern __device__ int counter;          // defined in unit b, counted up by both
extern __constant__ int table[4];       // defined in unit b, written by the host code of unit a
extern __device__ int *const pointed;   // defined in unit a, points to what unit b defines
extern __device__ double scale(double); // defined in unit b

struct Point {
    int x, y;
    __device__ int dot(const Point &other) const; // defined in unit b
};

// Every unit has a copy of these; one of them is used.
template <typename T> __device__ __noinline__ T next()
{
    static __device__ T calls = 0;
    return atomicAdd(&calls, 1);
}
__device__ inline int clamp_to(int value, int most)
{
    return value < most ? value : most;
}

void run_b(int *out);
int read_counter_of_b();
