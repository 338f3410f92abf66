/* SPDX-License-Identifier: Apache-2.0 */
// The timed kernel of docs/softgpu-timing.md. A software GPU with `execute = no` takes its
// parameters at their word; any other GPU executes it: each block waits for its time, so it takes
// `ns` where all blocks of the grid fit at once. There the grid decides the places it takes, and it
// takes no bandwidth.
#pragma once

extern "C" __global__ void gpuaas_timed(unsigned long long ns, float, float, float)
{
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < ns);
}
