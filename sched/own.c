/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/own.h"

#include <stdlib.h>
#include <string.h>

static size_t own_most(size_t one, size_t other)
{
    size_t most = one > other ? one : other;
    return (most + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
}

enum ga_status sched_own_init(struct sched *sched)
{
    const struct sched_policy *policy;
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        sched->own_sessions.bytes = own_most(sched->own_sessions.bytes, policy->session_bytes);
        sched->own_tenants.bytes = own_most(sched->own_tenants.bytes, policy->tenant_bytes);
        sched->own_gpu.bytes = own_most(sched->own_gpu.bytes, policy->gpu_bytes);
    }
    sched->own_gpu.of = calloc(1, sched->own_gpu.bytes);
    return sched->own_gpu.of != NULL ? GA_OK : GA_NO_MEMORY;
}

void sched_own_fini(struct sched *sched)
{
    free(sched->own_sessions.of);
    free(sched->own_tenants.of);
    free(sched->own_gpu.of);
}

static enum ga_status own_grow(struct sched_own *own, uint32_t before, uint32_t count)
{
    char *of = reallocarray(own->of, count, own->bytes);
    if (of == NULL) {
        return GA_NO_MEMORY;
    }
    memset(of + before * own->bytes, 0, (count - before) * own->bytes);
    own->of = of;
    return GA_OK;
}

enum ga_status sched_own_reserve(struct sched *sched, uint32_t sessions, uint32_t tenants)
{
    GA_TRY(own_grow(&sched->own_sessions, sched->session_room, sessions));
    return own_grow(&sched->own_tenants, sched->tenant_room, tenants);
}

void sched_own_clear(struct sched *sched)
{
    if (sched->session_room != 0) {
        memset(sched->own_sessions.of, 0, sched->session_room * sched->own_sessions.bytes);
        memset(sched->own_tenants.of, 0, sched->tenant_room * sched->own_tenants.bytes);
    }
    memset(sched->own_gpu.of, 0, sched->own_gpu.bytes);
}

void sched_own_clear_tenant(struct sched *sched, uint32_t row)
{
    memset(sched_own_tenant(sched, row), 0, sched->own_tenants.bytes);
}
