/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that another application has made and that is charged to this one (opened_memory.h): here,
 * and not by its backend process, which has only opened it. It is part of the seat's share, so the
 * account has it; limits hold for what is asked for later. */
#include "base/clock.h"
#include "server/tenants/lender.h"
#include "server/tenants/member.h"
#include "server/tenants/tenant.h"

static struct lending_account *taken_account(const struct lender_seat *seat)
{
    struct member *member = seat->member;
    return member != NULL ? &member->account : &seat->tenant->lender.account;
}

static bool taken_on(const struct lender_seat *seat, uint32_t gpu)
{
    return seat->taken != NULL && gpu < seat->tenant->lender.account.gpu_count;
}

static uint64_t memory_load(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

void lender_take_over(struct lender_seat *seat, uint32_t gpu, uint64_t bytes)
{
    if (!taken_on(seat, gpu)) {
        return;
    }
    struct figures_memory *taken = &seat->taken[gpu];
    const struct figures_memory *own = &seat->memory[gpu];
    lending_charge(taken_account(seat), &seat->share, gpu, bytes);
    figures_memory_change(taken, bytes, lender_now(seat->tenant) / GA_NS_PER_MS);
    lender_changed(&seat->tenant->lender);
    uint64_t all = memory_load(&own->bytes) + memory_load(&taken->bytes);
    if (all > memory_load(&taken->peak)) {
        atomic_store_explicit(&taken->peak, all, memory_order_relaxed);
    }
}

void lender_give_up(struct lender_seat *seat, uint32_t gpu, uint64_t bytes)
{
    if (taken_on(seat, gpu)) {
        figures_memory_change(&seat->taken[gpu], 0 - bytes,
                              lender_now(seat->tenant) / GA_NS_PER_MS);
        lender_pass_on(seat, gpu, bytes);
        lender_changed(&seat->tenant->lender);
    }
}

void lender_pass_on(struct lender_seat *seat, uint32_t gpu, uint64_t bytes)
{
    if (taken_on(seat, gpu)) {
        lending_return(taken_account(seat), &seat->share, CHANNEL_LENT_DEVICE, gpu, bytes);
    }
}

const struct figures_memory *lender_taken(const struct lender_seat *seat, uint32_t gpu)
{
    static const struct figures_memory none;
    return taken_on(seat, gpu) ? &seat->taken[gpu] : &none;
}

uint64_t lender_taken_bytes(const struct lender_seat *seat, uint32_t gpu)
{
    uint64_t sum = 0;
    if (gpu != UINT32_MAX) {
        return memory_load(&lender_taken(seat, gpu)->bytes);
    }
    for (uint32_t i = 0; taken_on(seat, i); i++) {
        sum += memory_load(&seat->taken[i].bytes);
    }
    return sum;
}
