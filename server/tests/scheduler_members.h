/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the request manager of one GPU, for tests: what they say, and what they are granted.
 * Time is the test's. */
#ifndef SERVER_TESTS_SCHEDULER_MEMBERS_H
#define SERVER_TESTS_SCHEDULER_MEMBERS_H

#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "server/turns/scheduler_gpu.h"

#define MEMBERS 40u
#define ORDINAL 3u
#define MS      GA_NS_PER_MS
#define BEGAN   (1000 * MS)

static struct scheduler_gpu gpu;
static struct scheduler_member members[MEMBERS];
static struct grant_request requests[MEMBERS];
static struct grant grants[MEMBERS];
static struct figures figures[MEMBERS];
static struct scheduler_settings settings;
static unsigned count;
static uint64_t now;

static inline void member_join(const struct sched_request *asks)
{
    members[count] = (struct scheduler_member){.seat = count,
                                               .ordinal = ORDINAL,
                                               .request = &requests[count],
                                               .grant = &grants[count],
                                               .figures = &figures[count],
                                               .asks = *asks};
    members[count].asks.tenant = count;
    cr_assert_eq(scheduler_gpu_join(&gpu, &members[count], now), GA_OK);
    count++;
}

static inline void begin(const char *policy, unsigned joins)
{
    const struct sched_request asks = {.weight = 1};
    settings = (struct scheduler_settings){.policy = sched_policy_find(policy),
                                           .values = sched_settings_default(),
                                           .gpu = {.copy_engines = 2}};
    cr_assert_not_null(settings.policy, "%s", policy);
    now = BEGAN;
    count = 0;
    memset(requests, 0, sizeof requests);
    memset(grants, 0, sizeof grants);
    memset(figures, 0, sizeof figures);
    cr_assert_eq(scheduler_gpu_init(&gpu, &settings, now), GA_OK);
    while (count < joins) {
        member_join(&asks);
    }
}

static inline void end(void)
{
    for (unsigned i = 0; i < count; i++) {
        scheduler_gpu_leave(&members[i], now);
    }
    scheduler_gpu_fini(&gpu);
}

/* It returns what it has, and asks for another turn, or for none. */
static inline void member_asks(unsigned i, unsigned phase)
{
    requests[i].word = grant_word(grant_turn(grants[i].word), phase);
}

static inline void turn_at(uint64_t at)
{
    now = at;
    scheduler_gpu_turn(&gpu, now);
}

/* Kernels have worked for so long, done so much of that, and filled so much. */
static inline struct gpu_figures *figures_set(unsigned i, uint64_t busy_ns, uint64_t done_ns,
                                              uint64_t demand_ns)
{
    struct gpu_figures *row = &figures[i].gpus[0];
    row->gpu = ORDINAL + 1;
    row->busy_ns[GPU_COMPUTE] = busy_ns;
    row->busy_any_ns = busy_ns;
    row->done_ns = done_ns;
    row->demand_ns = demand_ns;
    return row;
}

static inline struct sched_account account_of(unsigned i)
{
    return sched_account(gpu.sched, members[i].slot, now);
}

#endif
