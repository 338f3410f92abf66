/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about local users: whose the users and groups of this machine are. */
#include <string.h>

#include "server/admin/admin_store.h"

static json_t *local_record(const struct store_local *local)
{
    json_t *record = json_object();
    admin_set_text(record, "kind", local->kind == STORE_UID ? "uid" : "gid");
    admin_set_number(record, "number", local->number);
    admin_set_text(record, "tenant", local->tenant);
    admin_set_text(record, "user", local->user);
    return record;
}

static void local_row(void *user, const struct store_local *local)
{
    struct admin_rows *rows = user;
    if (admin_rows_take(rows)) {
        admin_rows_add(rows, local_record(local));
    }
}

enum admin_code admin_verb_locals(struct admin_call *call)
{
    struct store *store;
    struct admin_rows rows;
    enum admin_code code = admin_store_read(call, &store);
    if (code == ADMIN_OK) {
        code = admin_rows_begin(call, &rows);
    }
    if (code == ADMIN_OK) {
        code = admin_store_code(call, store, store_local_each(store, local_row, &rows));
        code = admin_rows_end(call, &rows, code);
    }
    return code;
}

static enum admin_code local_read(struct admin_call *call, struct store_local *local)
{
    const char *kind = admin_text(call, "kind");
    uint64_t number = admin_number(call, "number", 0);
    *local = (struct store_local){.kind = strcmp(kind, "uid") == 0 ? STORE_UID : STORE_GID,
                                  .number = (uint32_t)number};
    if (strcmp(kind, "uid") != 0 && strcmp(kind, "gid") != 0) {
        return admin_fail(call, ADMIN_USAGE, "kind is uid or gid");
    }
    if (number >= UINT32_MAX) {
        return admin_fail(call, ADMIN_USAGE, "the number of a user or group is below 4294967295");
    }
    return ADMIN_OK;
}

enum admin_code admin_verb_local_set(struct admin_call *call)
{
    struct store *store;
    struct store_local before, after;
    struct store_tenant tenant;
    struct store_user user;
    const char *named = admin_text(call, "tenant"), *as = admin_text(call, "user");
    enum admin_code code = local_read(call, &after);
    if (code == ADMIN_OK) {
        code = admin_store_get(call, &store);
    }
    if (code == ADMIN_OK) { /* also where it is a dry run */
        code = admin_store_code(call, store, store_tenant_get(store, named, &tenant));
    }
    if (code == ADMIN_OK && as != NULL) {
        code = admin_store_code(call, store, store_user_get(store, named, as, &user));
    }
    if (code != ADMIN_OK) {
        return code;
    }
    memcpy(after.tenant, tenant.name, sizeof after.tenant);
    memcpy(after.user, as != NULL ? user.name : "", as != NULL ? sizeof after.user : 1);
    enum ga_status status = store_local_get(store, after.kind, after.number, &before);
    if (status != GA_OK && status != GA_NOT_FOUND) {
        return admin_store_code(call, store, status);
    }
    if (!call->dry_run) {
        code = admin_store_code(call, store, store_local_put(store, &after));
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, status == GA_OK ? local_record(&before) : NULL,
                         local_record(&after));
    }
    return code;
}

enum admin_code admin_verb_local_remove(struct admin_call *call)
{
    struct store *store;
    struct store_local local;
    enum admin_code code = local_read(call, &local);
    if (code == ADMIN_OK) {
        code = admin_store_get(call, &store);
    }
    if (code == ADMIN_OK) {
        code =
            admin_store_code(call, store, store_local_get(store, local.kind, local.number, &local));
    }
    if (code == ADMIN_OK && !call->dry_run) {
        code = admin_store_code(call, store, store_local_remove(store, local.kind, local.number));
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, local_record(&local), NULL);
    }
    return code;
}
