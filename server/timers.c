/* SPDX-License-Identifier: Apache-2.0 */
#include "server/timers.h"

#include <stddef.h>

#include "base/clock.h"

/* ---- the heap */

static bool timer_is_before(const struct server_timer *one, const struct server_timer *other)
{
    return one->at_ns != other->at_ns ? one->at_ns < other->at_ns : one->order < other->order;
}

/* Two roots become one. Either may be NULL. */
static struct server_timer *heap_meld(struct server_timer *one, struct server_timer *other)
{
    if (one == NULL || other == NULL) {
        return one != NULL ? one : other;
    }
    if (timer_is_before(other, one)) {
        struct server_timer *swapped = one;
        one = other;
        other = swapped;
    }
    other->next = one->child;
    other->before = one;
    if (one->child != NULL) {
        one->child->before = other;
    }
    one->child = other;
    return one;
}

/* The root of what hung below one that is taken out: in pairs, and then these from the last one
 * on. */
static struct server_timer *heap_of_children(struct server_timer *child)
{
    struct server_timer *pairs = NULL, *root = NULL;
    while (child != NULL) {
        struct server_timer *beside = child->next, *rest = NULL;
        child->next = child->before = NULL;
        if (beside != NULL) {
            rest = beside->next;
            beside->next = beside->before = NULL;
        }
        struct server_timer *pair = heap_meld(child, beside);
        pair->next = pairs;
        pairs = pair;
        child = rest;
    }
    while (pairs != NULL) {
        struct server_timer *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        root = heap_meld(root, pair);
    }
    return root;
}

static void heap_remove(struct server_timers *timers, struct server_timer *timer)
{
    struct server_timer *below = heap_of_children(timer->child);
    timer->child = NULL;
    if (timers->first == timer) {
        timers->first = below;
        return;
    }
    if (timer->before->child == timer) {
        timer->before->child = timer->next;
    } else {
        timer->before->next = timer->next;
    }
    if (timer->next != NULL) {
        timer->next->before = timer->before;
    }
    timer->next = timer->before = NULL;
    timers->first = heap_meld(timers->first, below);
}

/* ---- timers */

void timers_init(struct server_timers *timers, const struct timers_host *host)
{
    *timers = (struct server_timers){.host = host};
    timers->turn_ns = timers->awake_ns = timers_now(timers);
}

uint64_t timers_now(const struct server_timers *timers)
{
    return timers->host->now_ns(timers);
}

uint64_t timers_wall_ns(const struct server_timers *timers)
{
    return timers->host->wall_ns(timers);
}

int64_t timers_wall_s(const struct server_timers *timers)
{
    return (int64_t)(timers_wall_ns(timers) / GA_NS_PER_S);
}

uint64_t timers_awake(const struct server_timers *timers)
{
    uint64_t passed_ns = timers_now(timers) - timers->turn_ns;
    return timers->awake_ns + (passed_ns < TIMERS_TURN_NS ? passed_ns : TIMERS_TURN_NS);
}

/* The host hears of it once, when all that are due have been called. */
static void timers_tell(struct server_timers *timers)
{
    uint64_t awake_ns = timers_awake(timers), at_ns = UINT64_MAX;
    if (timers->running) {
        return;
    }
    if (timers->first != NULL) {
        uint64_t due_ns = timers->first->at_ns, wait_ns = due_ns > awake_ns ? due_ns - awake_ns : 0;
        at_ns = timers_now(timers) + (wait_ns < TIMERS_WAKE_NS ? wait_ns : TIMERS_WAKE_NS);
    }
    timers->host->next(timers, at_ns);
}

static void timer_add(struct server_timers *timers, struct server_timer *timer, uint64_t at_ns)
{
    timer->at_ns = at_ns;
    timer->order = ++timers->started;
    timer->runs = true;
    timers->first = heap_meld(timers->first, timer);
}

void timers_start(struct server_timers *timers, struct server_timer *timer,
                  void (*due)(struct server_timer *timer), uint64_t after_ms, uint64_t every_ms)
{
    const struct server_timer *first = timers->first;
    if (timer->runs) {
        heap_remove(timers, timer);
    }
    timer->due = due;
    timer->every_ns = every_ms * GA_NS_PER_MS;
    timer_add(timers, timer, timers_awake(timers) + after_ms * GA_NS_PER_MS);
    if (first == timer || timers->first == timer) {
        timers_tell(timers);
    }
}

void timers_stop(struct server_timers *timers, struct server_timer *timer)
{
    bool first = timers->first == timer;
    if (timer->runs) {
        heap_remove(timers, timer);
        timer->runs = false;
    }
    if (first) {
        timers_tell(timers);
    }
}

void timers_run(struct server_timers *timers)
{
    uint64_t awake_ns = timers_awake(timers), last = timers->started;
    timers->awake_ns = awake_ns;
    timers->turn_ns = timers_now(timers);
    timers->running = true;
    while (timers->first != NULL && timers->first->at_ns <= awake_ns &&
           timers->first->order <= last) {
        struct server_timer *timer = timers->first;
        heap_remove(timers, timer);
        timer->runs = false;
        if (timer->every_ns != 0) {
            timer_add(timers, timer, awake_ns + timer->every_ns);
        }
        timer->due(timer);
    }
    timers->running = false;
    timers_tell(timers);
}
