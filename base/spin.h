/* SPDX-License-Identifier: Apache-2.0 */
/* Whether to poll for something before sleeping until it comes. Being woken takes longer than many
 * answers; but polling for something that does not come soon only burns the processor, and takes it
 * from the other end if both share one.
 *
 * Polling that was in vain is therefore tried ever more rarely, and one success makes it the rule
 * again. */
#ifndef BASE_SPIN_H
#define BASE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define GA_SPIN_NS    (50 * GA_NS_PER_US) /* a few times what being woken takes */
#define GA_SPIN_LOOKS 8u    /* for each look at the clock, which takes longer than one at memory */
#define GA_SPIN_PAUSE 1023u /* waits without spinning between two tries, at most */

struct ga_spin {
    uint32_t pause; /* after the next spinning in vain: about twice as long */
    uint32_t skip;  /* waits until the next try */
};

/* After a look in vain. The other end may share the core's execution units, and writes what we look
 * at. */
static inline void ga_spin_look(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* A wait begins: how long to spin; 0: not at all. */
static inline uint64_t ga_spin_begin(struct ga_spin *spin)
{
    if (spin->skip != 0) {
        spin->skip--;
        return 0;
    }
    return GA_SPIN_NS;
}

/* It has come while spinning, or not in time. Only after a begin that did not answer 0. */
static inline void ga_spin_end(struct ga_spin *spin, bool came)
{
    uint32_t longer = 2 * spin->pause + 1;
    spin->pause = came ? 0 : longer < GA_SPIN_PAUSE ? longer : GA_SPIN_PAUSE;
    spin->skip = spin->pause;
}

#endif
