/* SPDX-License-Identifier: Apache-2.0 */
// Work that ends late: by itself, or when the program lets it go.
#pragma once

#include <semaphore.h>

#include "check.h"

static __device__ unsigned late_noise;

// Takes its time, and writes last.
static __global__ void write_late(unsigned char *to, size_t count, unsigned char value)
{
    unsigned x = value;
    for (int i = 0; i < 20000000; i++)
        x = x * 1664525u + 1013904223u;
    if (x == 1)
        late_noise = x;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        to[i] = value;
}

static sem_t late_gate;

static void CUDART_CB late_hold(void *)
{
    while (sem_wait(&late_gate) != 0)
        ;
}

// A host function, which ends with sem_post(&late_gate).
static void hold_stream(cudaStream_t stream)
{
    CHECK(cudaLaunchHostFunc(stream, late_hold, nullptr));
}
