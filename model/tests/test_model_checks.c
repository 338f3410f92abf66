/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a model passes only if nothing is given away in it: work is neither lost nor done
 * twice, no engine does more than it can, and applications that are packed into one context gain
 * from what they really share, and from nothing else. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "model/constants.h"
#include "model/flow.h"

#define US         UINT64_C(1000)
#define MS         UINT64_C(1000000)
#define APPS_MAX   8
#define PHASES_MAX 3

/* An application that does its phases one after the other, `rounds` times. */
struct app {
    struct phase {
        enum gpu_engine engine;
        uint64_t ns;
        double share; /* of places and issue */
    } phases[PHASES_MAX];
    unsigned phase_count, rounds;
};

struct outcome {
    uint64_t end_ns[APPS_MAX], last_ns;
    uint64_t busy_ns[3];
    double work_ns[3], places_ns; /* of all demands; places_ns: times the share of places */
};

static struct soft_device device;
static uint64_t state;

static void fresh(void)
{
    device = (struct soft_device){
        .copy_engines = 2, .concurrent_kernels = true, .overlap_contexts = true};
    state = 1;
}

TestSuite(checks, .init = fresh);

static uint64_t random_below(uint64_t bound)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % bound;
}

static struct app random_app(double share)
{
    struct app app = {.phase_count = PHASES_MAX, .rounds = 1 + (unsigned)random_below(20)};
    for (unsigned i = 0; i < PHASES_MAX; i++) {
        app.phases[i] =
            (struct phase){(enum gpu_engine)random_below(3), (1 + random_below(900)) * US, share};
    }
    return app;
}

static struct app kernels(uint64_t ns, double share, unsigned rounds)
{
    return (struct app){{{GPU_COMPUTE, ns, share}}, 1, rounds};
}

static void app_add(struct model_flow *flow, struct outcome *outcome, const struct app *app,
                    unsigned which, unsigned done, bool packed)
{
    const struct phase *phase = &app->phases[done % app->phase_count];
    struct model_demand demand = {.ns = phase->ns};
    if (phase->engine == GPU_COMPUTE) {
        demand.lead_ns = MODEL_LAUNCH_NS;
        demand.share[MODEL_RESOURCE_SLOTS] = demand.share[MODEL_RESOURCE_ISSUE] = phase->share;
        outcome->places_ns += phase->share * (double)phase->ns;
    }
    outcome->work_ns[phase->engine] += (double)phase->ns;
    cr_assert_eq(
        model_flow_add(flow, &device, which + 1, packed ? 1 : which + 1, phase->engine, &demand),
        GA_OK);
}

/* Each application has a context of its own, or (packed) all have one. */
static struct outcome run(const struct app *apps, unsigned count, bool packed)
{
    static struct model_flow flow;
    struct outcome outcome = {.last_ns = 0};
    unsigned done[APPS_MAX] = {0};
    memset(&flow, 0, sizeof flow);
    for (unsigned i = 0; i < count; i++) {
        app_add(&flow, &outcome, &apps[i], i, 0, packed);
    }
    while (flow.count != 0) {
        struct model_work ended;
        cr_assert_neq(flow.next_ns, MODEL_NEVER, "work that never ends");
        model_flow_advance(&flow, &device, flow.next_ns);
        while (model_flow_take(&flow, 0, &ended)) {
            unsigned i = (unsigned)ended.id - 1;
            outcome.end_ns[i] = outcome.last_ns = ended.end_ns;
            if (++done[i] < apps[i].rounds * apps[i].phase_count) {
                app_add(&flow, &outcome, &apps[i], i, done[i], packed);
            }
        }
    }
    memcpy(outcome.busy_ns, flow.busy_ns, sizeof outcome.busy_ns);
    return outcome;
}

static double packing_gain(const struct app *apps, unsigned count)
{
    return (double)run(apps, count, false).last_ns / (double)run(apps, count, true).last_ns;
}

/* Each kind of device that shares between contexts in its own way. */
static void device_choose(unsigned which)
{
    device.context_slice_ns = (which & 1) != 0 ? 300 * US : 0;
    device.overlap_contexts = (which & 2) != 0;
    device.switch_ns = (which & 4) != 0 ? 25 * US : 0;
    device.copy_engines = (which & 8) != 0 ? 1 : 2;
}
#define DEVICES 16

