/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for a while before sleeping: a wake-up costs more than a short kernel. It is done as long
 * as it tends to help, and only where there is another processor to do what is waited for. */
#ifndef SOFTGPU_SPIN_H
#define SOFTGPU_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>

/* How well it has gone lately. Zero-initialised; shared by threads, whose races only blur it. */
struct sg_spin {
    _Atomic int failures, skipped;
};

/* True when *word is no longer `value`; false when it has been looked at for long enough, or is not
 * worth looking at. Without any lock. */
bool sg_spin_while(struct sg_spin *spin, const _Atomic unsigned *word, unsigned value);

#endif
