/* SPDX-License-Identifier: Apache-2.0 */
#include "server/admin/admin_store.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/digits.h"
#include "server/control/control.h"

enum admin_code admin_status_code(struct admin_call *call, enum ga_status status, const char *why)
{
    switch (status) {
    case GA_OK:
        return ADMIN_OK;
    case GA_NOT_FOUND:
        return admin_fail(call, ADMIN_NOT_FOUND, "%s", why);
    case GA_CONFLICT:
        return admin_fail(call, ADMIN_CONFLICT, "%s", why);
    case GA_INVALID:
    case GA_UNSUPPORTED:
        return admin_fail(call, ADMIN_USAGE, "%s", why);
    default: /* a lock, a full or damaged disk: it is not the admin's fault */
        return admin_fail(call, ADMIN_ERROR, "%s", why);
    }
}

enum admin_code admin_store_get(struct admin_call *call, struct store **store)
{
    char why[ADMIN_WHY_MAX] = "";
    enum ga_status status = storage_get(call->control, store, why, sizeof why);
    return status == GA_OK ? ADMIN_OK : admin_fail(call, ADMIN_ERROR, "%s", why);
}

enum admin_code admin_store_read(struct admin_call *call, struct store **store)
{
    char why[ADMIN_WHY_MAX] = "";
    enum ga_status status =
        store_open_to_read(storage_path(call->control), &call->reader, why, sizeof why);
    if (status != GA_OK) {
        return admin_fail(call, ADMIN_ERROR, "%s", why);
    }
    *store = call->reader;
    return ADMIN_OK;
}

enum admin_code admin_store_code(struct admin_call *call, struct store *store,
                                 enum ga_status status)
{
    enum admin_code code = admin_status_code(call, status, store_why(store));
    if (store != call->reader) {
        storage_note(call->control, status);
    }
    return code;
}

/* ---- pages */

enum admin_code admin_name_check(struct admin_call *call, const char *name)
{
    if (!store_name_is_valid(name)) {
        return admin_fail(call, ADMIN_USAGE,
                          "%.80s is no name: 1 to 64 letters, digits, '.', '_' and '-', the first "
                          "one a letter or a digit",
                          name);
    }
    return ADMIN_OK;
}

enum admin_code admin_reason_read(struct admin_call *call, char reason[STORE_TEXT_MAX + 1])
{
    const char *text = admin_text(call, "reason");
    if (text[0] == 0 || strlen(text) > STORE_TEXT_MAX) {
        return admin_fail(call, ADMIN_USAGE, "the reason must have 1 to %u bytes", STORE_TEXT_MAX);
    }
    memcpy(reason, text, strlen(text) + 1);
    return ADMIN_OK;
}

enum admin_code admin_rows_begin(struct admin_call *call, struct admin_rows *rows)
{
    const char *after = admin_text(call, "after"), *end;
    *rows = (struct admin_rows){.items = NULL};
    if (after != NULL && (!ga_digits_read(after, &end, &rows->left_out) || *end != 0)) {
        return admin_fail(call, ADMIN_USAGE, "after: it is the text `next` of the page before");
    }
    rows->items = json_array();
    return ADMIN_OK;
}

bool admin_rows_take(struct admin_rows *rows)
{
    uint64_t number = rows->seen++;
    return number >= rows->left_out && number - rows->left_out < ADMIN_ROWS_MAX;
}

void admin_rows_end(struct admin_call *call, struct admin_rows *rows)
{
    char next[24];
    snprintf(next, sizeof next, "%" PRIu64, rows->left_out + ADMIN_ROWS_MAX);
    bool more = rows->seen > rows->left_out && rows->seen - rows->left_out > ADMIN_ROWS_MAX;
    admin_set(call->result, "items", rows->items);
    admin_set_text(call->result, "next", more ? next : NULL);
}

/* ---- members */

void admin_set_time(json_t *object, const char *name, int64_t seconds)
{
    char text[32];
    struct tm utc;
    time_t time = (time_t)seconds;
    bool known = seconds != 0 && gmtime_r(&time, &utc) != NULL &&
                 strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) != 0;
    admin_set_text(object, name, known ? text : NULL);
}

void admin_set_limits(json_t *object, const struct limits *limits)
{
    json_t *members = json_object();
    for (unsigned i = 0; i < LIMIT_COUNT; i++) {
        admin_set_number(members, limits_table[i].json, limits->of[i]);
    }
    admin_set(object, "limits", members);
}

void admin_set_change(struct admin_call *call, json_t *before, json_t *after)
{
    admin_set(call->result, "before", before != NULL ? before : json_null());
    admin_set(call->result, "after", after != NULL ? after : json_null());
}

void admin_warn(struct admin_call *call, const char *format, ...)
{
    char text[ADMIN_WHY_MAX];
    json_t *warnings = json_object_get(call->result, "warnings");
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (warnings == NULL) {
        warnings = json_array();
        admin_set(call->result, "warnings", warnings);
    }
    (void)json_array_append_new(warnings, json_string(text));
}
