/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about users of tenants, and about trust groups. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "server/admin/admin_store.h"
#include "server/admin/admin_tenants.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/monitoring/status.h"
#include "server/tenants/member.h"
#include "server/usage/accounting.h"

static json_t *user_record(const struct store_user *user)
{
    json_t *record = json_object();
    admin_set_text(record, "tenant", user->tenant);
    admin_set_text(record, "name", user->name);
    admin_set_text(record, "description", user->description);
    admin_set_number(record, "generation", user->generation);
    admin_set_text(record, "state", user->suspended ? "suspended" : "active");
    admin_set_text(record, "reason", user->reason);
    admin_set_limits(record, &user->limits);
    admin_set_time(record, "created", user->created);
    admin_set_time(record, "changed", user->changed);
    return record;
}

static void user_row(void *user, const struct store_user *found)
{
    struct admin_rows *rows = user;
    if (admin_rows_take(rows)) {
        admin_rows_add(rows, user_record(found));
    }
}

enum admin_code admin_verb_users(struct admin_call *call)
{
    struct store *store;
    struct admin_rows rows;
    enum admin_code code = admin_store_read(call, &store);
    if (code == ADMIN_OK) {
        code = admin_rows_begin(call, &rows);
    }
    if (code == ADMIN_OK) {
        code = admin_store_code(
            call, store, store_user_each(store, admin_text(call, "tenant"), user_row, &rows));
        code = admin_rows_end(call, &rows, code);
    }
    return code;
}

static enum admin_code user_limits(struct admin_call *call, struct store_user *user)
{
    char why[ADMIN_WHY_MAX] = "";
    json_t *texts = admin_texts(call, "set"), *text;
    size_t at;
    json_array_foreach(texts, at, text)
    {
        enum ga_status status = admin_text_check(texts, at, why, sizeof why);
        if (status == GA_OK) {
            status = limits_read(json_string_value(text), &user->limits, why, sizeof why);
        }
        if (status != GA_OK) {
            return admin_status_code(call, status == GA_NOT_FOUND ? GA_INVALID : status, why);
        }
    }
    for (int i = 0; i < LIMIT_COUNT; i++) {
        if (!limits_table[i].users && user->limits.of[i] != LIMIT_NONE) {
            return admin_fail(call, ADMIN_USAGE, "%s is the tenant's: users have none of their own",
                              limits_table[i].key);
        }
    }
    return ADMIN_OK;
}

static enum admin_code user_read(struct admin_call *call, struct store **store,
                                 struct store_user *user)
{
    uint64_t wanted = admin_number(call, "generation", STORE_ANY_GENERATION);
    enum admin_code code = admin_store_get(call, store);
    if (code == ADMIN_OK) {
        code = admin_store_code(
            call, *store,
            store_user_get(*store, admin_text(call, "tenant"), admin_text(call, "name"), user));
    }
    if (code == ADMIN_OK && wanted != STORE_ANY_GENERATION && wanted != user->generation) {
        return admin_fail(call, ADMIN_CONFLICT,
                          "the user %s has generation %" PRIu64 ", not %" PRIu64
                          ": somebody has changed it meanwhile; read it again",
                          user->name, user->generation, wanted);
    }
    return code;
}

struct user_use {
    const struct store_user *of;
    uint64_t sessions;
};

static void user_use_add(void *user, const struct status_application *application)
{
    struct user_use *use = user;
    use->sessions += application->session && strcmp(application->tenant, use->of->tenant) == 0 &&
                     strcmp(application->user, use->of->name) == 0;
}

enum admin_code admin_verb_user_show(struct admin_call *call)
{
    struct store *store;
    struct store_user user;
    struct store_tenant tenant;
    struct user_use use = {.of = &user};
    const struct status_sink sink = {.user = &use, .application = user_use_add};
    enum admin_code code = user_read(call, &store, &user);
    if (code == ADMIN_OK) {
        code = admin_store_code(call, store, store_tenant_get(store, user.tenant, &tenant));
    }
    if (code == ADMIN_OK) {
        json_t *item = user_record(&user);
        status_collect(&call->gpuaasd->monitoring, &sink);
        admin_set_number(item, "sessions", use.sessions);
        admin_set_number(
            item, "gpu_time_day_ms",
            accounting_gpu_ns(&call->gpuaasd->usage, tenant.number, user.name, STORE_DAY) /
                GA_NS_PER_MS);
        admin_set_number(
            item, "gpu_time_month_ms",
            accounting_gpu_ns(&call->gpuaasd->usage, tenant.number, user.name, STORE_MONTH) /
                GA_NS_PER_MS);
        admin_set(call->result, "item", item);
    }
    return code;
}

