/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: rows that are written twice or late count once, and sums are what a model says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/tests/scratch.h"

#define DAY 86400

static struct store_usage row(const char *tenant, const char *session, int64_t last, uint64_t n)
{
    struct store_usage made = {.node = "n1", .epoch = 1, .gpu = "g0", .began = 5, .last = last};
    snprintf(made.tenant, sizeof made.tenant, "%s", tenant);
    snprintf(made.session, sizeof made.session, "%s", session);
    made.figures = (struct store_figures){.gpu_ns = n,
                                          .wall_ms = 2 * n,
                                          .memory_mib_s = 3 * n,
                                          .memory_peak = 4 * n,
                                          .bytes_in = 5 * n,
                                          .bytes_out = 6 * n,
                                          .launches = 7 * n,
                                          .compute_ns = 8 * n,
                                          .h2d_ns = 9 * n,
                                          .d2h_ns = 10 * n};
    return made;
}

static void write_one(struct store *store, struct store_usage made)
{
    cr_assert_eq(store_usage_write(store, &made, 1), GA_OK, "%s", store_why(store));
}

struct sums {
    unsigned count;
    struct store_usage_sum of[64];
};

static void collect(void *user, const struct store_usage_sum *sum)
{
    struct sums *sums = user;
    cr_assert_lt(sums->count, 64);
    sums->of[sums->count++] = *sum;
}

static struct sums sum_up(struct store *store, struct store_usage_query query)
{
    struct sums sums = {0};
    cr_assert_eq(store_usage_each(store, &query, collect, &sums), GA_OK, "%s", store_why(store));
    return sums;
}

Test(usage, a_row_counts_once)
{
    struct store *store = scratch_open(":memory:");
    write_one(store, row("default", "s1", 100, 10));
    write_one(store, row("default", "s1", 100, 10));
    write_one(store, row("default", "s1", 101, 15));
    write_one(store, row("default", "s1", 99, 3)); /* late: an older one */
    struct sums sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_TENANT});
    cr_assert_eq(sums.count, 1);
    cr_assert_str_eq(sums.of[0].tenant, "default");
    cr_assert_eq(sums.of[0].sessions, 1);
    cr_assert_eq(sums.of[0].figures.gpu_ns, 15);
    cr_assert_eq(sums.of[0].figures.wall_ms, 30);
    cr_assert_eq(sums.of[0].figures.memory_mib_s, 45);
    cr_assert_eq(sums.of[0].figures.memory_peak, 60);
    cr_assert_eq(sums.of[0].figures.bytes_in, 75);
    cr_assert_eq(sums.of[0].figures.bytes_out, 90);
    cr_assert_eq(sums.of[0].figures.launches, 105);
    cr_assert_eq(sums.of[0].figures.compute_ns, 120);
    cr_assert_eq(sums.of[0].figures.h2d_ns, 135);
    cr_assert_eq(sums.of[0].figures.d2h_ns, 150);
    struct store_usage odd = row("default", "s1", 101, 1);
    odd.figures.bytes_out = 1000; /* one figure has grown, the others are late */
    write_one(store, odd);
    sums = sum_up(store, (struct store_usage_query){0});
    cr_assert_eq(sums.of[0].figures.gpu_ns, 15);
    cr_assert_eq(sums.of[0].figures.bytes_out, 1000);
    store_close(store);
}

Test(usage, growth_belongs_to_its_day)
{
    struct store *store = scratch_open(":memory:");
    write_one(store, row("default", "s1", DAY - 1, 10));
    write_one(store, row("default", "s1", DAY, 25));
    write_one(store, row("default", "s2", DAY, 100));
    struct sums sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_DAY});
    cr_assert_eq(sums.count, 2);
    cr_assert_eq(sums.of[0].day, 0);
    cr_assert_eq(sums.of[0].figures.gpu_ns, 10);
    cr_assert_eq(sums.of[0].figures.memory_peak, 40);
    cr_assert_eq(sums.of[0].sessions, 1);
    cr_assert_eq(sums.of[1].day, DAY);
    cr_assert_eq(sums.of[1].figures.gpu_ns, 115);
    cr_assert_eq(sums.of[1].figures.memory_peak, 400, "the largest, no sum");
    cr_assert_eq(sums.of[1].sessions, 1);
    sums = sum_up(store, (struct store_usage_query){.from = DAY, .to = DAY + 1});
    cr_assert_eq(sums.of[0].figures.gpu_ns, 115);
    sums = sum_up(store, (struct store_usage_query){.to = DAY});
    cr_assert_eq(sums.of[0].figures.gpu_ns, 10);
    sums = sum_up(store, (struct store_usage_query){.from = 2 * DAY});
    cr_assert_eq(sums.count, 0, "nothing of that time");
    store_close(store);
}

