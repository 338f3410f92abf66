/* SPDX-License-Identifier: Apache-2.0 */
/* Spinning before sleeping: a wake-up costs more than a short kernel. Threads spin as long as that
 * tends to help, and only if there is another processor to do the work. */
#ifndef SOFTGPU_SPIN_H
#define SOFTGPU_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>

/* How often spinning has helped lately. Zero-initialised; shared by threads without
 * synchronisation, since a lost update does no harm. */
struct sg_spin {
    _Atomic int failures, skipped;
};

/* Spins until *word is no longer `value`: true. False: it has spun for long enough, or spinning
 * does not pay. Without any lock. */
bool sg_spin_while(struct sg_spin *spin, const _Atomic unsigned *word, unsigned value);

#endif
