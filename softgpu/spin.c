/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/spin.h"

#include <immintrin.h>
#include <unistd.h>

#include "base/clock.h"

#define SPIN_LOOK_NS      50000
#define SPIN_FAILURES_MAX 4
#define SPIN_SKIPS        32 /* waits without looking after so many failures, before another try */

static bool alone(void)
{
    static _Atomic long processors;
    long count = atomic_load_explicit(&processors, memory_order_relaxed);
    if (count == 0) {
        count = sysconf(_SC_NPROCESSORS_ONLN);
        atomic_store_explicit(&processors, count, memory_order_relaxed);
    }
    return count < 2;
}

static int spin_get(_Atomic int *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void spin_set(_Atomic int *at, int value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

bool sg_spin_while(struct sg_spin *spin, const _Atomic unsigned *word, unsigned value)
{
    if (alone()) {
        return false;
    }
    if (spin_get(&spin->failures) >= SPIN_FAILURES_MAX && spin_get(&spin->skipped) < SPIN_SKIPS) {
        spin_set(&spin->skipped, spin_get(&spin->skipped) + 1);
        return false;
    }
    spin_set(&spin->skipped, 0);
    uint64_t end_ns = ga_clock_ns() + SPIN_LOOK_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value) {
                spin_set(&spin->failures, 0);
                return true;
            }
            _mm_pause();
        }
    } while (ga_clock_ns() < end_ns);
    spin_set(&spin->failures, spin_get(&spin->failures) + 1);
    return false;
}
