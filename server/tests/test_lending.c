/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of lending against a model that does the same slowly: random limits, wishes,
 * returns and deaths. After each step every sum is what the model says, and no step makes one
 * larger than its limit. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "server/tenants/lending.h"

#define GPUS   3u
#define SHARES 5u
#define STEPS  200000u

static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t next(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* The amounts of each share, by kind and GPU; of other kinds than device memory in [0]. */
static struct model {
    uint64_t lent[SHARES][CHANNEL_LENT_KINDS][GPUS];
    struct limits limits;
} model;

static struct lending_account account;
static struct lending_share shares[SHARES];

static uint64_t model_on(enum channel_lent kind, uint32_t gpu)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SHARES; i++) {
        sum += model.lent[i][kind][gpu];
    }
    return sum;
}

static uint64_t model_sum(enum channel_lent kind)
{
    uint64_t sum = 0;
    for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
        sum += model_on(kind, gpu);
    }
    return sum;
}

static uint64_t model_most(enum channel_lent kind)
{
    static const enum limit limits[] = {LIMIT_GPU_MEM, LIMIT_HOST_PINNED, LIMIT_MODULE_BYTES,
                                        LIMIT_OBJECTS};
    return model.limits.of[limits[kind]];
}

static uint64_t less(uint64_t most, uint64_t used)
{
    return most == LIMIT_NONE ? LIMIT_NONE : most > used ? most - used : 0;
}

static uint64_t model_room(enum channel_lent kind, uint32_t gpu)
{
    uint64_t room = less(model_most(kind), model_sum(kind));
    uint64_t each = less(model.limits.of[LIMIT_GPU_MEM_PER_GPU], model_on(kind, gpu));
    return kind == CHANNEL_LENT_DEVICE && each < room ? each : room;
}

static void look(void)
{
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        cr_assert_eq(account.lent[kind], model_sum((enum channel_lent)kind));
        for (unsigned i = 0; i < SHARES; i++) {
            uint64_t sum = 0;
            for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
                sum += model.lent[i][kind][gpu];
            }
            cr_assert_eq(shares[i].lent[kind], sum);
        }
    }
    for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
        cr_assert_eq(account.lent_on[gpu], model_on(CHANNEL_LENT_DEVICE, gpu));
    }
}

static void step_limits(void)
{
    static const enum limit which[] = {LIMIT_GPU_MEM, LIMIT_HOST_PINNED, LIMIT_MODULE_BYTES,
                                       LIMIT_OBJECTS, LIMIT_GPU_MEM_PER_GPU};
    enum limit limit = which[next(5)];
    model.limits.of[limit] = next(4) == 0 ? LIMIT_NONE : next(40) * (CHANNEL_GRAIN_BYTES / 3 + 7);
    lending_limit(&account, &model.limits);
}

static void step_lend(unsigned i, enum channel_lent kind, uint32_t gpu)
{
    uint64_t room = model_room(kind, gpu);
    uint64_t wanted = 1 + next(next(3) == 0 ? 10 * CHANNEL_GRAIN_BYTES : 1000);
    uint64_t lent = lending_lend(&account, &shares[i], kind, gpu, wanted);
    cr_assert_eq(
        lending_is_boundless(&account, kind),
        model_most(kind) == LIMIT_NONE &&
            (kind != CHANNEL_LENT_DEVICE || model.limits.of[LIMIT_GPU_MEM_PER_GPU] == LIMIT_NONE));
    if (wanted > room) {
        cr_assert_eq(lent, 0, "what does not fit is not lent, and nothing of it");
    } else {
        cr_assert(lent >= wanted && lent <= room);
        cr_assert(lent == room || lent % CHANNEL_GRAIN_OBJECTS == 0, "whole grains, or the rest");
    }
    model.lent[i][kind][kind == CHANNEL_LENT_DEVICE ? gpu : 0] += lent;
}

static void step_charge(unsigned i, uint32_t gpu)
{
    uint64_t bytes = next(3 * CHANNEL_GRAIN_BYTES);
    lending_charge(&account, &shares[i], gpu, bytes);
    model.lent[i][CHANNEL_LENT_DEVICE][gpu] += bytes;
}

static void step_return(unsigned i, enum channel_lent kind, uint32_t gpu)
{
    uint64_t *has = &model.lent[i][kind][kind == CHANNEL_LENT_DEVICE ? gpu : 0];
    uint64_t amount = next(8) == 0 ? UINT64_MAX - next(3) : *has != 0 ? next(*has + 1) : next(2);
    lending_return(&account, &shares[i], kind, gpu, amount);
    *has -= amount < *has ? amount : *has; /* a stranger returns more than it has */
}

static void step_end(unsigned i)
{
    lending_end(&account, &shares[i]);
    lending_end(&account, &shares[i]); /* it all comes back once */
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
            model.lent[i][kind][gpu] = 0;
        }
    }
    cr_assert_eq(lending_share_init(&shares[i], GPUS), GA_OK);
}

Test(lending, sums_are_those_of_a_model)
{
    limits_clear(&model.limits);
    cr_assert_eq(lending_account_init(&account, GPUS), GA_OK);
    lending_limit(&account, &model.limits);
    for (unsigned i = 0; i < SHARES; i++) {
        cr_assert_eq(lending_share_init(&shares[i], GPUS), GA_OK);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)next(SHARES);
        enum channel_lent kind = (enum channel_lent)next(CHANNEL_LENT_KINDS);
        uint32_t gpu = (uint32_t)next(GPUS);
        switch (next(16)) {
        case 0:
            step_limits();
            break;
        case 1:
            step_end(i);
            break;
        case 2:
        case 3:
        case 4:
        case 5:
        case 6:
            step_return(i, kind, gpu);
            break;
        case 7:
            step_charge(i, gpu);
            break;
        default:
            step_lend(i, kind, gpu);
        }
        look();
    }
    for (unsigned i = 0; i < SHARES; i++) {
        lending_end(&account, &shares[i]);
    }
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        cr_assert_eq(account.lent[kind], 0);
    }
    lending_account_fini(&account);
}

Test(lending, the_rest_of_a_limit_is_lent_in_smaller_pieces)
{
    struct limits limits;
    limits_clear(&limits);
    limits.of[LIMIT_GPU_MEM] = CHANNEL_GRAIN_BYTES + 1000;
    cr_assert_eq(lending_account_init(&account, GPUS), GA_OK);
    cr_assert_eq(lending_share_init(&shares[0], GPUS), GA_OK);
    lending_limit(&account, &limits);
    cr_assert_eq(lending_lend(&account, &shares[0], CHANNEL_LENT_DEVICE, 0, 1),
                 CHANNEL_GRAIN_BYTES);
    cr_assert_eq(lending_lend(&account, &shares[0], CHANNEL_LENT_DEVICE, 1, 1), 1000);
    cr_assert_eq(lending_lend(&account, &shares[0], CHANNEL_LENT_DEVICE, 2, 1), 0);
    limits.of[LIMIT_GPU_MEM] = 0; /* below what is used: nothing is taken away, nothing is given */
    lending_limit(&account, &limits);
    cr_assert_eq(lending_room(&account, CHANNEL_LENT_DEVICE, 0), 0);
    cr_assert_eq(account.lent[CHANNEL_LENT_DEVICE], CHANNEL_GRAIN_BYTES + 1000);
    lending_end(&account, &shares[0]);
    lending_account_fini(&account);
}
