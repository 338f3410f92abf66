/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which finished work is told, with work that finishes in random order, also while it
 * is being looked at. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "server/pipeline/completion_order.h"

#define ENTRIES 60
#define LINES   5

/* Entry i may depend on older entries; a fake GPU finishes an entry only after those. */
struct work {
    struct completion base;
    unsigned index;
    unsigned depends_on[3];
    unsigned depends_count;
    bool finished, told;
};

struct gpu {
    struct work work[ENTRIES];
    unsigned added;
    unsigned order[ENTRIES];
    unsigned told;
    unsigned polls;
    unsigned seed;
};

static unsigned pick(struct gpu *gpu, unsigned below)
{
    gpu->seed = gpu->seed * 1103515245u + 12345u;
    return (gpu->seed >> 16) % below;
}

static bool may_finish(const struct gpu *gpu, const struct work *work)
{
    for (unsigned i = 0; i < work->depends_count; i++) {
        if (!gpu->work[work->depends_on[i]].finished) {
            return false;
        }
    }
    return !work->finished;
}

/* Lets a few entries finish, any that may. */
static void progress(struct gpu *gpu, unsigned most)
{
    for (unsigned n = pick(gpu, most + 1); n > 0; n--) {
        struct work *work = &gpu->work[pick(gpu, gpu->added)];
        if (may_finish(gpu, work)) {
            work->finished = true;
        }
    }
}

/* Work goes on between two looks: the moment that a single pass would get wrong. */
static bool poll_work(void *user, struct completion *entry)
{
    struct gpu *gpu = user;
    bool finished = ga_container(entry, struct work, base)->finished;
    gpu->polls++;
    progress(gpu, 2);
    return finished;
}

static void emit_work(void *user, struct completion *entry)
{
    struct gpu *gpu = user;
    struct work *work = ga_container(entry, struct work, base);
    cr_assert(work->finished && !work->told);
    work->told = true;
    gpu->order[gpu->told++] = work->index;
    for (unsigned i = 0; i < work->depends_count; i++) {
        cr_assert(gpu->work[work->depends_on[i]].told, "%u is told before %u", work->index,
                  work->depends_on[i]);
    }
}

static void add_work(struct gpu *gpu, struct completion_list *list, unsigned *last_of_line)
{
    struct work *work = &gpu->work[gpu->added];
    *work = (struct work){.index = gpu->added, .base.lane = pick(gpu, LINES + 1)};
    if (work->base.lane != 0) { /* of a stream: after the one before it there */
        unsigned before = last_of_line[work->base.lane];
        if (before != ENTRIES) {
            work->depends_on[work->depends_count++] = before;
        }
        last_of_line[work->base.lane] = work->index;
    }
    while (gpu->added > 0 && work->depends_count < 3 && pick(gpu, 2) == 0) {
        work->depends_on[work->depends_count++] = pick(gpu, gpu->added); /* across streams */
    }
    gpu->added++;
    completion_list_add(list, &work->base);
}

static void run_once(unsigned seed)
{
    struct gpu gpu = {.seed = seed};
    struct completion_list list, incoming;
    unsigned last_of_line[LINES + 1];
    for (unsigned i = 0; i <= LINES; i++) {
        last_of_line[i] = ENTRIES;
    }
    completion_list_init(&list);
    completion_list_init(&incoming);
    for (unsigned turns = 0; gpu.told < ENTRIES; turns++) {
        cr_assert(turns < 100000, "seed %u does not end", seed);
        while (gpu.added < ENTRIES && pick(&gpu, 4) != 0) {
            add_work(&gpu, &incoming, last_of_line);
        }
        completion_list_take(&list, &incoming);
        if (gpu.added != 0) {
            progress(&gpu, 3);
        }
        (void)completion_list_run(&list, poll_work, emit_work, &gpu);
        cr_assert_eq(list.count, gpu.added - gpu.told);
    }
    cr_assert(ga_list_empty(&list.entries));
}

Test(completion_order, nothing_is_told_before_what_it_depends_on)
{
    for (unsigned seed = 1; seed <= 3000; seed++) {
        run_once(seed);
    }
}

static bool poll_flag(void *user, struct completion *entry)
{
    (void)user;
    return ga_container(entry, struct work, base)->finished;
}

static void emit_order(void *user, struct completion *entry)
{
    struct gpu *gpu = user;
    gpu->order[gpu->told++] = ga_container(entry, struct work, base)->index;
}

Test(completion_order, ready_ones_are_told_in_order_of_submission)
{
    static struct gpu gpu;
    struct completion_list list;
    completion_list_init(&list);
    for (unsigned i = 0; i < 6; i++) {
        gpu.work[i].index = i;
        gpu.work[i].finished = i != 2;
        gpu.work[i].base.lane = i == 4 ? 7 : 0;
        completion_list_add(&list, &gpu.work[i].base);
    }
    cr_assert_eq(completion_list_run(&list, poll_flag, emit_order, &gpu), 5);
    static const unsigned due[] = {0, 1, 3, 4, 5};
    cr_assert_eq(gpu.told, 5);
    cr_assert_arr_eq(gpu.order, due, sizeof due);
    cr_assert_eq(completion_list_run(&list, poll_flag, emit_order, &gpu), 0);
    gpu.work[2].finished = true;
    cr_assert_eq(completion_list_run(&list, poll_flag, emit_order, &gpu), 1);
}

Test(completion_order, only_the_oldest_of_a_lane_is_polled)
{
    static struct gpu gpu;
    struct completion_list list;
    completion_list_init(&list);
    gpu.added = 50;
    for (unsigned i = 0; i < 50; i++) {
        gpu.work[i].base.lane = 1 + i % 2;
        gpu.work[i].depends_on[0] = i; /* never finishes by itself */
        gpu.work[i].depends_count = 1;
        completion_list_add(&list, &gpu.work[i].base);
    }
    cr_assert_eq(completion_list_run(&list, poll_work, emit_order, &gpu), 0);
    cr_assert_eq(gpu.polls, 2);
}