Test(usage, all_or_none)
{
    struct store *store = scratch_open(":memory:");
    struct store_usage rows[3] = {row("default", "s1", 1, 10), row("nobody", "s2", 1, 10),
                                  row("default", "s3", 1, 10)};
    scratch_refused(store_usage_write(store, rows, 3), GA_NOT_FOUND, store, "'nobody'");
    cr_assert_eq(sum_up(store, (struct store_usage_query){0}).count, 0);
    rows[1].tenant_number = 77;
    scratch_refused(store_usage_write(store, rows, 3), GA_NOT_FOUND, store, "no tenant 77");
    rows[1] = row("default", "s2", 1, UINT64_MAX);
    scratch_refused(store_usage_write(store, rows, 3), GA_INVALID, store, "too large");
    cr_assert_eq(sum_up(store, (struct store_usage_query){0}).count, 0);
    cr_assert_eq(store_usage_write(store, rows, 0), GA_OK);
    store_close(store);
}

Test(usage, stays_with_a_tenant_that_is_renamed_or_removed)
{
    struct store *store = scratch_open(":memory:");
    struct store_tenant tenant;
    scratch_tenant(store, "a", NULL);
    cr_assert_eq(store_tenant_get(store, "a", &tenant), GA_OK);
    write_one(store, row("a", "s1", 1, 10));
    cr_assert_eq(store_tenant_rename(store, "a", "b", STORE_ANY_GENERATION), GA_OK);
    struct store_usage late = row("", "s1", 2, 20);
    late.tenant_number = tenant.number;
    write_one(store, late);
    cr_assert_eq(store_tenant_remove(store, "b", STORE_ANY_GENERATION), GA_OK);
    late = row("", "s1", 3, 30);
    late.tenant_number = tenant.number;
    write_one(store, late);
    scratch_tenant(store, "b", NULL);
    write_one(store, row("b", "s9", 3, 1));
    struct sums sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_TENANT});
    cr_assert_eq(sums.count, 2);
    cr_assert_str_eq(sums.of[0].tenant, "b");
    cr_assert(sums.of[0].removed);
    cr_assert_eq(sums.of[0].figures.gpu_ns, 30);
    cr_assert_str_eq(sums.of[1].tenant, "b");
    cr_assert_not(sums.of[1].removed);
    sums = sum_up(store, (struct store_usage_query){.tenant = "b"});
    cr_assert_eq(sums.of[0].figures.gpu_ns, 1, "the one that there is");
    struct store_usage_query query = {.tenant = "c"};
    scratch_refused(store_usage_each(store, &query, collect, &sums), GA_NOT_FOUND, store, "'c'");
    store_close(store);
}

Test(usage, a_session_that_has_ended_has_ended)
{
    const char *path = scratch_path("db");
    struct store *store = scratch_open(path);
    uint64_t epoch;
    struct store_usage made = row("default", "s1", 10, 10);
    cr_assert_eq(store_epoch_next(store, "n1", &epoch), GA_OK);
    cr_assert_eq(epoch, 1);
    made.ended = 11;
    strcpy(made.reason, "client exit");
    write_one(store, made);
    made.ended = 0;
    made.reason[0] = 0;
    write_one(store, made); /* late */
    write_one(store, row("default", "s2", 20, 10));
    cr_assert_eq(store_epoch_next(store, "n2", &epoch), GA_OK);
    cr_assert_eq(epoch, 1);
    cr_assert_eq(store_epoch_next(store, "n1", &epoch), GA_OK, "%s", store_why(store));
    cr_assert_eq(epoch, 2);
    scratch_refused(store_epoch_next(store, "no de", &epoch), GA_INVALID, store, "name of a node");
    store_close(store);
    cr_assert_eq(scratch_number(path, "SELECT ended FROM usage WHERE session = 's1'"), 11);
    cr_assert_eq(
        scratch_number(path, "SELECT reason = 'client exit' FROM usage WHERE session = 's1'"), 1);
    cr_assert_eq(scratch_number(path, "SELECT ended FROM usage WHERE session = 's2'"), 20);
    cr_assert_eq(
        scratch_number(path, "SELECT reason = 'gpuaasd ended' FROM usage WHERE session = 's2'"), 1);
}

static void forget(struct store *store, int64_t before)
{
    for (bool more = true; more;) {
        cr_assert_eq(store_usage_forget(store, before, &more), GA_OK, "%s", store_why(store));
    }
}