/* Whether the tenant's limits allow these; a dry run must know. */
static enum admin_code user_fits(struct admin_call *call, struct store *store,
                                 const struct store_user *user)
{
    struct store_tenant tenant;
    enum limit which;
    enum admin_code code =
        admin_store_code(call, store, store_tenant_get(store, user->tenant, &tenant));
    if (code == ADMIN_OK && !limits_within(&user->limits, &tenant.limits, &which)) {
        return admin_fail(call, ADMIN_USAGE, "%s of the user is above that of the tenant %s",
                          limits_table[which].key, tenant.name);
    }
    return code;
}

enum admin_code admin_verb_user_add(struct admin_call *call)
{
    struct store *store;
    struct store_user there, made = {.generation = 0};
    const char *tenant = admin_text(call, "tenant"), *name = admin_text(call, "name");
    enum admin_code code = admin_store_get(call, &store);
    code = code == ADMIN_OK ? admin_name_check(call, name) : code;
    code = code == ADMIN_OK ? admin_name_check(call, tenant) : code;
    if (code != ADMIN_OK) {
        return code;
    }
    memcpy(made.tenant, tenant, strlen(tenant));
    memcpy(made.name, name, strlen(name));
    limits_clear(&made.limits);
    code = user_limits(call, &made);
    if (code == ADMIN_OK) {
        code = user_fits(call, store, &made);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    enum ga_status status = store_user_get(store, tenant, name, &there);
    if (status == GA_OK && memcmp(&there.limits, &made.limits, sizeof made.limits) != 0) {
        return admin_fail(call, ADMIN_CONFLICT,
                          "the tenant %s has a user %s with other limits; gpuaasctl user set-quota "
                          "changes them",
                          tenant, name);
    }
    if (status != GA_OK && status != GA_NOT_FOUND) {
        return admin_store_code(call, store, status);
    }
    if (status == GA_NOT_FOUND && !call->dry_run) {
        code = admin_store_code(call, store, store_user_put(store, &made, STORE_NEW));
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, status == GA_OK ? user_record(&there) : NULL,
                         user_record(status == GA_OK ? &there : &made));
    }
    return code;
}

static enum admin_code user_write(struct admin_call *call, struct store *store,
                                  const struct store_user *before, struct store_user *after)
{
    enum admin_code code = ADMIN_OK;
    bool same = before->suspended == after->suspended &&
                strcmp(before->reason, after->reason) == 0 &&
                memcmp(&before->limits, &after->limits, sizeof after->limits) == 0;
    if (!same && !call->dry_run) {
        code = admin_store_code(call, store, store_user_put(store, after, before->generation));
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, user_record(before), user_record(after));
    }
    return code;
}

static void user_limits_warn(struct admin_call *call, struct store *store,
                             const struct store_user *user)
{
    struct store_tenant of;
    const struct tenant *tenant =
        store_tenant_get(store, user->tenant, &of) == GA_OK
            ? tenant_known(&call->gpuaasd->applications.tenants, of.number, of.name)
            : NULL;
    const struct member *member = tenant != NULL ? member_known(tenant, user->name) : NULL;
    if (member != NULL) {
        const struct admin_tenant_use use = {
            .gpu_mem_bytes = lender_charged(tenant, member, CHANNEL_LENT_DEVICE, UINT32_MAX),
            .sessions = member->session_count};
        admin_limits_warn(call, user->name, &user->limits, &use);
    }
}

enum admin_code admin_verb_user_set_quota(struct admin_call *call)
{
    struct store *store;
    struct store_user before, after;
    enum admin_code code = user_read(call, &store, &before);
    if (code != ADMIN_OK) {
        return code;
    }
    after = before;
    code = user_limits(call, &after);
    if (code == ADMIN_OK) {
        code = user_fits(call, store, &after);
    }
    if (code == ADMIN_OK) {
        code = user_write(call, store, &before, &after);
    }
    if (code == ADMIN_OK) {
        user_limits_warn(call, store, &after);
    }
    return code;
}

enum admin_code admin_verb_user_suspend(struct admin_call *call)
{
    struct store *store;
    struct store_user before, after;
    enum admin_code code = user_read(call, &store, &before);
    if (code != ADMIN_OK) {
        return code;
    }
    after = before;
    after.suspended = true;
    code = admin_reason_read(call, after.reason);
    return code == ADMIN_OK ? user_write(call, store, &before, &after) : code;
}

enum admin_code admin_verb_user_resume(struct admin_call *call)
{
    struct store *store;
    struct store_user before, after;
    enum admin_code code = user_read(call, &store, &before);
    if (code != ADMIN_OK) {
        return code;
    }
    after = before;
    after.suspended = false;
    after.reason[0] = 0;
    return user_write(call, store, &before, &after);
}

enum admin_code admin_verb_user_remove(struct admin_call *call)
{
    struct store *store;
    struct store_user before;
    enum admin_code code = user_read(call, &store, &before);
    if (code == ADMIN_OK && !call->dry_run) {
        code = admin_store_code(
            call, store, store_user_remove(store, before.tenant, before.name, before.generation));
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, user_record(&before), NULL);
    }
    return code;
}
