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
}

uint64_t timers_now(const struct server_timers *timers)
{
    return timers->host->now_ns(timers);
}

/* The host hears of it once, when all that are due have been called. */
static void timers_tell(struct server_timers *timers)
{
    if (!timers->running) {
        timers->host->next(timers, timers->first != NULL ? timers->first->at_ns : UINT64_MAX);
    }
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
    timer_add(timers, timer, timers_now(timers) + after_ms * GA_NS_PER_MS);
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
    uint64_t now_ns = timers_now(timers), last = timers->started;
    timers->running = true;
    while (timers->first != NULL && timers->first->at_ns <= now_ns &&
           timers->first->order <= last) {
        struct server_timer *timer = timers->first;
        heap_remove(timers, timer);
        timer->runs = false;
        if (timer->every_ns != 0) {
            timer_add(timers, timer, now_ns + timer->every_ns);
        }
        timer->due(timer);
    }
    timers->running = false;
    timers_tell(timers);
}
