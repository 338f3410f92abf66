/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that change tenants. Each reads the record, changes a copy, and writes it only if it still
 * has the generation that was read: of two admins at once the second is told.
 *
 * Note: dryRun goes the same way up to the write, so it refuses what the change would refuse. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/access/access.h"
#include "server/admin/admin_tenants.h"
#include "server/applications/application.h"
#include "server/applications/terminate.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/tenants/tenant.h"
#include "server/turns/scheduling.h"

static enum admin_code tenant_read(struct admin_call *call, const char *argument,
                                   struct store **store, struct store_tenant *tenant)
{
    uint64_t wanted = admin_number(call, "generation", STORE_ANY_GENERATION);
    enum admin_code code = admin_store_get(call, store);
    if (code == ADMIN_OK) {
        code = admin_store_code(call, *store,
                                store_tenant_get(*store, admin_text(call, argument), tenant));
    }
    if (code == ADMIN_OK && wanted != STORE_ANY_GENERATION && wanted != tenant->generation) {
        return admin_fail(call, ADMIN_CONFLICT,
                          "the tenant %s has generation %" PRIu64 ", not %" PRIu64
                          ": somebody has changed it meanwhile; read it again (gpuaasctl tenant "
                          "show %s)",
                          tenant->name, tenant->generation, wanted, tenant->name);
    }
    return code;
}

/* Sets what the argument `set` says: texts "key=value". */
static enum admin_code tenant_set(struct admin_call *call, struct store_tenant *tenant)
{
    char why[ADMIN_WHY_MAX] = "";
    json_t *texts = admin_texts(call, "set"), *text;
    size_t at;
    json_array_foreach(texts, at, text)
    {
        enum ga_status status = admin_text_check(texts, at, why, sizeof why);
        if (status == GA_OK) {
            status = store_tenant_set(tenant, json_string_value(text), why, sizeof why);
        }
        if (status == GA_NOT_FOUND) { /* of a limit, not of a tenant */
            status = GA_INVALID;
        }
        if (status != GA_OK) {
            return admin_status_code(call, status, why);
        }
    }
    return ADMIN_OK;
}

static bool tenant_same(const struct store_tenant *one, const struct store_tenant *other)
{
    return strcmp(one->description, other->description) == 0 &&
           one->suspended == other->suspended && strcmp(one->reason, other->reason) == 0 &&
           memcmp(&one->limits, &other->limits, sizeof one->limits) == 0 &&
           strcmp(one->gpu_types, other->gpu_types) == 0 && one->isolation == other->isolation &&
           one->exhausted == other->exhausted;
}

/* Running applications learn it at once. */
static void terms_renew(struct admin_call *call, const struct store_tenant *tenant)
{
    const struct tenant_terms terms = access_terms(tenant);
    tenant_renew(&call->gpuaasd->applications.tenants, &terms);
}

void admin_limits_warn(struct admin_call *call, const char *who, const struct limits *limits,
                       const struct admin_tenant_use *use)
{
    const struct {
        enum limit limit;
        uint64_t used;
        const char *what;
    } looks[] = {{LIMIT_GPU_MEM, use->gpu_mem_bytes, "new allocations are"},
                 {LIMIT_SESSIONS, use->sessions, "new sessions are"},
                 {LIMIT_GPU_TIME_DAY, use->gpu_time_day_ms, "new sessions are"},
                 {LIMIT_GPU_TIME_MONTH, use->gpu_time_month_ms, "new sessions are"}};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        if (looks[i].used > limits->of[looks[i].limit]) {
            char used[LIMITS_TEXT_MAX], limit[LIMITS_TEXT_MAX];
            limits_value_write(looks[i].limit, looks[i].used, used);
            limits_value_write(looks[i].limit, limits->of[looks[i].limit], limit);
            admin_warn(call,
                       "%s already uses %s of %s=%s: it keeps what it has, and %s refused until "
                       "it is below",
                       who, used, limits_table[looks[i].limit].key, limit, looks[i].what);
        }
    }
}

