/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/stream/spin.h"

#include <immintrin.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_NS      50000
#define FAILURES_MAX 4
#define SKIPS        32 /* waits without looking after so many failures; then it is tried again */

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

static int get(_Atomic int *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

static void set(_Atomic int *at, int value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

bool sg_spin_while(struct sg_spin *spin, const _Atomic unsigned *word, unsigned value)
{
    if (alone()) {
        return false;
    }
    if (get(&spin->failures) >= FAILURES_MAX && get(&spin->skipped) < SKIPS) {
        set(&spin->skipped, get(&spin->skipped) + 1);
        return false;
    }
    set(&spin->skipped, 0);
    uint64_t end_ns = ga_clock_ns() + LOOK_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value) {
                set(&spin->failures, 0);
                return true;
            }
            _mm_pause();
        }
    } while (ga_clock_ns() < end_ns);
    set(&spin->failures, get(&spin->failures) + 1);
    return false;
}
