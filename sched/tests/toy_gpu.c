/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/tests/toy_gpu.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define TOY_IDLE UINT32_MAX

bool toy_may_wait(const char *policy)
{
    const char *names[] = {"tfs", "las_fill", "auto"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(policy, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

void toy_begin(struct toy_gpu *toy, const char *policy, const struct sched_settings *settings,
               struct toy_app *apps, uint32_t count)
{
    const struct sched_gpu gpu = {.copy_engines = 2, .bandwidth = 100, .copies_overlap = true};
    toy_begin_on(toy, &gpu, policy, settings, apps, count);
}

void toy_begin_on(struct toy_gpu *toy, const struct sched_gpu *gpu, const char *policy,
                  const struct sched_settings *settings, struct toy_app *apps, uint32_t count)
{
    memset(toy, 0, sizeof(*toy));
    toy->may_wait = toy_may_wait(policy);
    toy->gpu = *gpu;
    toy->apps = apps;
    toy->app_count = count;
    for (int i = 0; i < GPU_ENGINES; i++) {
        toy->engines[i].app = TOY_IDLE;
    }
    const struct sched_policy *found = sched_policy_find(policy);
    char why[256] = "";
    cr_assert_not_null(found);
    cr_assert_eq(sched_settings_check(found, settings, &toy->gpu, why, sizeof(why)), GA_OK, "%s",
                 why);
    cr_assert_eq(sched_create(&toy->sched, found, settings, &toy->gpu, 0), GA_OK);
}

void toy_end(struct toy_gpu *toy)
{
    sched_destroy(toy->sched);
}

void toy_change(struct toy_gpu *toy, const struct sched_policy *policy,
                const struct sched_settings *settings)
{
    toy->may_wait = toy_may_wait(sched_policy_name(policy));
    sched_change(toy->sched, policy, settings, toy->now);
}

static const struct toy_op *toy_op(const struct toy_app *app)
{
    return &app->ops[app->op];
}

static void toy_tell(struct toy_gpu *toy, struct toy_app *app)
{
    const enum gpu_phase phases[] = {GPU_PHASE_KL, GPU_PHASE_H2D, GPU_PHASE_D2H};
    struct sched_request request = app->request;
    bool wants = !app->submitted && app->next_at <= toy->now;
    uint8_t bit = (uint8_t)GPU_ENGINE_BIT(toy_op(app)->engine);
    request.wants = wants ? bit : 0;
    request.busy = app->submitted ? bit : 0;
    request.phase = phases[toy_op(app)->engine];
    sched_update(toy->sched, app->slot, &request, toy->now);
}

/* Does what is due at this time: ends, arrivals, ends of pauses. */
static void toy_ends(struct toy_gpu *toy)
{
    for (int i = 0; i < GPU_ENGINES; i++) {
        if (toy->engines[i].app == TOY_IDLE || toy->engines[i].ends > toy->now) {
            continue;
        }
        struct toy_app *app = &toy->apps[toy->engines[i].app];
        sched_charge(toy->sched, app->slot, i, toy_op(app)->ns, toy->now);
        app->attained += toy_op(app)->ns;
        toy->engines[i].app = TOY_IDLE;
        app->submitted = false;
        app->op++;
        if (app->op == app->op_count) {
            app->op = 0;
            app->round++;
        }
        if (app->rounds != 0 && app->round == app->rounds) {
            app->done = true;
            app->ended = toy->now;
            sched_leave(toy->sched, app->slot, toy->now);
            continue;
        }
        if (app->renews && app->op == 0) {
            app->joined = false;
            app->arrives = toy->now + app->away_ns;
            sched_leave(toy->sched, app->slot, toy->now);
            continue;
        }
        app->next_at = toy->now + toy_op(app)->pause_ns;
        app->wanted_at = app->next_at;
        toy_tell(toy, app);
    }
}

static void toy_arrivals(struct toy_gpu *toy)
{
    for (uint32_t i = 0; i < toy->app_count; i++) {
        struct toy_app *app = &toy->apps[i];
        if (!app->joined && app->arrives <= toy->now) {
            app->joined = true;
            app->next_at = app->wanted_at = toy->now + toy_op(app)->pause_ns;
            cr_assert_eq(sched_join(toy->sched, &app->request, toy->now, &app->slot), GA_OK);
            toy_tell(toy, app);
        } else if (app->joined && !app->done && !app->submitted && app->next_at == toy->now) {
            toy_tell(toy, app);
        }
    }
}

/* Engines take the first of the queue that is for them. */
static void toy_engines(struct toy_gpu *toy)
{
    for (uint32_t i = 0; i < toy->queued;) {
        struct toy_app *app = &toy->apps[toy->queue[i]];
        enum gpu_engine engine = toy_op(app)->engine;
        if (toy->engines[engine].app != TOY_IDLE) {
            i++;
            continue;
        }
        toy->engines[engine].app = toy->queue[i];
        toy->engines[engine].ends = toy->now + toy_op(app)->ns;
        if (toy->span_count < TOY_TURNS_MAX) {
            toy->spans[toy->span_count++] =
                (struct toy_span){toy->queue[i], engine, toy->now, toy->engines[engine].ends};
        }
        memmove(&toy->queue[i], &toy->queue[i + 1], (--toy->queued - i) * sizeof(toy->queue[0]));
    }
}

static uint32_t toy_app_of(const struct toy_gpu *toy, uint32_t slot)
{
    for (uint32_t i = 0; i < toy->app_count; i++) {
        if (toy->apps[i].joined && !toy->apps[i].done && toy->apps[i].slot == slot) {
            return i;
        }
    }
    cr_assert_fail("nobody is in slot %u", slot);
    return 0;
}

static void toy_note_turn(struct toy_gpu *toy, uint32_t i, uint64_t until)
{
    if (toy->turn_count < TOY_TURNS_MAX) {
        struct sched_account account = sched_account(toy->sched, toy->apps[i].slot, toy->now);
        toy->turns[toy->turn_count++] = (struct toy_turn){
            .app = i,
            .at = toy->now,
            .length = until == SCHED_NEVER ? SCHED_NEVER : until - toy->now,
            .debt = account.debt_ns,
        };
    }
}

static bool toy_something_runs(const struct toy_gpu *toy)
{
    bool runs = toy->queued > 0;
    for (int i = 0; i < GPU_ENGINES; i++) {
        runs = runs || toy->engines[i].app != TOY_IDLE;
    }
    return runs;
}

static bool toy_work_waits(const struct toy_gpu *toy)
{
    for (uint32_t i = 0; i < toy->app_count; i++) {
        const struct toy_app *app = &toy->apps[i];
        if (app->joined && !app->done && !app->submitted && app->next_at <= toy->now &&
            !sched_account(toy->sched, app->slot, toy->now).capped) {
            return true;
        }
    }
    return false;
}

static void toy_trace(struct toy_gpu *toy, uint64_t value)
{
    toy->trace = (toy->trace ^ value) * UINT64_C(0x100000001b3); /* FNV-1a, by words */
    toy->trace ^= toy->trace >> 32;
}

/* In whole nanoseconds: the last bits of a double are no decision. */
static void toy_trace_account(struct toy_gpu *toy, uint32_t slot)
{
    struct sched_account account = sched_account(toy->sched, slot, toy->now);
    toy_trace(toy, account.turns);
    toy_trace(toy, account.waited_ns);
    toy_trace(toy, (uint64_t)llround(account.debt_ns));
    toy_trace(toy, (uint64_t)llround(account.cgs_ns));
    toy_trace(toy, (uint64_t)account.awake << 1 | account.capped);
    for (int i = 0; i < GPU_ENGINES; i++) {
        toy_trace(toy, account.attained_ns[i]);
    }
}

static void toy_trace_decision(struct toy_gpu *toy, const struct sched_decision *decision)
{
    toy_trace(toy, toy->now);
    toy_trace(toy, decision->again);
    for (uint32_t i = 0; i < decision->count; i++) {
        toy_trace(toy, decision->awake[i].slot);
        toy_trace(toy, decision->awake[i].rank);
        toy_trace(toy, decision->awake[i].until);
    }
    for (uint32_t i = 0; i < toy->app_count; i++) {
        if (toy->apps[i].joined && !toy->apps[i].done) {
            toy_trace_account(toy, toy->apps[i].slot);
        }
    }
}

/* Asks twice; the answer is the same. */
static struct sched_decision toy_ask(struct toy_gpu *toy)
{
    uint64_t until[TOY_APPS_MAX] = {0};
    uint32_t rank[TOY_APPS_MAX] = {0};
    struct sched_decision one = sched_decide(toy->sched, toy->now);
    for (uint32_t i = 0; i < one.count; i++) {
        until[one.awake[i].slot] = one.awake[i].until;
        rank[one.awake[i].slot] = one.awake[i].rank;
    }
    struct sched_decision two = sched_decide(toy->sched, toy->now);
    cr_assert_eq(one.count, two.count);
    cr_assert_eq(one.again, two.again);
    for (uint32_t i = 0; i < one.count; i++) {
        cr_assert_eq(two.awake[i].until, until[two.awake[i].slot]);
        cr_assert_eq(two.awake[i].rank, rank[two.awake[i].slot]);
    }
    toy_trace_decision(toy, &two);
    return two;
}

/* Decides, lets those awake begin, and returns when to decide next. */
static uint64_t toy_decide(struct toy_gpu *toy)
{
    uint64_t turns[TOY_APPS_MAX] = {0};
    for (uint32_t i = 0; i < toy->app_count; i++) {
        if (toy->apps[i].joined && !toy->apps[i].done) {
            turns[i] = sched_account(toy->sched, toy->apps[i].slot, toy->now).turns;
        }
    }
    struct sched_decision decision = toy_ask(toy);
    toy->awake_most = decision.count > toy->awake_most ? decision.count : toy->awake_most;
    bool began = false;
    for (uint32_t k = 0; k < decision.count; k++) {
        uint32_t i = toy_app_of(toy, decision.awake[k].slot);
        struct toy_app *app = &toy->apps[i];
        uint64_t until = decision.awake[k].until;
        cr_assert_gt(until, toy->now, "%c is awake until %lu, which is past", 'A' + i,
                     (unsigned long)until);
        if (sched_account(toy->sched, app->slot, toy->now).turns != turns[i]) {
            toy_note_turn(toy, i, until);
        }
        if (app->submitted || app->next_at > toy->now) {
            continue;
        }
        began = true;
        app->submitted = true;
        app->next_at = SCHED_NEVER;
        uint64_t waited = toy->now - app->wanted_at;
        app->waited_max = waited > app->waited_max ? waited : app->waited_max;
        toy->queue[toy->queued++] = i;
        if (toy->order_count < TOY_TURNS_MAX) {
            toy->order[toy->order_count++] = (char)('A' + i);
        }
        toy_tell(toy, app);
    }
    toy_engines(toy);
    if (began) {
        return toy->now; /* decided anew, for the request has changed */
    }
    /* Work conservation, but for a turn that is held for a session that pauses, and where others
     * who come back are waited for. */
    cr_assert(toy_something_runs(toy) || !toy_work_waits(toy) || decision.count > 0 ||
                  toy->may_wait,
              "work waits, nothing runs, nobody is awake");
    cr_assert(decision.again > toy->now, "it asks to be asked again at once");
    return decision.again;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t toy_next_event(const struct toy_gpu *toy, uint64_t again)
{
    uint64_t next = again;
    for (int i = 0; i < GPU_ENGINES; i++) {
        next = toy->engines[i].app == TOY_IDLE ? next : least(next, toy->engines[i].ends);
    }
    for (uint32_t i = 0; i < toy->app_count; i++) {
        const struct toy_app *app = &toy->apps[i];
        if (!app->joined) {
            next = least(next, app->arrives);
        } else if (!app->done && !app->submitted && app->next_at > toy->now) {
            next = least(next, app->next_at);
        }
    }
    return next;
}

static bool toy_all_done(const struct toy_gpu *toy)
{
    for (uint32_t i = 0; i < toy->app_count; i++) {
        if (!toy->apps[i].done) {
            return false;
        }
    }
    return true;
}

void toy_run(struct toy_gpu *toy, uint64_t until)
{
    while (toy->now < until && !toy_all_done(toy)) {
        toy_ends(toy);
        toy_arrivals(toy);
        uint64_t again = toy_decide(toy);
        while (again == toy->now) {
            again = toy_decide(toy);
        }
        if (toy_all_done(toy)) {
            return;
        }
        uint64_t next = toy_next_event(toy, again);
        next = least(next, until);
        if (!toy_something_runs(toy) && toy_work_waits(toy)) {
            toy->idle_ns += next - toy->now;
        }
        toy->now = next;
    }
    if (!toy_all_done(toy)) {
        toy_ends(toy);
        toy_arrivals(toy);
    }
}

void toy_slots(const struct sched_decision *decision, char out[16])
{
    uint32_t count = decision->count < 15 ? decision->count : 15;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (char)('1' + decision->awake[i].slot);
    }
    out[count] = '\0';
}
