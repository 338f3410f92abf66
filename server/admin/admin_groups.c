/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about trust groups. They are kept; in this version nothing else uses them: no GPU memory is
 * shared by tenants (isolation=shared is refused). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/admin/admin_store.h"

static void group_member_add(void *user, const char *tenant)
{
    (void)json_array_append_new(user, json_string(tenant));
}

static json_t *group_bare(const struct store_group *group)
{
    json_t *record = json_object();
    admin_set_text(record, "name", group->name);
    admin_set_text(record, "description", group->description);
    admin_set_number(record, "generation", group->generation);
    admin_set(record, "tenants", json_array());
    return record;
}

static enum admin_code group_record(struct admin_call *call, struct store *store,
                                    const struct store_group *group, json_t **out)
{
    *out = group_bare(group);
    json_t *tenants = json_object_get(*out, "tenants");
    return admin_store_code(call, store,
                            store_group_members(store, group->name, group_member_add, tenants));
}

/* ---- list */

struct group_rows {
    struct admin_call *call;
    struct store *store;
    struct admin_rows rows;
    enum admin_code code;
};

static void group_row(void *user, const struct store_group *group)
{
    struct group_rows *list = user;
    json_t *record;
    if (list->code == ADMIN_OK && admin_rows_take(&list->rows)) {
        list->code = group_record(list->call, list->store, group, &record);
        admin_rows_add(&list->rows, record);
    }
}

enum admin_code admin_verb_groups(struct admin_call *call)
{
    struct group_rows list = {.call = call, .code = ADMIN_OK};
    enum admin_code code = admin_store_read(call, &list.store);
    if (code == ADMIN_OK) {
        code = admin_rows_begin(call, &list.rows);
    }
    if (code == ADMIN_OK) {
        code = admin_store_code(call, list.store, store_group_each(list.store, group_row, &list));
        code = admin_rows_end(call, &list.rows, code == ADMIN_OK ? list.code : code);
    }
    return code;
}

/* ---- changes */

/* The group as it is, which has the generation that is asked for. */
static enum admin_code group_find(struct admin_call *call, struct store **store,
                                  struct store_group *group, json_t **record)
{
    uint64_t wanted = admin_number(call, "generation", STORE_ANY_GENERATION);
    enum admin_code code = admin_store_get(call, store);
    if (code == ADMIN_OK) {
        code = admin_store_code(call, *store,
                                store_group_get(*store, admin_text(call, "name"), group));
    }
    if (code == ADMIN_OK && wanted != STORE_ANY_GENERATION && wanted != group->generation) {
        return admin_fail(call, ADMIN_CONFLICT,
                          "the group %s has generation %" PRIu64 ", not %" PRIu64
                          ": somebody has changed it meanwhile; read it again",
                          group->name, group->generation, wanted);
    }
    return code == ADMIN_OK ? group_record(call, *store, group, record) : code;
}

enum admin_code admin_verb_group_add(struct admin_call *call)
{
    struct store *store;
    struct store_group there, made = {.generation = 0};
    const char *name = admin_text(call, "name"), *description = admin_text(call, "description");
    json_t *record;
    enum admin_code code = admin_store_get(call, &store);
    if (code == ADMIN_OK) {
        code = admin_name_check(call, name);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    if (description != NULL && strlen(description) > STORE_TEXT_MAX) {
        return admin_fail(call, ADMIN_USAGE, "a description has at most %u bytes", STORE_TEXT_MAX);
    }
    snprintf(made.name, sizeof made.name, "%s", name);
    snprintf(made.description, sizeof made.description, "%s",
             description != NULL ? description : "");
    enum ga_status status = store_group_get(store, name, &there);
    if (status == GA_OK && strcmp(there.description, made.description) == 0) {
        code = group_record(call, store, &there, &record); /* the same once more is no error */
        admin_set_change(call, json_deep_copy(record), record);
        return code;
    }
    if (status == GA_OK) {
        return admin_fail(call, ADMIN_CONFLICT, "there is a group %s already", name);
    }
    if (status != GA_NOT_FOUND) {
        return admin_store_code(call, store, status);
    }
    if (call->dry_run) {
        made.generation = 1;
        admin_set_change(call, NULL, group_bare(&made));
        return ADMIN_OK;
    }
    code = admin_store_code(call, store, store_group_put(store, &made, STORE_NEW));
    if (code == ADMIN_OK) {
        code = group_record(call, store, &made, &record);
        admin_set_change(call, NULL, record);
    }
    return code;
}

static void group_tenants_change(json_t *record, const char *tenant, bool join)
{
    json_t *tenants = json_object_get(record, "tenants");
    for (size_t i = json_array_size(tenants); i-- > 0;) {
        if (strcmp(json_string_value(json_array_get(tenants, i)), tenant) == 0) {
            (void)json_array_remove(tenants, i);
        }
    }
    if (join) {
        (void)json_array_append_new(tenants, json_string(tenant));
    }
}

static enum admin_code group_change(struct admin_call *call, bool join)
{
    struct store *store;
    struct store_group group;
    struct store_tenant tenant;
    json_t *before = NULL, *after;
    enum admin_code code = group_find(call, &store, &group, &before);
    if (code == ADMIN_OK) { /* also where it is a dry run */
        code = admin_store_code(call, store,
                                store_tenant_get(store, admin_text(call, "tenant"), &tenant));
    }
    if (code == ADMIN_OK && call->dry_run) {
        after = json_deep_copy(before);
        group_tenants_change(after, tenant.name, join);
        admin_set_change(call, before, after);
        return ADMIN_OK;
    }
    if (code == ADMIN_OK) {
        code = admin_store_code(call, store,
                                join ? store_group_join(store, group.name, tenant.name)
                                     : store_group_leave(store, group.name, tenant.name));
    }
    if (code == ADMIN_OK) {
        code = admin_store_code(call, store, store_group_get(store, group.name, &group));
    }
    if (code != ADMIN_OK) {
        json_decref(before);
        return code;
    }
    code = group_record(call, store, &group, &after);
    admin_set_change(call, before, after);
    return code;
}

enum admin_code admin_verb_group_join(struct admin_call *call)
{
    return group_change(call, true);
}

enum admin_code admin_verb_group_leave(struct admin_call *call)
{
    return group_change(call, false);
}

enum admin_code admin_verb_group_remove(struct admin_call *call)
{
    struct store *store;
    struct store_group group;
    json_t *before = NULL;
    enum admin_code code = group_find(call, &store, &group, &before);
    if (code == ADMIN_OK && !call->dry_run) {
        code =
            admin_store_code(call, store, store_group_remove(store, group.name, group.generation));
    }
    if (code != ADMIN_OK) {
        json_decref(before);
        return code;
    }
    admin_set_change(call, before, NULL);
    return ADMIN_OK;
}