static void must_be_sound(void *user, const char *finding)
{
    (void)user;
    cr_assert_fail("%s", finding);
}

/* A session that goes across the day keeps the use since then; one that runs stays whole. */
Test(usage, old_days_are_forgotten)
{
    const char *path = scratch_path("db");
    struct store *store = scratch_open(path);
    struct store_usage long_one = row("default", "across", 2 * DAY, 10);
    struct store_usage old = row("default", "old", 2 * DAY, 100), runs = old, fresh = old;
    unsigned findings;
    strcpy(runs.session, "runs");
    strcpy(fresh.session, "fresh");
    old.ended = old.last;
    fresh.began = fresh.last = fresh.ended = 9 * DAY;
    write_one(store, long_one);
    long_one.last = long_one.ended = 9 * DAY;
    long_one.figures.gpu_ns = 25;
    write_one(store, long_one);
    write_one(store, old);
    write_one(store, runs);
    write_one(store, fresh);
    cr_assert_eq(sum_up(store, (struct store_usage_query){0}).of[0].figures.gpu_ns, 325);
    forget(store, 2 * DAY + 1);
    cr_assert_eq(sum_up(store, (struct store_usage_query){0}).of[0].figures.gpu_ns, 325,
                 "the day itself stays");
    forget(store, 3 * DAY);
    cr_assert_eq(sum_up(store, (struct store_usage_query){0}).of[0].figures.gpu_ns, 115);
    cr_assert_eq(store_check(store, must_be_sound, NULL, &findings), GA_OK);
    cr_assert_eq(findings, 0);
    runs.last = 10 * DAY;
    runs.figures.gpu_ns = 130; /* it goes on, and the 100 do not come back */
    write_one(store, runs);
    cr_assert_eq(sum_up(store, (struct store_usage_query){0}).of[0].figures.gpu_ns, 145);
    cr_assert_eq(store_check(store, must_be_sound, NULL, &findings), GA_OK);
    store_close(store);
    cr_assert_eq(scratch_number(path, "SELECT count(*) FROM usage"), 3);
    cr_assert_eq(scratch_number(path, "SELECT count(*) FROM usage WHERE session = 'old'"), 0);
}

Test(usage, periods_begin_at_midnight_and_on_the_first)
{
    int64_t from, to;
    store_period_bounds(STORE_DAY, 1764089049, &from, &to); /* 2025-11-25 16:44:09 */
    cr_assert_eq(from, 1764028800);
    cr_assert_eq(to, 1764028800 + DAY);
    store_period_bounds(STORE_MONTH, 1764089049, &from, &to);
    cr_assert_eq(from, 1761955200);                           /* 2025-11-01 */
    cr_assert_eq(to, 1764547200);                             /* 2025-12-01 */
    store_period_bounds(STORE_MONTH, 1767225599, &from, &to); /* the last second of 2025 */
    cr_assert_eq(to, 1767225600);
    store_period_bounds(STORE_MONTH, 1709164800, &from, &to); /* 2024-02-29 */
    cr_assert_eq(to - from, 29 * DAY);

    struct store *store = scratch_open(":memory:");
    struct store_figures figures;
    struct store_usage hers = row("default", "s2", 1764547199, 5);
    strcpy(hers.user, "ana");
    write_one(store, row("default", "s1", 1764547199, 10));
    write_one(store, row("default", "s1", 1764547200, 30));
    write_one(store, hers);
    cr_assert_eq(store_usage_period(store, 1, NULL, STORE_MONTH, 1764547199, &figures), GA_OK);
    cr_assert_eq(figures.gpu_ns, 15);
    cr_assert_eq(store_usage_period(store, 1, "ana", STORE_MONTH, 1764547199, &figures), GA_OK);
    cr_assert_eq(figures.gpu_ns, 5);
    cr_assert_eq(store_usage_period(store, 1, NULL, STORE_MONTH, 1764547200, &figures), GA_OK);
    cr_assert_eq(figures.gpu_ns, 20);
    cr_assert_eq(store_usage_period(store, 1, NULL, STORE_DAY, 1764547199, &figures), GA_OK);
    cr_assert_eq(figures.gpu_ns, 15);
    cr_assert_eq(store_usage_period(store, 1, NULL, STORE_DAY, 1764547199 - DAY, &figures), GA_OK);
    cr_assert_eq(figures.gpu_ns, 0);
    cr_assert_eq(store_usage_period(store, 9, NULL, STORE_DAY, 1764547199, &figures), GA_OK);
    cr_assert_eq(figures.gpu_ns, 0);
    store_close(store);
}