/* Without load nothing is there to gain. */
Test(checks, alone_an_application_takes_the_same_however_it_is_isolated)
{
    for (unsigned which = 0; which < DEVICES; which++) {
        device_choose(which);
        for (unsigned seed = 1; seed <= 20; seed++) {
            state = seed;
            struct app app = random_app(0.5);
            struct outcome alone = run(&app, 1, false);
            double all = alone.work_ns[0] + alone.work_ns[1] + alone.work_ns[2];
            for (unsigned i = 0; i < app.phase_count; i++) {
                bool kernel = app.phases[i].engine == GPU_COMPUTE;
                all += kernel ? (double)app.rounds * MODEL_LAUNCH_NS : 0;
            }
            cr_assert_float_eq((double)alone.last_ns, all, 1, "%g", all);
            cr_assert_eq(run(&app, 1, true).last_ns, alone.last_ns);
        }
    }
}

/* The utilisation law. */
Test(checks, engines_are_busy_as_long_as_they_have_work)
{
    for (unsigned which = 0; which < 2 * DEVICES; which++) {
        device_choose(which % DEVICES);
        for (unsigned seed = 1; seed <= 20; seed++) {
            struct app apps[APPS_MAX];
            state = seed;
            for (unsigned i = 0; i < APPS_MAX; i++) {
                apps[i] = random_app(1);
            }
            struct outcome outcome = run(apps, APPS_MAX, which >= DEVICES);
            for (int engine = 0; engine < 3; engine++) {
                cr_assert_float_eq((double)outcome.busy_ns[engine], outcome.work_ns[engine],
                                   1e-5 * outcome.work_ns[engine] + 1,
                                   "device %u, seed %u, engine %d: busy %llu, work %.0f", which,
                                   seed, engine, (unsigned long long)outcome.busy_ns[engine],
                                   outcome.work_ns[engine]);
            }
        }
    }
}

Test(checks, nothing_is_faster_than_its_engines)
{
    for (unsigned which = 0; which < 2 * DEVICES; which++) {
        device_choose(which % DEVICES);
        for (unsigned seed = 1; seed <= 20; seed++) {
            struct app apps[APPS_MAX];
            state = seed;
            const double share = (double)(2 + seed % 9) / 10;
            for (unsigned i = 0; i < APPS_MAX; i++) {
                apps[i] = random_app(share);
            }
            struct outcome outcome = run(apps, APPS_MAX, which >= DEVICES);
            const double *work = outcome.work_ns, last = (double)outcome.last_ns + 1;
            cr_assert_geq(last, outcome.places_ns);
            if (device.copy_engines == 1) {
                cr_assert_geq(last, work[GPU_H2D] + work[GPU_D2H]);
            }
            cr_assert_geq(last, work[GPU_H2D]);
            cr_assert_geq(last, work[GPU_D2H]);
            device.switch_ns = 0; /* it is no engine's work */
            double gain = packing_gain(apps, APPS_MAX);
            cr_assert_leq(gain, 3 / share, "gain %g", gain);
        }
    }
}

/* ---- what packing gains, each switched on by itself ---- */

static double gain_of(const struct app *app, unsigned count)
{
    struct app apps[APPS_MAX];
    for (unsigned i = 0; i < count; i++) {
        apps[i] = *app;
    }
    return packing_gain(apps, count);
}

Test(checks, packing_gains_nothing_from_kernels_that_fill_the_device)
{
    struct app app = kernels(500 * US, 1, 50);
    for (unsigned which = 0; which < 4; which++) {
        device_choose(which); /* all without a switch's cost */
        double gain = gain_of(&app, 4);
        cr_assert_float_eq(gain, 1, 0.02, "gain %g", gain);
    }
}

Test(checks, packing_gains_from_kernels_that_leave_places)
{
    struct app app = kernels(5 * MS, 0.5, 50);
    for (unsigned which = 0; which < 4; which++) {
        device_choose(which);
        double gain = gain_of(&app, 4);
        cr_assert_float_eq(gain, 2, 0.02, "gain %g", gain);
    }
}

Test(checks, packing_gains_from_copies_beside_kernels)
{
    struct app app = {{{GPU_H2D, 500 * US, 0}, {GPU_COMPUTE, 500 * US, 1}}, 2, 50};
    double gain = gain_of(&app, 4);
    cr_assert_float_eq(gain, 1, 0.02, "contexts overlap by themselves: gain %g", gain);
    device.overlap_contexts = false;
    gain = gain_of(&app, 4);
    cr_assert_float_eq(gain, 2, 0.03, "gain %g", gain);
    device.context_slice_ns = 2 * MS;
    gain = gain_of(&app, 4);
    cr_assert_float_eq(gain, 2, 0.03, "with slices: gain %g", gain);
}

Test(checks, packing_gains_the_cost_of_switches)
{
    struct app app = kernels(50 * MS, 1, 4);
    device.context_slice_ns = 1024 * US;
    device.switch_ns = 25 * US;
    double gain = gain_of(&app, 4);
    cr_assert_float_eq(gain, 1 + 25.0 / 1024, 0.002, "gain %g", gain);
}

/* ---- fairness of slices ---- */

