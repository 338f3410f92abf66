/* SPDX-License-Identifier: Apache-2.0 */
/* Whether anything is being captured: the question of every call that capture concerns. */
#ifndef FRONT_CAPTURE_CAPTURE_COUNT_H
#define FRONT_CAPTURE_CAPTURE_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>

/* Captures in progress, and events whose last recording was captured. */
extern atomic_uint front_capture_count;

static inline bool front_capturing(void)
{
    return atomic_load_explicit(&front_capture_count, memory_order_relaxed) != 0;
}

#endif
