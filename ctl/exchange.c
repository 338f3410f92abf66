/* SPDX-License-Identifier: Apache-2.0 */
/* tenant export and import: what tenants, users and groups are, as a document without credentials.
 *
 * Note: an import only adds. What is there and differs is left as it is, and told. */
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "ctl/value.h"
#include "ctl/verb.h"

static const struct {
    const char *member, *verb;
} lists[] = {{"tenants", "tenant.list"}, {"users", "user.list"}, {"groups", "group.list"}};

enum admin_code ctl_tenant_export(const struct ctl_line *line)
{
    json_t *document = json_object();
    enum admin_code code = ADMIN_OK;
    for (size_t i = 0; i < CTL_COUNT(lists) && code == ADMIN_OK; i++) {
        json_t *items;
        code = ctl_ask_list(line, lists[i].verb, NULL, &items);
        if (code == ADMIN_OK) {
            (void)json_object_set_new(document, lists[i].member, items);
        }
    }
    code = code == ADMIN_OK ? ctl_print_json("TenantExport", document) : code;
    json_decref(document);
    return code;
}

/* ---- import */

static void setting_add(json_t *set, const char *key, const char *value)
{
    char text[600];
    snprintf(text, sizeof text, "%s=%s", key, value);
    (void)json_array_append_new(set, json_string(text));
}

/* The texts that tenant.add takes: "gpu-mem=40GiB". */
static json_t *exchange_settings(json_t *record)
{
    static const char *const words[][2] = {{"isolation", "isolation"},
                                           {"on_exhausted", "on-exhausted"}};
    json_t *set = json_array(), *value, *types = json_object_get(record, "gpu_types");
    const char *member;
    json_object_foreach(json_object_get(record, "limits"), member, value)
    {
        enum limit limit = limits_find_json(member);
        char text[LIMITS_TEXT_MAX];
        if (json_is_integer(value) && json_integer_value(value) >= 0 && limit < LIMIT_COUNT) {
            limits_value_write(limit, (uint64_t)json_integer_value(value), text);
            setting_add(set, limits_table[limit].key, text);
        }
    }
    for (size_t i = 0; i < CTL_COUNT(words); i++) {
        const char *word = json_string_value(json_object_get(record, words[i][0]));
        if (word != NULL) {
            setting_add(set, words[i][1], word);
        }
    }
    if (json_array_size(types) != 0) {
        const struct ctl_column column = {"", "gpu_types", FORM_LIST, false};
        char *text = ctl_value_text(record, &column, true);
        setting_add(set, "gpu-types", text != NULL ? text : "");
        free(text);
    }
    return set;
}

/* Counts what could not be taken; it has been told. */
static void import_ask(const struct ctl_line *line, const char *verb, json_t *arguments,
                       unsigned *failed)
{
    json_t *result = NULL;
    if (ctl_ask(line, verb, arguments, &result) != ADMIN_OK) {
        (*failed)++;
    }
    json_decref(result);
}

static json_t *exchange_named(json_t *record)
{
    json_t *name = json_object_get(record, "name");
    return json_pack("{s:O}", "name", json_is_string(name) ? name : json_null());
}

static void import_tenant(const struct ctl_line *line, json_t *tenant, unsigned *failed)
{
    const char *name = json_string_value(json_object_get(tenant, "name"));
    const char *state = json_string_value(json_object_get(tenant, "state"));
    json_t *arguments = exchange_named(tenant), *text = json_object_get(tenant, "description");
    if (name != NULL && strcmp(name, "default") == 0) {
        json_decref(arguments); /* each database has it */
        return;
    }
    (void)json_object_set_new(arguments, "set", exchange_settings(tenant));
    if (json_is_string(text) && json_string_length(text) != 0) {
        (void)json_object_set(arguments, "description", text);
    }
    import_ask(line, "tenant.add", arguments, failed);
    if (state != NULL && strcmp(state, "suspended") == 0 && !ctl_has(line, OPTION_DRY_RUN)) {
        arguments = exchange_named(tenant);
        (void)json_object_set(arguments, "reason", json_object_get(tenant, "reason"));
        import_ask(line, "tenant.suspend", arguments, failed);
    }
}

static void import_user(const struct ctl_line *line, json_t *user, unsigned *failed)
{
    json_t *arguments = exchange_named(user), *set = exchange_settings(user);
    (void)json_object_set(arguments, "tenant", json_object_get(user, "tenant"));
    (void)json_object_set_new(arguments, "set", set);
    import_ask(line, "user.add", arguments, failed);
}

static void import_group(const struct ctl_line *line, json_t *group, unsigned *failed)
{
    json_t *arguments = exchange_named(group), *tenant,
           *text = json_object_get(group, "description");
    size_t at;
    if (json_is_string(text) && json_string_length(text) != 0) {
        (void)json_object_set(arguments, "description", text);
    }
    import_ask(line, "group.add", arguments, failed);
    json_array_foreach(json_object_get(group, "tenants"), at, tenant)
    {
        arguments = exchange_named(group);
        (void)json_object_set(arguments, "tenant", tenant);
        import_ask(line, "group.join", arguments, failed);
    }
}

enum admin_code ctl_tenant_import(const struct ctl_line *line)
{
    static void (*const imports[])(const struct ctl_line *, json_t *,
                                   unsigned *) = {import_tenant, import_user, import_group};
    json_error_t error;
    unsigned failed = 0, count = 0;
    json_t *document = json_load_file(line->words[0], JSON_REJECT_DUPLICATES, &error), *record;
    const char *kind = json_string_value(json_object_get(document, "kind"));
    if (document == NULL || kind == NULL || strcmp(kind, "TenantExport") != 0) {
        json_decref(document);
        return ctl_wrong(ADMIN_USAGE, "%s: %s", line->words[0],
                         document == NULL ? error.text : "tenant export has not written it");
    }
    /* A dry run ends with the tenants: what belongs to them needs them to be there. */
    size_t steps = ctl_has(line, OPTION_DRY_RUN) ? 1 : CTL_COUNT(imports);
    for (size_t i = 0; i < steps; i++) {
        size_t at;
        json_array_foreach(json_object_get(document, lists[i].member), at, record)
        {
            imports[i](line, record, &failed);
            count++;
        }
    }
    json_decref(document);
    if (failed != 0) {
        return ctl_wrong(ADMIN_PARTIAL, "%u of %u could not be taken; the others are there", failed,
                         count);
    }
    ctl_note(line, "%s: %u are there%s", line->words[0], count,
             ctl_has(line, OPTION_DRY_RUN) ? " (dry run: nothing is done)" : "");
    return ADMIN_OK;
}