static bool has_any(const struct store_tenant *tenant, const enum limit *limits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tenant->limits.of[limits[i]] != LIMIT_NONE) {
            return true;
        }
    }
    return false;
}

/* That policies of so many GPUs do not use a limit that is set. */
static void turns_warn(struct admin_call *call, const struct store_tenant *tenant, enum limit limit,
                       uint32_t from)
{
    const struct processes *processes = &call->gpuaasd->processes;
    const char *name = limits_table[limit].key;
    uint32_t ignoring = scheduling_ignoring(processes, name);
    char users[ADMIN_WHY_MAX];
    if (ignoring >= from && ignoring != 0 && tenant->limits.of[limit] != LIMIT_NONE) {
        sched_policies_using(name, users, sizeof users);
        admin_warn(call,
                   "%s of %s holds on GPUs with policy %s (gpuaasctl policy set); %u of %u have "
                   "another one",
                   name, tenant->name, users, ignoring, processes->devices.visible_count);
    }
}

/* Warns that a value has no effect, or not the one that is expected. */
static void scheduling_warn(struct admin_call *call, const struct store_tenant *tenant)
{
    static const enum limit terms[] = {LIMIT_SHARE, LIMIT_PRIORITY, LIMIT_COMPUTE_CAP,
                                       LIMIT_THROTTLE, LIMIT_LATENCY_GOAL},
                            periods[] = {LIMIT_GPU_TIME_DAY, LIMIT_GPU_TIME_MONTH};
    bool throttles = tenant->limits.of[LIMIT_THROTTLE] != LIMIT_NONE;
    if (!call->gpuaasd->conf->server.auth && has_any(tenant, terms, 5)) {
        admin_warn(
            call,
            "auth = off: programs have no tenant, so each has a share of its own, and share, "
            "priority, compute-cap, throttle and latency-goal of %s do not hold",
            tenant->name);
    }
    if (throttles && !has_any(tenant, periods, 2)) {
        admin_warn(call, "throttle of %s holds when its GPU time is used up: set gpu-seconds, too",
                   tenant->name);
    }
    turns_warn(call, tenant, LIMIT_LATENCY_GOAL, 1);
    turns_warn(call, tenant, LIMIT_PRIORITY, call->gpuaasd->processes.devices.visible_count);
    turns_warn(call, tenant, LIMIT_SHARE, call->gpuaasd->processes.devices.visible_count);
}

/* Writes `after`, which was `before`, unless it is a dry run or the same. */
static enum admin_code tenant_write(struct admin_call *call, struct store *store,
                                    const struct store_tenant *before, struct store_tenant *after)
{
    enum admin_code code = ADMIN_OK;
    if (!call->dry_run && !tenant_same(before, after)) {
        code = admin_store_code(call, store, store_tenant_put(store, after, before->generation));
        if (code == ADMIN_OK) {
            terms_renew(call, after);
        }
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, admin_tenant_record(before), admin_tenant_record(after));
    }
    return code;
}

/* ---- add, set-quota, describe */

/* The argument `description`; "" without it. */
static enum admin_code description_read(struct admin_call *call, struct store_tenant *tenant)
{
    const char *text = admin_text(call, "description");
    if (text != NULL && strlen(text) > STORE_TEXT_MAX) {
        return admin_fail(call, ADMIN_USAGE, "the description is longer than %u bytes",
                          STORE_TEXT_MAX);
    }
    memset(tenant->description, 0, sizeof tenant->description);
    if (text != NULL) {
        memcpy(tenant->description, text, strlen(text));
    }
    return ADMIN_OK;
}

