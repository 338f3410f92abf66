/* SPDX-License-Identifier: Apache-2.0 */
/* Words of sessions about themselves to the request manager (server/grants.h), any at any time,
 * while settings change and sessions come and go: turns only go forward, nobody who has lost a turn
 * gets another, and where one may work at a time, one has a turn. */
#include <string.h>

#include "base/clock.h"
#include "server/turns/scheduler_gpu.h"
#include "tests/fuzz/input.h"

#define PLACES 6u

struct play {
    struct fuzz_input input;
    struct scheduler_gpu gpu;
    bool there[PLACES];
    struct scheduler_member members[PLACES];
    struct grant_request requests[PLACES];
    struct grant grants[PLACES];
    struct figures figures[PLACES];
    uint64_t turns[PLACES]; /* as of the last look */
    uint64_t now;
};

static struct scheduler_settings some_settings(struct play *play)
{
    struct scheduler_settings settings = {.values = sched_settings_default(),
                                          .gpu = {.copy_engines = 2, .bandwidth = 1}};
    size_t count = 0;
    while (sched_policy_at(count) != NULL) {
        count++;
    }
    settings.policy = sched_policy_at(fuzz_u8(&play->input) % count);
    return settings;
}

static void join(struct play *play, unsigned i)
{
    play->members[i] = (struct scheduler_member){
        .seat = i,
        .request = &play->requests[i],
        .grant = &play->grants[i],
        .figures = &play->figures[i],
        .asks = {.tenant = fuzz_u8(&play->input) % 3, .weight = fuzz_u8(&play->input)}};
    play->there[i] = scheduler_gpu_join(&play->gpu, &play->members[i], play->now) == GA_OK;
}

static void leave(struct play *play, unsigned i)
{
    scheduler_gpu_leave(&play->members[i], play->now);
    play->there[i] = false;
}

/* Writes what a process that keeps to the rules writes, or anything. */
static void say(struct play *play, unsigned i)
{
    uint8_t how = fuzz_u8(&play->input);
    uint64_t word = how % 2 == 0
                        ? grant_word(grant_turn(play->grants[i].word), how / 2 % GPU_PHASES)
                        : fuzz_u64(&play->input);
    atomic_store(&play->requests[i].word, word);
}

static void use(struct play *play, unsigned i)
{
    struct gpu_figures *row = &play->figures[i].gpus[fuzz_u8(&play->input) % 2];
    atomic_store(&row->gpu, fuzz_u8(&play->input) % 3);
    atomic_store(&row->busy_ns[fuzz_u8(&play->input) % GPU_ENGINES],
                 fuzz_number(&play->input, fuzz_u8(&play->input) % 9));
}

static void change(struct play *play)
{
    const struct scheduler_settings settings = some_settings(play);
    scheduler_gpu_change(&play->gpu, &settings, play->now);
}

static bool one_at_a_time(const struct scheduler_gpu *gpu)
{
    static const char *const names[] = {"rr", "las", "fs", "tfs", "priority"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (gpu->settings.policy == sched_policy_find(names[i])) {
            return true;
        }
    }
    return false;
}

/* A turn that is not over, as the session reads it. */
static bool may_work(const struct play *play, unsigned i)
{
    const struct grant *grant = &play->grants[i];
    unsigned what = grant_what(grant->word);
    return play->there[i] && play->members[i].holds && (what & GRANT_ALL) != 0 &&
           ((what & (GRANT_ALONE | GRANT_FREE)) != 0 || play->now < grant->until_ns);
}

static void look(struct play *play)
{
    unsigned working = 0;
    bool lost[PLACES];
    for (unsigned i = 0; i < PLACES; i++) {
        lost[i] = play->there[i] && play->members[i].lost &&
                  grant_turn(play->requests[i].word) != play->members[i].turn;
    }
    scheduler_gpu_turn(&play->gpu, play->now);
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t turn = grant_turn(play->grants[i].word);
        FUZZ_CHECK(turn >= play->turns[i]);
        FUZZ_CHECK(!lost[i] || turn == play->turns[i]);
        play->turns[i] = turn;
        working += may_work(play, i);
    }
    FUZZ_CHECK(!one_at_a_time(&play->gpu) || working <= 1);
    FUZZ_CHECK(play->gpu.next_ns > play->now);
}

static void step(struct play *play)
{
    uint8_t what = fuzz_u8(&play->input);
    unsigned i = what / 8 % PLACES;
    switch (what % 8) {
    case 0:
        change(play);
        break;
    case 1:
        if (play->there[i]) {
            leave(play, i);
        } else {
            join(play, i);
        }
        play->turns[i] = grant_turn(play->grants[i].word);
        break;
    case 2:
        use(play, i);
        break;
    case 3:
        play->now += fuzz_u8(&play->input) * GA_NS_PER_MS;
        break;
    case 4:
        play->now += fuzz_u8(&play->input) * GA_NS_PER_US;
        break;
    default:
        say(play, i);
        break;
    }
    look(play);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct play play;
    memset(&play, 0, sizeof play);
    play.input = (struct fuzz_input){data, size};
    play.now = GA_NS_PER_S;
    const struct scheduler_settings settings = some_settings(&play);
    FUZZ_CHECK(scheduler_gpu_init(&play.gpu, &settings, play.now) == GA_OK);
    join(&play, 0);
    join(&play, 1);
    for (unsigned i = 0; i < PLACES; i++) {
        play.turns[i] = grant_turn(play.grants[i].word);
    }
    while (play.input.left != 0) {
        step(&play);
    }
    for (unsigned i = 0; i < PLACES; i++) {
        if (play.there[i]) {
            leave(&play, i);
        }
    }
    scheduler_gpu_fini(&play.gpu);
    return 0;
}