/* Rows of random sessions in random order, some twice, against a model that keeps the largest. */
Test(usage, sums_are_those_of_a_model)
{
    enum { TENANTS = 3, SESSIONS = 4, DAYS = 4 };
    static const char *const tenants[TENANTS] = {"default", "a", "b"};
    uint64_t most[TENANTS][SESSIONS] = {0}, by_day[DAYS] = {0};
    struct store *store = scratch_open(":memory:");
    scratch_tenant(store, "a", NULL);
    scratch_tenant(store, "b", NULL);
    srand(7);
    for (int turn = 0; turn < 2000; turn++) {
        struct store_usage rows[3];
        for (int i = 0; i < 3; i++) {
            int tenant = rand() % TENANTS, session = rand() % SESSIONS, day = rand() % DAYS;
            uint64_t figure = (uint64_t)(rand() % 100000);
            char name[16];
            snprintf(name, sizeof name, "s%d", session);
            rows[i] = row(tenants[tenant], name, day * DAY + rand() % DAY, figure);
            if (figure > most[tenant][session]) {
                by_day[day] += figure - most[tenant][session];
                most[tenant][session] = figure;
            }
        }
        cr_assert_eq(store_usage_write(store, rows, 3), GA_OK, "%s", store_why(store));
    }
    struct sums sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_TENANT});
    cr_assert_eq(sums.count, TENANTS);
    for (unsigned i = 0; i < TENANTS; i++) {
        uint64_t sum = 0;
        for (int k = 0; k < SESSIONS; k++) {
            sum += most[i == 0 ? 1 : i == 1 ? 2 : 0][k]; /* a, b, default */
        }
        cr_assert_eq(sums.of[i].figures.gpu_ns, sum, "%s", sums.of[i].tenant);
        cr_assert_eq(sums.of[i].figures.launches, 7 * sum);
        cr_assert_eq(sums.of[i].sessions, SESSIONS);
    }
    sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_DAY});
    for (unsigned i = 0; i < DAYS; i++) {
        cr_assert_eq(sums.of[i].figures.gpu_ns, by_day[i]);
    }
    store_close(store);
}

Test(usage, is_summed_by_what_is_asked_for)
{
    struct store *store = scratch_open(":memory:");
    struct store_usage rows[4] = {row("default", "s1", 1, 1), row("default", "s2", 1, 2),
                                  row("default", "s3", 1, 4), row("default", "s4", 1, 8)};
    strcpy(rows[1].gpu, "g1");
    strcpy(rows[2].user, "ana");
    strcpy(rows[3].node, "n2");
    cr_assert_eq(store_usage_write(store, rows, 4), GA_OK, "%s", store_why(store));
    struct sums sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_GPU});
    cr_assert_eq(sums.count, 2);
    cr_assert_str_eq(sums.of[0].gpu, "g0");
    cr_assert_eq(sums.of[0].figures.gpu_ns, 13);
    cr_assert_eq(sums.of[1].figures.gpu_ns, 2);
    sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_NODE | STORE_BY_GPU});
    cr_assert_eq(sums.count, 3);
    cr_assert_str_eq(sums.of[2].node, "n2");
    sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_USER});
    cr_assert_str_eq(sums.of[1].user, "ana");
    cr_assert_eq(sums.of[1].figures.gpu_ns, 4);
    sums = sum_up(store, (struct store_usage_query){.user = "ana", .gpu = "g0", .node = "n1"});
    cr_assert_eq(sums.of[0].figures.gpu_ns, 4);
    sums = sum_up(store, (struct store_usage_query){.gpu = "g1"});
    cr_assert_eq(sums.of[0].figures.gpu_ns, 2);
    store_close(store);
}

Test(usage, of_who_has_used_most)
{
    struct store *store = scratch_open(":memory:");
    struct store_usage rows[3] = {row("default", "s1", 1, 4), row("default", "s2", 1, 9),
                                  row("default", "s3", 1, 5)};
    strcpy(rows[0].user, "ana");
    strcpy(rows[1].user, "bob");
    strcpy(rows[2].user, "cem");
    cr_assert_eq(store_usage_write(store, rows, 3), GA_OK);
    struct sums sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_USER, .top = 2});
    cr_assert_eq(sums.count, 2);
    cr_assert_str_eq(sums.of[0].user, "bob");
    cr_assert_str_eq(sums.of[1].user, "cem");
    sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_USER, .top = 9});
    cr_assert_eq(sums.count, 3);
    cr_assert_str_eq(sums.of[2].user, "ana");
    sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_USER, .top = UINT64_MAX});
    cr_assert_eq(sums.count, 3);
    store_close(store);
}