enum admin_code admin_verb_tenant_add(struct admin_call *call)
{
    struct store *store;
    struct store_tenant there, made;
    const char *name = admin_text(call, "name");
    enum admin_code code = admin_store_get(call, &store);
    code = code == ADMIN_OK ? admin_name_check(call, name) : code;
    if (code != ADMIN_OK) {
        return code;
    }
    store_tenant_init(&made, name);
    code = description_read(call, &made);
    code = code == ADMIN_OK ? tenant_set(call, &made) : code;
    if (code != ADMIN_OK) {
        return code;
    }
    enum ga_status status = store_tenant_get(store, name, &there);
    if (status == GA_OK) { /* whether it is suspended is not what is asked for here */
        made.suspended = there.suspended;
        memcpy(made.reason, there.reason, sizeof made.reason);
    }
    if (status == GA_OK && tenant_same(&there, &made)) {
        admin_set_change(call, admin_tenant_record(&there), admin_tenant_record(&there));
        return ADMIN_OK;
    }
    if (status == GA_OK) {
        return admin_fail(call, ADMIN_CONFLICT,
                          "there is a tenant %s with other limits, or another description; "
                          "gpuaasctl tenant set-quota changes limits, tenant describe the "
                          "description",
                          name);
    }
    if (status != GA_NOT_FOUND) {
        return admin_store_code(call, store, status);
    }
    if (!call->dry_run) {
        code = admin_store_code(call, store, store_tenant_put(store, &made, STORE_NEW));
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, NULL, admin_tenant_record(&made));
        scheduling_warn(call, &made);
    }
    return code;
}

enum admin_code admin_verb_tenant_set_quota(struct admin_call *call)
{
    struct store *store;
    struct store_tenant before, after;
    struct admin_tenant_use use;
    enum admin_code code = tenant_read(call, "name", &store, &before);
    if (code != ADMIN_OK) {
        return code;
    }
    after = before;
    code = tenant_set(call, &after);
    if (code == ADMIN_OK) {
        code = admin_tenant_use_of(call, store, &before, &use);
    }
    if (code == ADMIN_OK) {
        code = tenant_write(call, store, &before, &after);
    }
    if (code == ADMIN_OK) {
        admin_limits_warn(call, after.name, &after.limits, &use);
        scheduling_warn(call, &after);
    }
    return code;
}

enum admin_code admin_verb_tenant_describe(struct admin_call *call)
{
    struct store *store;
    struct store_tenant before, after;
    enum admin_code code = tenant_read(call, "name", &store, &before);
    if (code != ADMIN_OK) {
        return code;
    }
    after = before;
    code = description_read(call, &after);
    return code == ADMIN_OK ? tenant_write(call, store, &before, &after) : code;
}

/* ---- suspend, resume, remove, rename */

/* Ends the sessions of a tenant; returns how many there are. */
static unsigned tenant_sessions_end(struct admin_call *call, const struct store_tenant *tenant,
                                    const char *reason)
{
    struct gpuaasd *gpuaasd = call->gpuaasd;
    unsigned count = 0;
    ga_list_each (at, next, &gpuaasd->applications.all) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (application->tenant->terms.number == tenant->number) {
            count++;
            if (!call->dry_run) {
                char why[ADMIN_WHY_MAX];
                snprintf(why, sizeof why,
                         "an administrator (%s) has ended the tenant %s's sessions: %s",
                         call->peer->name, tenant->name, reason);
                terminate_application(application, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED,
                                      why);
            }
        }
    }
    return count;
}

static unsigned tenant_sessions_count(struct admin_call *call, const struct store_tenant *tenant)
{
    const struct tenant *here =
        tenant_known(&call->gpuaasd->applications.tenants, tenant->number, tenant->name);
    return here != NULL ? here->application_count : 0;
}

