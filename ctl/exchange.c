/* SPDX-License-Identifier: Apache-2.0 */
/* tenant export and import: what tenants, users and groups are, as a document without credentials.
 *
 * Note: an import only adds. An entry that exists and differs stays as it is, and is named. */
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

struct import {
    const struct ctl_line *line;
    const json_t *document;
};

/* Asks; if it is refused, that is told, with `what` it is about. */
static enum admin_code import_ask(const struct import *import, const char *what, const char *verb,
                                  json_t *arguments, json_t **result)
{
    char why[1000];
    *result = NULL;
    enum admin_code code = ctl_ask_quietly(import->line, verb, arguments, result, why, sizeof why);
    return code == ADMIN_OK ? ADMIN_OK : ctl_wrong(code, "%s: %s", what, why);
}

static const char *import_text(const json_t *record, const char *member)
{
    const char *text = json_string_value(json_object_get(record, member));
    return text != NULL ? text : "";
}

/* The tenant of the document; NULL: it has none of this name. */
static json_t *import_tenant_find(const struct import *import, const char *name)
{
    json_t *tenant;
    size_t at;
    json_array_foreach(json_object_get(import->document, "tenants"), at, tenant)
    {
        if (strcmp(import_text(tenant, "name"), name) == 0) {
            return tenant;
        }
    }
    return NULL;
}

static json_t *exchange_named(const json_t *record)
{
    json_t *name = json_object_get(record, "name");
    return json_pack("{s:O}", "name", json_is_string(name) ? name : json_null());
}

/* Suspends an entry that has just been made and is suspended in the document. An older entry keeps
 * its state; a different one is named. `arguments` name it, and are taken. */
static enum admin_code import_state(const struct import *import, const char *what, const char *verb,
                                    const json_t *record, const json_t *change, json_t *arguments)
{
    const json_t *before = json_object_get(change, "before");
    bool suspended = strcmp(import_text(record, "state"), "suspended") == 0;
    enum admin_code code = ADMIN_OK;
    if (json_is_object(before)) {
        const char *state = import_text(before, "state");
        if (suspended != (strcmp(state, "suspended") == 0)) {
            code = ctl_wrong(ADMIN_CONFLICT, "%s: it is %s here, and %s in the file", what, state,
                             suspended ? "suspended" : "active");
        }
    } else if (suspended && !ctl_has(import->line, OPTION_DRY_RUN)) {
        json_t *result;
        (void)json_object_set(arguments, "reason", json_object_get(record, "reason"));
        code = import_ask(import, what, verb, json_incref(arguments), &result);
        json_decref(result);
    }
    json_decref(arguments);
    return code;
}

static enum admin_code import_tenant(const struct import *import, json_t *tenant)
{
    char what[200];
    json_t *result, *arguments = exchange_named(tenant);
    (void)json_object_set_new(arguments, "set", exchange_settings(tenant));
    if (*import_text(tenant, "description") != 0) {
        (void)json_object_set(arguments, "description", json_object_get(tenant, "description"));
    }
    snprintf(what, sizeof what, "tenant %s", import_text(tenant, "name"));
    enum admin_code code = import_ask(import, what, "tenant.add", arguments, &result);
    if (code == ADMIN_OK) {
        code = import_state(import, what, "tenant.suspend", tenant, result, exchange_named(tenant));
    }
    json_decref(result);
    return code;
}

/* A user whose tenant a dry run has not made: whether the user's limits fit into those of the
 * tenant. */
static enum admin_code import_user_fits(const char *what, const json_t *user, const json_t *tenant)
{
    json_t *value, *limits = json_object_get(user, "limits");
    const char *member;
    json_object_foreach(limits, member, value)
    {
        const json_t *most = json_object_get(json_object_get(tenant, "limits"), member);
        if (json_is_integer(value) && json_is_integer(most) &&
            json_integer_value(value) > json_integer_value(most)) {
            return ctl_wrong(ADMIN_USAGE, "%s: its %s is above that of the tenant", what, member);
        }
    }
    return ADMIN_OK;
}

static json_t *import_user_named(const json_t *user)
{
    json_t *arguments = exchange_named(user);
    (void)json_object_set(arguments, "tenant", json_object_get(user, "tenant"));
    return arguments;
}

