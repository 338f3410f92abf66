/* SPDX-License-Identifier: Apache-2.0 */
/* Adaptive spinning: whether to poll for an event before sleeping until it comes. Waking up takes
 * longer than many answers, but polling for a late event only uses processor time, and takes it
 * from the other end if both share a processor.
 *
 * After a vain poll the next tries become rarer; a success makes polling the rule again. */
#ifndef BASE_SPIN_H
#define BASE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define GA_SPIN_NS    (50 * GA_NS_PER_US) /* a few times the time of a wake-up */
#define GA_SPIN_LOOKS 8u                  /* looks at memory for each look at the slower clock */
#define GA_SPIN_PAUSE 1023u               /* the most waits without spinning between two tries */

struct ga_spin {
    uint32_t pause; /* waits to skip after the next vain try; about doubles */
    uint32_t skip;  /* waits until the next try */
};

/* To be called after a vain look. The other end may share the core's execution units, and writes
 * the memory that is looked at. */
static inline void ga_spin_look(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Begins a wait. Returns how long to spin; 0: not at all. */
static inline uint64_t ga_spin_begin(struct ga_spin *spin)
{
    if (spin->skip != 0) {
        spin->skip--;
        return 0;
    }
    return GA_SPIN_NS;
}

/* Ends a wait whose begin did not return 0. `came`: the event came while spinning. */
static inline void ga_spin_end(struct ga_spin *spin, bool came)
{
    uint32_t longer = 2 * spin->pause + 1;
    spin->pause = came ? 0 : longer < GA_SPIN_PAUSE ? longer : GA_SPIN_PAUSE;
    spin->skip = spin->pause;
}

#endif