enum admin_code admin_verb_tenant_suspend(struct admin_call *call)
{
    struct store *store;
    struct store_tenant before, after;
    enum admin_code code = tenant_read(call, "name", &store, &before);
    if (code != ADMIN_OK) {
        return code;
    }
    after = before;
    after.suspended = true;
    code = admin_reason_read(call, after.reason);
    code = code == ADMIN_OK ? tenant_write(call, store, &before, &after) : code;
    if (code == ADMIN_OK) {
        bool kill = admin_flag(call, "kill");
        unsigned sessions = kill ? tenant_sessions_end(call, &before, after.reason)
                                 : tenant_sessions_count(call, &before);
        admin_set_number(call->result, "sessions_ended", kill ? sessions : 0);
        if (!kill && sessions != 0) {
            admin_warn(call, "%u sessions of %s go on; --kill ends them", sessions, before.name);
        }
    }
    return code;
}

enum admin_code admin_verb_tenant_resume(struct admin_call *call)
{
    struct store *store;
    struct store_tenant before, after;
    enum admin_code code = tenant_read(call, "name", &store, &before);
    if (code != ADMIN_OK) {
        return code;
    }
    after = before;
    after.suspended = false;
    after.reason[0] = 0;
    return tenant_write(call, store, &before, &after);
}

enum admin_code admin_verb_tenant_remove(struct admin_call *call)
{
    struct store *store;
    struct store_tenant before;
    enum admin_code code = tenant_read(call, "name", &store, &before);
    if (code != ADMIN_OK) {
        return code;
    }
    unsigned sessions = tenant_sessions_count(call, &before);
    if (strcmp(before.name, STORE_DEFAULT_TENANT) == 0) {
        return admin_fail(call, ADMIN_USAGE,
                          "the tenant %s is always there: it has all programs with auth = off",
                          before.name);
    }
    if (sessions != 0 && !admin_flag(call, "force")) {
        return admin_fail(call, ADMIN_CONFLICT, "the tenant %s has %u sessions; --force ends them",
                          before.name, sessions);
    }
    if (!call->dry_run) {
        code = admin_store_code(call, store,
                                store_tenant_remove(store, before.name, before.generation));
    }
    if (code == ADMIN_OK) {
        admin_set_number(call->result, "sessions_ended",
                         tenant_sessions_end(call, &before, "it is removed"));
        admin_set_change(call, admin_tenant_record(&before), NULL);
    }
    return code;
}

enum admin_code admin_verb_tenant_rename(struct admin_call *call)
{
    struct store *store;
    struct store_tenant before, after;
    const char *new_name = admin_text(call, "new_name");
    enum admin_code code = tenant_read(call, "name", &store, &before);
    if (code != ADMIN_OK) {
        return code;
    }
    unsigned sessions = tenant_sessions_count(call, &before);
    if (!store_name_is_valid(new_name) || strcmp(before.name, STORE_DEFAULT_TENANT) == 0) {
        return admin_fail(call, ADMIN_USAGE,
                          "the tenant %s cannot be called %.80s: a name has 1 to 64 letters, "
                          "digits, '.', '_' and '-', the first one a letter or a digit; %s keeps "
                          "its name",
                          before.name, new_name, STORE_DEFAULT_TENANT);
    }
    if (sessions != 0) { /* they are counted together by its name */
        return admin_fail(call, ADMIN_CONFLICT,
                          "the tenant %s has %u sessions: rename it when they have ended",
                          before.name, sessions);
    }
    after = before;
    memset(after.name, 0, sizeof after.name);
    memcpy(after.name, new_name, strlen(new_name));
    if (call->dry_run && store_tenant_get(store, new_name, &after) == GA_OK) {
        return admin_fail(call, ADMIN_CONFLICT, "there is a tenant %s already", new_name);
    }
    if (!call->dry_run) {
        code = admin_store_code(
            call, store, store_tenant_rename(store, before.name, new_name, before.generation));
    }
    if (code == ADMIN_OK && !call->dry_run) {
        code = admin_store_code(call, store, store_tenant_get(store, new_name, &after));
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, admin_tenant_record(&before), admin_tenant_record(&after));
    }
    return code;
}