/* Kernels of several contexts that never end, for `until_ns`; the time that each has had. */
static void attained(const uint64_t *ns, unsigned count, uint64_t until_ns, double *had,
                     uint64_t *busy_ns)
{
    static struct model_flow flow;
    memset(&flow, 0, sizeof flow);
    memset(had, 0, count * sizeof *had);
    for (unsigned i = 0; i < count; i++) {
        struct model_demand demand = {.ns = ns[i], .share = {1, 1, 0}};
        cr_assert_eq(model_flow_add(&flow, &device, i + 1, i + 1, GPU_COMPUTE, &demand), GA_OK);
    }
    while (flow.next_ns <= until_ns) {
        struct model_work ended;
        model_flow_advance(&flow, &device, flow.next_ns);
        while (model_flow_take(&flow, 0, &ended)) {
            unsigned i = (unsigned)ended.id - 1;
            struct model_demand demand = {.ns = ns[i], .share = {1, 1, 0}};
            had[i] += (double)ns[i];
            cr_assert_eq(
                model_flow_add(&flow, &device, ended.id, ended.context, GPU_COMPUTE, &demand),
                GA_OK);
        }
    }
    for (unsigned i = 0; i < flow.count; i++) {
        had[flow.works[i].id - 1] +=
            (double)ns[flow.works[i].id - 1] - fmax(flow.works[i].left_ns, 0);
    }
    *busy_ns = flow.busy_ns[GPU_COMPUTE];
}

static double jain(const double *had, unsigned count)
{
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += had[i];
        squares += had[i] * had[i];
    }
    return sum * sum / (count * squares);
}

Test(checks, identical_applications_get_equal_shares)
{
    enum { COUNT = 5 };
    uint64_t ns[COUNT] = {7 * MS, 7 * MS, 7 * MS, 7 * MS, 7 * MS}, busy_ns;
    double had[COUNT];
    for (unsigned slices = 0; slices < 2; slices++) {
        device.context_slice_ns = slices != 0 ? 1024 * US : 0;
        attained(ns, COUNT, 3000 * MS, had, &busy_ns);
        cr_assert_gt(jain(had, COUNT), 0.99, "%g", jain(had, COUNT));
    }
}

/* All that they have had is the time in which the device was busy. */
Test(checks, with_slices_long_kernels_get_no_more_than_short_ones)
{
    enum { COUNT = 3 };
    uint64_t ns[COUNT] = {2 * MS, 40 * MS, 700 * MS}, busy_ns;
    double had[COUNT];
    attained(ns, COUNT, 9000 * MS, had, &busy_ns);
    cr_assert_lt(jain(had, COUNT), 0.5, "without slices: %g", jain(had, COUNT));
    cr_assert_float_eq(had[0] + had[1] + had[2], (double)busy_ns, 10, "%g", (double)busy_ns);
    device.context_slice_ns = 1024 * US;
    device.switch_ns = 25 * US;
    attained(ns, COUNT, 9000 * MS, had, &busy_ns);
    cr_assert_gt(jain(had, COUNT), 0.99, "with slices: %g", jain(had, COUNT));
    cr_assert_float_eq(had[0] + had[1] + had[2], (double)busy_ns, 1e-5 * (double)busy_ns);
    cr_assert_leq((double)busy_ns, 9000.0 * MS * 1024 / (1024 + 25) + 2 * MS);
}

/* ---- replay ---- */

Test(checks, the_same_calls_give_the_same_bytes_and_looking_changes_nothing)
{
    static struct model_flow once, again, watched;
    memset(&once, 0, sizeof once);
    memset(&again, 0, sizeof again);
    memset(&watched, 0, sizeof watched);
    device.context_slice_ns = 300 * US;
    device.switch_ns = 25 * US;
    uint64_t at = 0;
    for (uint64_t id = 1; id <= 50; id++) {
        struct model_demand demand = {
            .lead_ns = MODEL_LAUNCH_NS, .ns = random_below(900) * US, .share = {0.7, 0.3, 0.9}};
        enum gpu_engine engine = (enum gpu_engine)random_below(3);
        uint64_t context = 1 + random_below(4), to = at + random_below(400) * US;
        for (; at < to; at += 7 * US) {
            model_flow_advance(&watched, &device, at);
        }
        at = to;
        struct model_flow *const flows[] = {&once, &again, &watched};
        for (unsigned i = 0; i < 3; i++) {
            model_flow_advance(flows[i], &device, at);
            cr_assert_eq(model_flow_add(flows[i], &device, id, context, engine, &demand), GA_OK);
        }
        cr_assert_eq(memcmp(&once, &again, sizeof once), 0);
        cr_assert_eq(memcmp(&once, &watched, sizeof once), 0);
    }
}
