/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU and applications for tests of the policies: virtual time, engines that run one operation
 * after the other in the order they come, applications that repeat a list of operations, one at a
 * time. It checks as it goes: whoever begins an operation is awake; where work waits and nothing
 * runs, somebody is awake. */
#ifndef SCHED_TESTS_TOY_GPU_H
#define SCHED_TESTS_TOY_GPU_H

#include "sched/sched.h"

#define TOY_APPS_MAX  32u
#define TOY_TURNS_MAX 4096u
#define TOY_MS        UINT64_C(1000000)

struct toy_op {
    uint64_t pause_ns; /* the program computes so long before it */
    enum gpu_engine engine;
    uint64_t ns;
};

struct toy_app {
    struct sched_request request; /* tenant, weight, ...; the rest is set */
    const struct toy_op *ops;
    uint32_t op_count;
    uint32_t rounds; /* of the list; 0: for ever */
    uint64_t arrives;
    bool renews; /* each round is a session of its own, away_ns after the one before */
    uint64_t away_ns;
    /* what has become of it */
    bool joined, done;
    uint32_t slot, op, round;
    bool submitted;
    uint64_t next_at; /* the next operation is wanted then; SCHED_NEVER: one is under way */
    uint64_t ended;   /* its exit */
    uint64_t wanted_at, waited_max; /* for the longest time between want and begin */
    uint64_t attained;
};

struct toy_turn {
    uint32_t app;
    uint64_t at;
    uint64_t length; /* until - at; SCHED_NEVER: no end */
    double debt;     /* before */
};

/* An engine works for an application. */
struct toy_span {
    uint32_t app;
    enum gpu_engine engine;
    uint64_t from, to;
};

struct toy_gpu {
    struct sched *sched;
    struct sched_gpu gpu;
    bool may_wait; /* toy_may_wait of the policy of now */
    struct toy_app *apps;
    uint32_t app_count;
    uint64_t now;
    struct {
        uint32_t app; /* UINT32_MAX: idle */
        uint64_t ends;
    } engines[GPU_ENGINES];
    uint32_t queue[TOY_APPS_MAX]; /* submitted, not running, in order */
    uint32_t queued;
    uint32_t awake_most;
    uint64_t idle_ns; /* work was there, nothing ran */
    struct toy_turn turns[TOY_TURNS_MAX];
    uint32_t turn_count;
    char order[TOY_TURNS_MAX + 1]; /* of operations begun: 'A' is the first application */
    uint32_t order_count;
    struct toy_span spans[TOY_TURNS_MAX];
    uint32_t span_count;
    uint64_t trace; /* of all decisions and accounts: a number that any other one would change */
};

/* Whether under this policy the GPU may wait, although there is work, for a session that is about
 * to come back. */
bool toy_may_wait(const char *policy);

/* A GPU with two copy engines and these applications. Fails the test where memory lacks. */
void toy_begin(struct toy_gpu *toy, const char *policy, const struct sched_settings *settings,
               struct toy_app *apps, uint32_t count);
/* On another GPU. */
void toy_begin_on(struct toy_gpu *toy, const struct sched_gpu *gpu, const char *policy,
                  const struct sched_settings *settings, struct toy_app *apps, uint32_t count);
/* Another policy, as sched_change. */
void toy_change(struct toy_gpu *toy, const struct sched_policy *policy,
                const struct sched_settings *settings);
/* Until the time, or until all have ended. */
void toy_run(struct toy_gpu *toy, uint64_t until);
void toy_end(struct toy_gpu *toy);
/* The slots that are woken, as digits from 1. */
void toy_slots(const struct sched_decision *decision, char out[16]);

#endif
