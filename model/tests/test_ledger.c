/* SPDX-License-Identifier: Apache-2.0 */
/* Work on a timeline that is taken out again, because its process is dead. */
#include <criterion/criterion.h>
#include <string.h>

#include "model/ledger.h"

#define US   UINT64_C(1000)
#define DEAD UINT64_C(1) /* context; the ids of its work are below 100 */

static struct soft_device device;
static struct model_ledger ledger;

static void fresh(void)
{
    device = (struct soft_device){
        .copy_engines = 2, .concurrent_kernels = true, .overlap_contexts = true};
    memset(&ledger, 0, sizeof ledger);
}

TestSuite(ledger, .init = fresh);

static struct model_placed *place(uint64_t at_ns, uint64_t id, uint64_t context,
                                  enum gpu_engine engine, uint64_t ns)
{
    const struct model_demand demand = {.ns = ns, .share = {1, 1, 0}};
    struct model_period period;
    struct model_placed *work =
        model_ledger_place(&ledger, &device, id, engine, context, &demand, at_ns, at_ns, &period);
    cr_assert_not_null(work);
    work->moves = context != DEAD;
    return work;
}

static bool is_dead(const void *data, uint64_t id)
{
    (void)data;
    return id < 100;
}

static void die(uint64_t at_ns)
{
    model_ledger_forget(&ledger, is_dead, NULL);
    model_ledger_settle(&ledger, &device, at_ns);
}

static void expect_period(uint64_t id, uint64_t start_ns, uint64_t end_ns)
{
    const struct model_placed *work = model_ledger_find(&ledger, id);
    cr_assert_not_null(work, "%d", (int)id);
    cr_expect_eq(work->start_ns, start_ns, "work %d begins at %llu", (int)id,
                 (unsigned long long)work->start_ns);
    cr_expect_eq(work->end_ns, end_ns, "work %d ends at %llu", (int)id,
                 (unsigned long long)work->end_ns);
}

Test(ledger, what_waits_for_a_dead_one_begins_now_in_its_order)
{
    (void)place(0, 1, DEAD, GPU_COMPUTE, 20000 * US);
    (void)place(10 * US, 100, 2, GPU_COMPUTE, 5 * US);
    (void)place(11 * US, 101, 3, GPU_COMPUTE, 7 * US);
    expect_period(100, 20000 * US, 20005 * US);
    expect_period(101, 20005 * US, 20012 * US);
    die(300 * US);
    cr_expect_null(model_ledger_find(&ledger, 1));
    expect_period(100, 300 * US, 305 * US);
    expect_period(101, 305 * US, 312 * US);
    (void)place(301 * US, 102, 2, GPU_COMPUTE, 1 * US);
    expect_period(102, 312 * US, 313 * US);
}

Test(ledger, what_has_begun_does_not_move)
{
    device.switch_ns = 3 * US;
    (void)place(0, 100, 2, GPU_COMPUTE, 50 * US);
    (void)place(1 * US, 1, DEAD, GPU_COMPUTE, 1000 * US);
    (void)place(2 * US, 101, 2, GPU_COMPUTE, 10 * US);
    expect_period(101, 1056 * US, 1066 * US);
    die(20 * US);
    expect_period(100, 0, 50 * US);
    expect_period(101, 50 * US, 60 * US);
    (void)place(21 * US, 102, 3, GPU_COMPUTE, 1 * US);
    expect_period(102, 63 * US, 64 * US);
}

Test(ledger, kernels_of_one_context_that_run_together_keep_their_parts)
{
    const struct model_demand half = {.ns = 100 * US, .share = {0.5, 0.5, 0}};
    struct model_period period;
    for (uint64_t id = 100; id < 103; id++) {
        cr_assert_not_null(
            model_ledger_place(&ledger, &device, id, GPU_COMPUTE, 2, &half, 0, 0, &period));
    }
    expect_period(101, 0, 100 * US);
    expect_period(102, 100 * US, 200 * US);
    ledger.works[2].moves = 1;
    (void)place(0, 1, DEAD, GPU_COMPUTE, 100 * US);
    die(10 * US);
    expect_period(102, 100 * US, 200 * US); /* both halves are taken until then */
}

Test(ledger, copies_move_too)
{
    (void)place(0, 1, DEAD, GPU_H2D, 1000 * US);
    (void)place(0, 2, DEAD, GPU_D2H, 1000 * US);
    (void)place(1 * US, 100, 2, GPU_H2D, 5 * US);
    (void)place(1 * US, 101, 2, GPU_D2H, 6 * US);
    (void)place(1 * US, 102, 2, GPU_COMPUTE, 7 * US);
    expect_period(102, 1 * US, 8 * US);
    die(100 * US);
    expect_period(100, 100 * US, 105 * US);
    expect_period(101, 100 * US, 106 * US);
    expect_period(102, 1 * US, 8 * US);
}

Test(ledger, one_that_found_no_room_stays)
{
    const struct model_demand demand = {.ns = 10 * US, .share = {1, 1, 0}};
    struct model_period period;
    (void)place(0, 1, DEAD, GPU_COMPUTE, 1000 * US);
    for (uint64_t i = 1; i < MODEL_LEDGER_WORKS; i++) {
        (void)place(0, 99 + i, 2, GPU_COMPUTE, 10 * US);
    }
    cr_expect_null(
        model_ledger_place(&ledger, &device, 500, GPU_COMPUTE, 2, &demand, 0, 0, &period));
    cr_expect_eq(period.start_ns, 2270 * US);
    die(100 * US);
    expect_period(100, 100 * US, 110 * US);
    (void)place(101 * US, 300, 2, GPU_COMPUTE, 2000 * US);
    expect_period(300, 1370 * US, 3380 * US); /* with a pause where it is */
    model_ledger_take(&ledger, model_ledger_find(&ledger, 100));
    (void)place(101 * US, 301, 3, GPU_COMPUTE, 1 * US);
    expect_period(301, 3380 * US, 3381 * US);
}

Test(ledger, what_has_ended_and_is_asked_for_by_nobody_makes_room)
{
    for (uint64_t i = 0; i < 3 * MODEL_LEDGER_WORKS; i++) {
        (void)place(i * 10 * US, 1 + i % 50, DEAD, GPU_COMPUTE, 10 * US);
    }
    cr_expect_leq(ledger.count, 2);
    (void)place(0, 100, 2, GPU_COMPUTE, 1 * US);
    (void)place(1000000 * US, 1, DEAD, GPU_COMPUTE, 1 * US);
    struct model_placed *asked = model_ledger_find(&ledger, 100);
    cr_assert_not_null(asked);
    model_ledger_take(&ledger, asked);
    cr_expect_null(model_ledger_find(&ledger, 100));
}

Test(ledger, a_copy_is_well_formed)
{
    struct model_ledger copy;
    (void)place(0, 100, 2, GPU_COMPUTE, 5 * US);
    model_ledger_copy(&copy, &ledger, 1 * US);
    cr_expect_eq(copy.count, 1);
    cr_expect_eq(copy.works[0].end_ns, 5 * US);
    ledger.works[0].end_ns = 2 * MODEL_TIMELINE_AHEAD_NS;
    model_ledger_copy(&copy, &ledger, 1 * US);
    cr_expect_eq(copy.count, 0);
    ledger.count = MODEL_LEDGER_WORKS + 1;
    model_ledger_copy(&copy, &ledger, 1 * US);
    cr_expect_eq(copy.count, 0);
}
