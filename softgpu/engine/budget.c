/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/engine/budget.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/log.h"

static _Atomic uint64_t held;
static _Atomic uint64_t most = UINT64_MAX;

static void budget_tell(const char *what, uint64_t bytes, uint64_t before, uint64_t limit)
{
    if (what != NULL) {
        ga_warn("softgpu: no memory for %s: %llu bytes are wanted, %llu of %llu are used "
                "(SOFTGPU_HOST_MEMORY; of gpuaasd: [server] application_host_memory)",
                what, (unsigned long long)bytes, (unsigned long long)before,
                (unsigned long long)limit);
    }
}

void sg_budget_set(uint64_t bytes)
{
    atomic_store(&most, bytes);
}

uint64_t sg_budget_most(void)
{
    return atomic_load_explicit(&most, memory_order_relaxed);
}

uint64_t sg_budget_held(void)
{
    return atomic_load(&held);
}

bool sg_budget_take(uint64_t bytes, const char *what)
{
    uint64_t before = atomic_load_explicit(&held, memory_order_relaxed), limit = sg_budget_most();
    do {
        if (before > limit || bytes > limit - before) {
            budget_tell(what, bytes, before, limit);
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&held, &before, before + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void sg_budget_give(uint64_t bytes)
{
    atomic_fetch_sub_explicit(&held, bytes, memory_order_relaxed);
}
