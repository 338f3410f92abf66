/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that change files, for crash.py, which kills the process at each of its system calls, or
 * makes them fail.
 *
 *   crash_steps run SCENARIO FOLDER         makes all steps; says on stdout when one is done
 *   crash_steps check SCENARIO FOLDER DONE  whether the files are as after the first DONE steps, or
 *                                           as after one more
 *
 * A step that fails is made again, as people would do it after they have read why; a store that is
 * lost is opened again first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auth/auth.h"

#define TIMES_MAX 3
#define NOW       INT64_C(1764089049)
#define DAY       INT64_C(86400)

static char folder[200];
static char why[600];
static struct store *store;
static struct auth_audit *audit;

static const char *in(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static enum ga_status with_why(enum ga_status status)
{
    if (status != GA_OK) {
        snprintf(why, sizeof why, "%s", store_why(store));
    }
    return status;
}

/* ---- scenario store */

static enum ga_status database(void)
{
    if (store == NULL) {
        return store_open(in("db"), &store, why, sizeof why);
    }
    return GA_OK;
}

static enum ga_status tenant_with(uint64_t gpus)
{
    struct store_tenant tenant;
    store_tenant_init(&tenant, "a");
    tenant.limits.of[LIMIT_GPUS] = gpus;
    tenant.limits.of[LIMIT_SESSIONS] = gpus;
    return with_why(store_tenant_put(store, &tenant, STORE_ANY_GENERATION));
}

static enum ga_status usage_of(const char *tenant, uint64_t figure, int64_t now)
{
    struct store_usage rows[4] = {0};
    for (unsigned i = 0; i < 4; i++) {
        snprintf(rows[i].tenant, sizeof rows[i].tenant, "%s", tenant);
        strcpy(rows[i].node, "n");
        snprintf(rows[i].session, sizeof rows[i].session, "s%u", i);
        strcpy(rows[i].gpu, "g");
        rows[i].last = now;
        rows[i].figures.gpu_ns = figure;
    }
    return with_why(store_usage_write(store, rows, 4));
}

static enum ga_status step_tenant(void)
{
    return tenant_with(1);
}

static enum ga_status step_usage(void)
{
    return usage_of("a", 10, NOW);
}

static enum ga_status step_quota(void)
{
    return tenant_with(2);
}

static enum ga_status step_more_usage(void)
{
    return usage_of("a", 25, NOW + DAY);
}

static enum ga_status step_credential(void)
{
    struct store_credential made = {.id = "t", .tenant = "a", .created = NOW, .expires = NOW + DAY};
    enum ga_status status = store_credential_put(store, &made);
    /* It may have been entered before the failure was told. */
    return status == GA_CONFLICT ? GA_OK : with_why(status);
}

static enum ga_status step_backup(void)
{
    return with_why(store_backup(store, in("copy")));
}

static enum ga_status step_revoke(void)
{
    return with_why(store_credential_revoke(store, "t", NOW));
}

static enum ga_status step_rename(void)
{
    struct store_tenant tenant;
    if (store_tenant_get(store, "b", &tenant) == GA_OK) {
        return GA_OK;
    }
    return with_why(store_tenant_rename(store, "a", "b", STORE_ANY_GENERATION));
}

static enum ga_status step_last_usage(void)
{
    return usage_of("b", 100, NOW + 40 * DAY);
}

static enum ga_status step_reopen(void)
{
    store_close(store);
    store = NULL;
    return database();
}

static enum ga_status step_restore(void)
{
    store_close(store);
    store = NULL;
    return store_restore(in("db"), in("copy"), why, sizeof why);
}

/* The contents of the files as one number: each step changes it. */
static void take_sum(void *user, const struct store_usage_sum *sum)
{
    *(uint64_t *)user += sum->figures.gpu_ns;
}

static void complain(void *user, const char *text)
{
    (void)user;
    fprintf(stderr, "%s\n", text);
}

static bool sound(const char *path)
{
    unsigned findings = 0;
    enum ga_status status = store_check_file(path, complain, NULL, &findings, why, sizeof why);
    if (status == GA_NOT_FOUND) {
        return true;
    }
    if (status != GA_OK) {
        fprintf(stderr, "%s\n", why);
    }
    return status == GA_OK && findings == 0;
}

static bool store_state(uint64_t *state)
{
    struct store_tenant tenant;
    struct store_credential credential;
    struct store_usage_query query = {0};
    uint64_t sum = 0;
    if (!sound(in("copy")) || !sound(in("db")) || database() != GA_OK) {
        fprintf(stderr, "%s\n", why);
        return false;
    }
    bool renamed = store_tenant_get(store, "b", &tenant) == GA_OK;
    bool known = renamed || store_tenant_get(store, "a", &tenant) == GA_OK;
    bool token = store_credential_get(store, "t", &credential) == GA_OK;
    if (store_usage_each(store, &query, take_sum, &sum) != GA_OK ||
        (known && tenant.limits.of[LIMIT_GPUS] != tenant.limits.of[LIMIT_SESSIONS])) {
        fprintf(stderr, "%s\n", store_why(store));
        return false;
    }
    *state = sum * 1000 + (known ? tenant.limits.of[LIMIT_GPUS] * 100 : 0) + renamed * 10u +
             (token ? credential.revoked != 0 ? 2u : 1u : 0);
    return true;
}

/* ---- scenario audit */

static int64_t audit_ms(int day)
{
    return (NOW + day * DAY) * 1000;
}

static enum ga_status audit_open(void)
{
    return audit != NULL ? GA_OK : auth_audit_open(in("log"), audit_ms(0), &audit, why, sizeof why);
}

static enum ga_status audit_lines(int day)
{
    struct auth_field field = AUTH_TEXT("tenant", "a");
    enum ga_status status = auth_audit_write(audit, audit_ms(day), "x", &field, 1, true);
    if (status != GA_OK) {
        snprintf(why, sizeof why, "%s", auth_audit_why(audit));
    }
    return status;
}

static enum ga_status step_line(void)
{
    return audit_lines(0);
}

static enum ga_status step_line_next_day(void)
{
    return audit_lines(1);
}

static enum ga_status step_audit_reopen(void)
{
    auth_audit_close(audit);
    audit = NULL;
    return auth_audit_open(in("log"), audit_ms(1), &audit, why, sizeof why);
}

static void complain_of_line(void *user, const char *file, uint64_t line, const char *text)
{
    (void)user;
    fprintf(stderr, "%s:%" PRIu64 ": %s\n", file, line, text);
}

/* The events `x` that there are; a crash is not taken for a hand that has changed something, before
 * and after the log is opened again. */
static bool audit_state(uint64_t *state)
{
    struct auth_audit_summary summary = {0};
    for (int turn = 0; turn < 2; turn++) {
        enum ga_status status =
            auth_audit_verify(in("log"), complain_of_line, NULL, &summary, why, sizeof why);
        if ((status != GA_OK && status != GA_NOT_FOUND) || summary.findings != 0) {
            fprintf(stderr, "turn %d: %s\n", turn, why);
            return false;
        }
        if (turn == 0 && audit_open() != GA_OK) {
            fprintf(stderr, "%s\n", why);
            return false;
        }
        auth_audit_close(audit);
        audit = NULL;
    }
    *state = summary.last;
    return true;
}

/* ---- scenario authority */

static enum ga_status step_init(void)
{
    enum ga_status status = auth_ca_init(in("ca"), "test", NOW, why, sizeof why);
    return status == GA_CONFLICT ? GA_OK : status;
}

static enum ga_status step_issue(void)
{
    struct store_credential made;
    struct auth_cert_request request = {.scope = STORE_OF_TENANT,
                                        .tenant = STORE_DEFAULT_TENANT,
                                        .user = "",
                                        .name = "",
                                        .ttl_s = DAY};
    return auth_cert_issue(in("ca"), store, &request, NOW, in("c.pem"), in("c.key"), &made, why,
                           sizeof why);
}

static enum ga_status step_rotate(void)
{
    struct auth_ca_facts facts;
    if (auth_ca_show(in("ca"), &facts, why, sizeof why) == GA_OK && facts.earlier > 0) {
        return GA_OK;
    }
    return auth_ca_rotate(in("ca"), NOW, why, sizeof why);
}

static bool authority_state(uint64_t *state)
{
    struct auth_ca_facts facts = {0};
    enum ga_status status = auth_ca_show(in("ca"), &facts, why, sizeof why);
    bool has_key = access(in("c.key"), F_OK) == 0, has_cert = access(in("c.pem"), F_OK) == 0;
    if ((status != GA_OK && status != GA_NOT_FOUND) || (has_cert && !has_key) || !sound(in("db"))) {
        fprintf(stderr, "%s\n", why);
        return false;
    }
    *state = (status == GA_OK ? 1 : 0) + (has_cert ? 10u : 0);
    return true;
}

/* ---- all of them */

struct step {
    enum ga_status (*make)(void);
    uint64_t state; /* after it */
};

static const struct step store_steps[] = {
    {database, 0},
    {step_tenant, 100},
    {step_usage, 40100},
    {step_quota, 40200},
    {step_more_usage, 100200},
    {step_credential, 100201},
    {step_backup, 100201},
    {step_revoke, 100202},
    {step_rename, 100212},
    {step_last_usage, 400212},
    {step_reopen, 400212},
    {step_restore, 100201},
};

/* The states of the log are the least numbers that it must have; it may have more. */
static const struct step audit_steps[] = {
    {audit_open, 1}, {step_line, 2},         {step_line, 3}, {step_line_next_day, 5},
    {step_line, 6},  {step_audit_reopen, 6}, {step_line, 7},
};

static const struct step authority_steps[] = {
    {database, 0},
    {step_init, 1},
    {step_issue, 11},
    {step_rotate, 11},
};

static const struct scenario {
    const char *name;
    const struct step *steps;
    unsigned count;
    bool (*state)(uint64_t *state);
    bool least;
} scenarios[] = {
    {"store", store_steps, sizeof store_steps / sizeof *store_steps, store_state, false},
    {"audit", audit_steps, sizeof audit_steps / sizeof *audit_steps, audit_state, true},
    {"authority", authority_steps, sizeof authority_steps / sizeof *authority_steps,
     authority_state, false},
};

static int run(const struct scenario *scenario)
{
    for (unsigned i = 0; i < scenario->count; i++) {
        unsigned times = 0;
        enum ga_status status;
        do {
            if (times != 0 && store == NULL && scenario->steps == store_steps && i > 0 &&
                scenario->steps[i].make != step_restore && database() != GA_OK) {
                fprintf(stderr, "step %u: %s\n", i, why);
                return 1;
            }
            why[0] = 0;
            status = scenario->steps[i].make();
            if (status == GA_LOST && store != NULL) {
                store_close(store);
                store = NULL;
                (void)!(database() == GA_OK); /* the step says it, if it cannot be opened */
            }
            if (status != GA_OK && why[0] == 0) {
                fprintf(stderr, "step %u: status %d without a reason\n", i, (int)status);
                return 1;
            }
        } while (status != GA_OK && ++times < TIMES_MAX);
        if (status != GA_OK) {
            fprintf(stderr, "step %u: %s\n", i, why);
            return 1;
        }
        char text[16];
        int length = snprintf(text, sizeof text, "%u\n", i + 1);
        if (write(STDOUT_FILENO, text, (size_t)length) != length) {
            return 1;
        }
    }
    store_close(store);
    auth_audit_close(audit);
    return 0;
}

static int check(const struct scenario *scenario, unsigned done)
{
    uint64_t state, before = done > 0 ? scenario->steps[done - 1].state : 0;
    uint64_t after = done < scenario->count ? scenario->steps[done].state : before;
    bool fine = scenario->state(&state) &&
                (scenario->least ? state >= before : state == before || state == after);
    if (!fine) {
        fprintf(stderr, "after %u steps: %" PRIu64 " instead of %" PRIu64 " or %" PRIu64 "\n", done,
                state, before, after);
    }
    store_close(store);
    return fine ? 0 : 1;
}

int main(int count, char **words)
{
    if (count >= 4) {
        snprintf(folder, sizeof folder, "%s", words[3]);
    }
    for (unsigned i = 0; i < sizeof scenarios / sizeof *scenarios && count >= 4; i++) {
        if (strcmp(words[2], scenarios[i].name) == 0) {
            return count == 5 ? check(&scenarios[i], (unsigned)atoi(words[4])) : run(&scenarios[i]);
        }
    }
    fprintf(stderr, "usage: crash_steps run|check SCENARIO FOLDER [DONE]\n");
    return 2;
}
