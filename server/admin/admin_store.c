/* SPDX-License-Identifier: Apache-2.0 */
#include "server/admin/admin_store.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/digits.h"
#include "base/moment.h"
#include "server/gpuaasd/gpuaasd.h"

/* The size of a page, at first and at most: the rows are read again for each page, so pages are
 * few. */
#define ROWS_BYTES     65536u
#define ROWS_BYTES_MAX (ADMIN_REPLY_MAX - ROWS_BYTES)

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
    enum ga_status status = storage_get(&call->gpuaasd->storage, store, why, sizeof why);
    return status == GA_OK ? ADMIN_OK : admin_fail(call, ADMIN_ERROR, "%s", why);
}

enum admin_code admin_store_open(struct admin_call *call, struct store **store)
{
    char why[ADMIN_WHY_MAX] = "";
    enum ga_status status =
        store_open_to_read(storage_path(&call->gpuaasd->storage), store, why, sizeof why);
    return status == GA_OK ? ADMIN_OK : admin_fail(call, ADMIN_ERROR, "%s", why);
}

enum admin_code admin_store_read(struct admin_call *call, struct store **store)
{
    enum admin_code code = admin_store_open(call, &call->reader);
    *store = call->reader;
    return code;
}

enum admin_code admin_store_code(struct admin_call *call, struct store *store,
                                 enum ga_status status)
{
    enum admin_code code = admin_status_code(call, status, store_why(store));
    if (store != call->reader) {
        storage_note(&call->gpuaasd->storage, status);
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
    *rows = (struct admin_rows){.text = NULL};
    if (after != NULL && (!ga_digits_read(after, &end, &rows->left_out) || *end != 0)) {
        return admin_fail(call, ADMIN_USAGE, "after: it is the text `next` of the page before");
    }
    return ADMIN_OK;
}

bool admin_rows_take(struct admin_rows *rows)
{
    return rows->seen++ >= rows->left_out && !rows->full;
}

static bool rows_grow(struct admin_rows *rows)
{
    size_t room = rows->room == 0                    ? ROWS_BYTES
                  : rows->room <= ROWS_BYTES_MAX / 2 ? 2 * rows->room
                                                     : ROWS_BYTES_MAX;
    char *text = room > rows->room ? realloc(rows->text, room) : NULL;
    if (text != NULL) {
        rows->text = text;
        rows->room = room;
    }
    return text != NULL;
}

/* Besides the row there is room for what is before it, for the end of the list, and of the text. */
void admin_rows_add(struct admin_rows *rows, json_t *row)
{
    size_t size, left;
    do {
        left = rows->room - rows->bytes;
        size =
            left > 3 ? json_dumpb(row, rows->text + rows->bytes + 1, left - 3, JSON_COMPACT) : left;
    } while (size + 3 > left && rows_grow(rows));
    if (size != 0 && size + 3 <= left) {
        rows->text[rows->bytes] = rows->bytes == 0 ? '[' : ',';
        rows->bytes += size + 1;
        rows->taken++;
    } else if (size != 0 && rows->room == ROWS_BYTES_MAX && rows->taken != 0) {
        rows->full = true;
    } else {
        rows->failed = true;
    }
    json_decref(row);
}

enum admin_code admin_rows_end(struct admin_call *call, struct admin_rows *rows,
                               enum admin_code code)
{
    char next[24];
    if (code != ADMIN_OK || rows->failed) {
        free(rows->text);
        return code != ADMIN_OK ? code
                                : admin_fail(call, ADMIN_ERROR,
                                             "a row is too long, or there is no memory for it");
    }
    if (rows->text != NULL) {
        rows->text[rows->bytes] = ']';
        rows->text[rows->bytes + 1] = 0;
    }
    call->items = rows->text != NULL ? rows->text : strdup("[]");
    if (call->items == NULL) {
        return admin_fail(call, ADMIN_ERROR, "there is no memory for the list");
    }
    snprintf(next, sizeof next, "%" PRIu64, rows->left_out + rows->taken);
    admin_set_text(call->result, "next", rows->full ? next : NULL);
    return ADMIN_OK;
}

/* ---- members */

void admin_set_time(json_t *object, const char *name, int64_t seconds)
{
    char text[GA_MOMENT_BYTES];
    admin_set_text(object, name, seconds != 0 && ga_moment_write(seconds, text) ? text : NULL);
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