static enum admin_code import_user(const struct import *import, json_t *user)
{
    char what[200], why[1000];
    json_t *result = NULL, *arguments = import_user_named(user);
    const json_t *tenant = import_tenant_find(import, import_text(user, "tenant"));
    (void)json_object_set_new(arguments, "set", exchange_settings(user));
    snprintf(what, sizeof what, "user %s of %s", import_text(user, "name"),
             import_text(user, "tenant"));
    enum admin_code code =
        ctl_ask_quietly(import->line, "user.add", arguments, &result, why, sizeof why);
    if (code == ADMIN_NOT_FOUND && tenant != NULL && ctl_has(import->line, OPTION_DRY_RUN)) {
        return import_user_fits(what, user, tenant);
    }
    if (code != ADMIN_OK) {
        return ctl_wrong(code, "%s: %s", what, why);
    }
    code = import_state(import, what, "user.suspend", user, result, import_user_named(user));
    json_decref(result);
    return code;
}

/* In a dry run the group is not there to be joined: whether the tenant would be. */
static enum admin_code import_join(const struct import *import, const char *what,
                                   const json_t *group, json_t *tenant)
{
    const char *verb = "group.join", *name = json_string_value(tenant);
    json_t *result, *arguments = exchange_named(group);
    (void)json_object_set(arguments, "tenant", tenant);
    if (ctl_has(import->line, OPTION_DRY_RUN)) {
        json_decref(arguments);
        if (name != NULL && import_tenant_find(import, name) != NULL) {
            return ADMIN_OK;
        }
        verb = "tenant.set-quota"; /* of nothing: it must be there */
        arguments = json_pack("{s:O, s:[]}", "name", tenant, "set");
    }
    enum admin_code code = import_ask(import, what, verb, arguments, &result);
    json_decref(result);
    return code;
}

static enum admin_code import_group(const struct import *import, json_t *group)
{
    char what[200];
    json_t *result, *tenant, *arguments = exchange_named(group);
    size_t at;
    if (*import_text(group, "description") != 0) {
        (void)json_object_set(arguments, "description", json_object_get(group, "description"));
    }
    snprintf(what, sizeof what, "group %s", import_text(group, "name"));
    enum admin_code code = import_ask(import, what, "group.add", arguments, &result);
    json_decref(result);
    json_array_foreach(json_object_get(group, "tenants"), at, tenant)
    {
        code = code == ADMIN_OK ? import_join(import, what, group, tenant) : code;
    }
    return code;
}

/* It will not be otherwise for the next one. */
static bool import_ends(enum admin_code code)
{
    return code == ADMIN_UNREACHABLE || code == ADMIN_TIMEOUT || code == ADMIN_DENIED;
}

static enum admin_code import_all(const struct import *import, unsigned *failed, unsigned *count)
{
    static enum admin_code (*const imports[])(const struct import *, json_t *) = {
        import_tenant, import_user, import_group};
    json_t *record;
    for (size_t i = 0; i < CTL_COUNT(imports); i++) {
        size_t at;
        json_array_foreach(json_object_get(import->document, lists[i].member), at, record)
        {
            enum admin_code code = imports[i](import, record);
            if (import_ends(code)) {
                return code;
            }
            *failed += code != ADMIN_OK;
            ++*count;
        }
    }
    return ADMIN_OK;
}

enum admin_code ctl_tenant_import(const struct ctl_line *line)
{
    json_error_t error;
    unsigned failed = 0, count = 0;
    bool dry = ctl_has(line, OPTION_DRY_RUN);
    json_t *document = json_load_file(line->words[0], JSON_REJECT_DUPLICATES, &error);
    if (document == NULL) {
        return error.line > 0
                   ? ctl_wrong(ADMIN_USAGE, "%s:%d: %s", line->words[0], error.line, error.text)
                   : ctl_wrong(ADMIN_USAGE, "%s", error.text);
    }
    if (strcmp(import_text(document, "kind"), "TenantExport") != 0) {
        json_decref(document);
        return ctl_wrong(ADMIN_USAGE, "%s: tenant export has not written it", line->words[0]);
    }
    enum admin_code code =
        import_all(&(struct import){.line = line, .document = document}, &failed, &count);
    json_decref(document);
    if (code != ADMIN_OK) {
        return code;
    }
    if (failed != 0) {
        return ctl_wrong(ADMIN_PARTIAL, "%u of %u %s", failed, count,
                         dry ? "would not be taken (dry run: nothing is done)"
                             : "could not be taken; the others are there");
    }
    ctl_note(line, "%s: %u %s", line->words[0], count,
             dry ? "would be there (dry run: nothing is done)" : "are there");
    return ADMIN_OK;
}
