/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that depend on a seed and on what they are for, so that runs that differ in
 * something else draw the same ones (common random numbers). SplitMix64 (Steele, Lea, Flood,
 * OOPSLA 2014). */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdint.h>

struct sim_random {
    uint64_t state;
};

/* The purpose of the numbers is a name, and a number among those of the name. */
struct sim_random sim_random_make(uint64_t seed, const char *what, uint64_t number);
uint64_t sim_random_next(struct sim_random *random);
/* Above 0, and at most 1. */
double sim_random_unit(struct sim_random *random);
/* With this mean: -mean ln X (Strings V-A). */
double sim_random_exponential(struct sim_random *random, double mean);

#endif