/* Days that have a part in the time are whole. */
Test(usage, of_a_time)
{
    struct store *store = scratch_open(":memory:");
    write_one(store, row("default", "s1", DAY - 1, 1));
    write_one(store, row("default", "s2", DAY, 2));
    write_one(store, row("default", "s3", 2 * DAY, 4));
    const struct {
        int64_t from, to;
        uint64_t sum;
    } cases[] = {{0, 0, 7},       {0, DAY, 1},     {0, DAY + 1, 3},      {DAY - 1, 0, 7},
                 {DAY, 0, 6},     {DAY, DAY, 0},   {DAY, DAY + 1, 2},    {2 * DAY - 1, 0, 6},
                 {2 * DAY, 0, 4}, {3 * DAY, 0, 0}, {DAY, 2 * DAY + 5, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct store_usage_query query = {.from = cases[i].from, .to = cases[i].to};
        struct sums sums = sum_up(store, query);
        cr_assert_eq(sums.count == 0 ? 0 : sums.of[0].figures.gpu_ns, cases[i].sum, "%lld to %lld",
                     (long long)query.from, (long long)query.to);
    }
    store_close(store);
}

/* A session on two GPUs is one session, and counts with the row that has begun it. */
Test(usage, of_a_session_with_two_rows)
{
    struct store *store = scratch_open(":memory:");
    struct store_usage first = row("default", "s1", 1, 1), second = first;
    strcpy(second.gpu, "g1");
    second.more = true;
    write_one(store, first);
    write_one(store, second);
    struct sums sums = sum_up(store, (struct store_usage_query){.by = STORE_BY_TENANT});
    cr_assert_eq(sums.of[0].sessions, 1);
    cr_assert_eq(sums.of[0].figures.gpu_ns, 2);
    store_close(store);
}

Test(usage, figures_that_cannot_be)
{
    struct store *store = scratch_open(":memory:");
    struct store_usage wrong = row("default", "s1", 1, 1);
    wrong.figures.d2h_ns = (uint64_t)INT64_MAX + 1;
    scratch_refused(store_usage_write(store, &wrong, 1), GA_INVALID, store,
                    "a figure is too large");
    wrong.figures.d2h_ns = INT64_MAX;
    wrong.last = 5 * DAY;
    write_one(store, wrong);
    wrong = row("default", "s2", -1, 1);
    scratch_refused(store_usage_write(store, &wrong, 1), GA_INVALID, store, "its epoch or time");
    wrong.last = 0;
    write_one(store, wrong);
    wrong = row("default", "s3", 1, 1);
    wrong.epoch = (uint64_t)INT64_MAX + 1;
    scratch_refused(store_usage_write(store, &wrong, 1), GA_INVALID, store, "its epoch or time");
    wrong = row("", "s4", 1, 1);
    wrong.tenant_number = 77;
    scratch_refused(store_usage_write(store, &wrong, 1), GA_NOT_FOUND, store, "no tenant 77");
    store_close(store);
}

Test(usage, a_sum_of_a_day_does_not_overflow)
{
    struct store *store = scratch_open(":memory:");
    struct store_usage most = row("default", "s1", 1, 1);
    most.figures.bytes_out = INT64_MAX;
    write_one(store, most);
    write_one(store, row("default", "s2", 1, 1));
    struct sums sums = sum_up(store, (struct store_usage_query){0});
    cr_assert_eq(sums.of[0].sessions, 2);
    cr_assert_eq(sums.of[0].figures.bytes_out, INT64_MAX);
    store_close(store);
}

/* Those that can be written are. */
Test(usage, of_known_tenants)
{
    struct store *store = scratch_open(":memory:");
    char why[300];
    struct store_usage rows[3] = {row("default", "s1", 1, 1), row("nobody", "s2", 1, 2),
                                  row("default", "s3", 1, 4)};
    cr_assert_eq(store_usage_write_known(store, rows, 1, why, sizeof why), GA_OK);
    cr_assert_str_eq(why, "");
    cr_assert_eq(store_usage_write_known(store, rows, 3, why, sizeof why), GA_OK);
    cr_assert_not_null(strstr(why, "nobody"));
    struct sums sums = sum_up(store, (struct store_usage_query){0});
    cr_assert_eq(sums.of[0].sessions, 2);
    cr_assert_eq(sums.of[0].figures.gpu_ns, 5);
    rows[1].last = -1;
    strcpy(rows[1].tenant, "default");
    cr_assert_eq(store_usage_write_known(store, rows, 3, why, sizeof why), GA_OK);
    cr_assert_not_null(strstr(why, "its epoch or time is wrong"));
    store_close(store);
}
