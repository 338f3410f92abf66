/* SPDX-License-Identifier: Apache-2.0 */
/* SplitMix64. */
#include "sim/random.h"

#include <math.h>

static uint64_t random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct sim_random sim_random_make(uint64_t seed, const char *what, uint64_t number)
{
    uint64_t state = random_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    for (; *what != 0; what++) {
        state = random_mix(state ^ (unsigned char)*what);
    }
    return (struct sim_random){random_mix(state + number)};
}

uint64_t sim_random_next(struct sim_random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return random_mix(random->state);
}

double sim_random_unit(struct sim_random *random)
{
    return ((double)(sim_random_next(random) >> 11) + 1) * 0x1p-53;
}

double sim_random_exponential(struct sim_random *random, double mean)
{
    return -mean * log(sim_random_unit(random));
}
