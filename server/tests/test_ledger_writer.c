/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that writes usage: each piece of rows is written and reported once, whenever it ends;
 * and what cannot be written says why. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/usage/ledger_writer.h"

#define DAY 86400

static uv_loop_t loop;
static struct ledger_writer writer;
static char folder[64], path[128];
static bool is_last; /* ledger_writer_last has been called */
static unsigned reports;
static enum ga_status reported;
static char reported_why[600];

static void written(struct ledger_writer *of, enum ga_status status, const char *why)
{
    cr_assert_eq(of, &writer);
    cr_assert(!of->busy);
    reports++;
    reported = status;
    snprintf(reported_why, sizeof reported_why, "%s", why);
}

static void start(void)
{
    char why[600] = "";
    struct store *store = NULL;
    strcpy(folder, "/tmp/gpuaas_ledger.XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/store.db", folder);
    cr_assert_eq(store_open(path, &store, why, sizeof why), GA_OK, "%s", why);
    store_close(store);
    (void)uv_loop_init(&loop);
    cr_assert_eq(ledger_writer_start(&writer, &loop, path, written), GA_OK);
}

/* Its end waits for all that was given; the store is nobody's then. */
static void stop(void)
{
    char why[600];
    ledger_writer_stop(&writer);
    cr_assert(is_last || ledger_writer_last(&writer, NULL, 0, why, sizeof why) == GA_OK);
    cr_assert_null(writer.store);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&loop), 0, "nothing is left in the loop");
    for (const char *const *at = (const char *const[]){"", "-wal", "-shm", ".lock", NULL};
         *at != NULL; at++) {
        char name[160];
        snprintf(name, sizeof name, "%s%s", path, *at);
        (void)unlink(name);
    }
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(ledger_writer, .init = start, .fini = stop, .timeout = 60);

static struct store_usage row_on(const char *tenant, const char *session, int64_t last)
{
    struct store_usage row = {.node = "n1",
                              .epoch = 1,
                              .gpu = "g0",
                              .began = last,
                              .last = last,
                              .ended = last,
                              .figures = {.gpu_ns = 10}};
    snprintf(row.tenant, sizeof row.tenant, "%s", tenant);
    snprintf(row.session, sizeof row.session, "%s", session);
    return row;
}

static void await_report(void)
{
    for (unsigned before = reports; reports == before;) {
        (void)uv_run(&loop, UV_RUN_ONCE);
    }
}

static void sessions_add(void *user, const struct store_usage_sum *sum)
{
    *(uint64_t *)user += sum->sessions;
}

static uint64_t sessions_in_store(void)
{
    const struct store_usage_query query = {.by = STORE_BY_DAY};
    char why[600] = "";
    struct store *store = NULL;
    uint64_t sessions = 0;
    cr_assert_eq(store_open_to_read(path, &store, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(store_usage_each(store, &query, sessions_add, &sessions), GA_OK);
    store_close(store);
    return sessions;
}

Test(ledger_writer, each_piece_is_written_and_reported_once)
{
    const struct store_usage rows[] = {row_on("default", "s1", 5 * DAY),
                                       row_on("default", "s2", 5 * DAY)};
    ledger_writer_give(&writer, rows, 2, 0);
    cr_assert(writer.busy);
    await_report();
    cr_assert_eq(reported, GA_OK, "%s", reported_why);
    cr_assert_str_eq(reported_why, "");
    cr_assert_eq(sessions_in_store(), 2);
    const struct store_usage third = row_on("default", "s3", 5 * DAY);
    ledger_writer_give(&writer, &third, 1, 0);
    await_report();
    cr_assert_eq(reports, 2u);
    cr_assert_eq(sessions_in_store(), 3);
}

/* Its end waits for what was given, and reports it; what comes then is written at once. */
Test(ledger_writer, the_end_loses_nothing)
{
    const struct store_usage one = row_on("default", "s1", 5 * DAY),
                             last = row_on("default", "s2", 5 * DAY);
    char why[600];
    ledger_writer_give(&writer, &one, 1, 0);
    ledger_writer_stop(&writer);
    cr_assert_eq(reports, 1u);
    cr_assert_eq(reported, GA_OK);
    cr_assert(!writer.started);
    ledger_writer_stop(&writer); /* it has been */
    cr_assert_eq(reports, 1u);
    is_last = true;
    cr_assert_eq(ledger_writer_last(&writer, &last, 1, why, sizeof why), GA_OK, "%s", why);
    cr_assert_null(writer.store);
    cr_assert_eq(sessions_in_store(), 2);
}

Test(ledger_writer, what_is_old_is_forgotten)
{
    const struct store_usage rows[] = {row_on("default", "s1", 5 * DAY),
                                       row_on("default", "s2", 9 * DAY)};
    ledger_writer_give(&writer, rows, 2, 0);
    await_report();
    const struct store_usage third = row_on("default", "s3", 9 * DAY);
    do { /* as much as a short transaction may, each time */
        ledger_writer_give(&writer, &third, 1, 8 * DAY);
        await_report();
        cr_assert_eq(reported, GA_OK, "%s", reported_why);
    } while (writer.more && reports < 9);
    cr_assert(!writer.more);
    cr_assert_eq(sessions_in_store(), 2);
}

/* The others are written, and the reason names the row. */
Test(ledger_writer, a_row_of_nobody_is_left_out)
{
    const struct store_usage rows[] = {row_on("nobody", "s1", 5 * DAY),
                                       row_on("default", "s2", 5 * DAY)};
    ledger_writer_give(&writer, rows, 2, 0);
    await_report();
    cr_assert_eq(reported, GA_OK);
    cr_assert_not_null(strstr(reported_why, "nobody"), "%s", reported_why);
    cr_assert_eq(sessions_in_store(), 1);
}

/* A store that has gone is not made anew. */
Test(ledger_writer, a_store_that_is_missing)
{
    const struct store_usage row = row_on("default", "s1", 5 * DAY);
    char moved[160];
    snprintf(moved, sizeof moved, "%s.moved", path);
    cr_assert_eq(rename(path, moved), 0);
    ledger_writer_give(&writer, &row, 1, 0);
    await_report();
    cr_assert_eq(reported, GA_LOST);
    cr_assert_neq(reported_why[0], 0);
    cr_assert_null(writer.store);
    cr_assert_eq(rename(moved, path), 0);
    ledger_writer_give(&writer, &row, 1, 0);
    await_report();
    cr_assert_eq(reported, GA_OK, "%s", reported_why);
    cr_assert_eq(sessions_in_store(), 1);
}
