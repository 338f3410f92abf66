/* SPDX-License-Identifier: Apache-2.0 */
/* Objects, changes, and short lists: tables, CSV and JSON from the same objects.
 *
 * Note: JSON has numbers and UTC as they come; only tables are for people, with units and the time
 * of this place. */
#include <stdlib.h>
#include <string.h>

#include "ctl/rows.h"
#include "ctl/value.h"

static enum admin_code no_memory(void)
{
    return ctl_wrong(ADMIN_ERROR, "no memory");
}

enum admin_code ctl_print_json(const char *kind, json_t *object)
{
    json_t *document = json_pack("{s:i, s:s}", "apiVersion", ADMIN_VERSION, "kind", kind);
    if (document == NULL || json_object_update(document, object) != 0) {
        json_decref(document);
        return no_memory();
    }
    /* Escaped beyond ASCII: C1 controls act on terminals, too. */
    int status = json_dumpf(document, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(document);
    return status == 0 ? ADMIN_OK : no_memory();
}

enum admin_code ctl_print_list(const struct ctl_line *line, const char *kind,
                               const struct ctl_column *columns, size_t count, json_t *items)
{
    if (ctl_has(line, OPTION_JSON)) {
        json_t *object = json_pack("{s:O}", "items", items);
        enum admin_code code = ctl_print_json(kind, object);
        json_decref(object);
        return code;
    }
    struct ctl_rows *rows = ctl_rows_begin(line, kind, columns, count);
    for (size_t i = 0; rows != NULL && i < json_array_size(items); i++) {
        ctl_rows_item(rows, json_array_get(items, i));
    }
    return ctl_rows_end(rows, true);
}

enum admin_code ctl_print_object(const struct ctl_line *line, const char *kind,
                                 const struct ctl_column *columns, size_t count, json_t *object)
{
    unsigned width = 0;
    if (ctl_has(line, OPTION_JSON)) {
        return ctl_print_json(kind, object);
    }
    for (size_t i = 0; i < count; i++) {
        unsigned columns_here = ctl_text_columns(columns[i].title);
        width = columns_here > width ? columns_here : width;
    }
    for (size_t i = 0; i < count; i++) {
        char *value = ctl_value_text(object, &columns[i], true);
        if (value != NULL && strcmp(value, "-") != 0 && strcmp(value, "-/-") != 0) {
            printf("%-*s  %s\n", (int)width, columns[i].title, value);
        }
        free(value);
    }
    return ADMIN_OK;
}

/* ---- changes */

static void change_line(const char *name, const char *key, json_t *before, json_t *after)
{
    char *from = ctl_setting_value(key, before), *to = ctl_setting_value(key, after);
    char *safe = ctl_text_safe(name), typed[64];
    ctl_setting_name(key, typed, sizeof typed);
    printf("%s: %s %s -> %s\n", safe != NULL ? safe : "?", typed,
           from != NULL && *from != 0 ? from : "-", to != NULL && *to != 0 ? to : "-");
    free(safe);
    free(from);
    free(to);
}

/* The members that differ, but for the time; those of members, too. */
static unsigned change_members(const char *name, json_t *before, json_t *after)
{
    const char *key;
    json_t *value;
    unsigned changes = 0;
    json_object_foreach(after, key, value)
    {
        json_t *old = json_object_get(before, key);
        if (json_is_object(value) && json_is_object(old)) {
            changes += change_members(name, old, value);
        } else if (strcmp(key, "changed") != 0 && (old == NULL || !json_equal(old, value))) {
            change_line(name, key, old, value);
            changes++;
        }
    }
    return changes;
}

void ctl_print_warnings(json_t *result)
{
    json_t *warnings = json_object_get(result, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        (void)ctl_wrong(ADMIN_OK, "warning: %s", json_string_value(json_array_get(warnings, i)));
    }
}

enum admin_code ctl_print_change(const struct ctl_line *line, const char *kind, const char *name,
                                 json_t *result)
{
    json_t *before = json_object_get(result, "before"), *after = json_object_get(result, "after");
    const char *dry = ctl_has(line, OPTION_DRY_RUN) ? " (dry run: nothing is done)" : "";
    ctl_print_warnings(result);
    if (ctl_has(line, OPTION_JSON)) {
        return ctl_print_json(kind, result);
    }
    if (ctl_has(line, OPTION_QUIET)) {
        return ADMIN_OK;
    }
    char *safe = ctl_text_safe(name);
    if (!json_is_object(before) && json_is_object(after)) {
        printf("%s: made%s\n", safe, dry);
    } else if (json_is_object(before) && !json_is_object(after)) {
        printf("%s: gone%s\n", safe, dry);
    } else if (change_members(name, before, after) == 0) {
        printf("%s: as it was%s\n", safe, dry);
    } else if (dry[0] != 0) {
        printf("%s:%s\n", safe, dry);
    }
    json_int_t ended = json_integer_value(json_object_get(result, "sessions_ended"));
    if (ended != 0) {
        printf("%s: %" JSON_INTEGER_FORMAT " %s%s\n", safe, ended,
               ended == 1 ? "session ends" : "sessions end", dry);
    }
    free(safe);
    return ADMIN_OK;
}
