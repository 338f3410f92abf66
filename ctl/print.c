/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, CSV and JSON from the same objects.
 *
 * Note: JSON has numbers and UTC as they come; only tables are for people, with units and the time
 * of this place. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "ctl/value.h"

#define COLUMNS_MAX 24u
#define NARROWEST   8u /* columns of the terminal that a shortened value keeps */
#define BETWEEN     2u /* columns between two values */

struct shown {
    const struct ctl_column *columns[COLUMNS_MAX];
    size_t count;
    unsigned width[COLUMNS_MAX];
};

static void columns_choose(const struct ctl_line *line, const struct ctl_column *columns,
                           size_t count, struct shown *shown)
{
    for (size_t i = 0; i < count && shown->count < COLUMNS_MAX; i++) {
        if (!columns[i].wide || ctl_has(line, OPTION_WIDE) || ctl_has(line, OPTION_CSV)) {
            shown->columns[shown->count++] = &columns[i];
        }
    }
}

/* 0: it is no terminal, and has all room. */
static unsigned terminal_columns(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
        return 0;
    }
    return size.ws_col;
}

/* Takes from the widest columns of texts until the table fits, or nothing is left to take. */
static void columns_fit(struct shown *shown, unsigned room)
{
    for (;;) {
        unsigned total = 0;
        size_t widest = shown->count;
        for (size_t i = 0; i < shown->count; i++) {
            bool may = shown->columns[i]->form == FORM_TEXT || shown->columns[i]->form == FORM_LIST;
            total += shown->width[i] + (i != 0 ? BETWEEN : 0);
            if (may && shown->width[i] > NARROWEST &&
                (widest == shown->count || shown->width[i] > shown->width[widest])) {
                widest = i;
            }
        }
        if (room == 0 || total <= room || widest == shown->count) {
            return;
        }
        shown->width[widest]--;
    }
}

/* The length in bytes of the beginning that has at most so many columns. */
static size_t beginning(const char *text, unsigned columns)
{
    size_t length = strlen(text);
    char *copy = strdup(text);
    while (copy != NULL && length > 0 && ctl_text_columns(copy) > columns) {
        length--;
        while (length > 0 && ((unsigned char)copy[length] & 0xc0) == 0x80) {
            length--;
        }
        copy[length] = 0;
    }
    free(copy);
    return length;
}

static bool is_number(enum ctl_form form)
{
    return form == FORM_COUNT || form == FORM_BYTES || form == FORM_DURATION_MS ||
           form == FORM_NS || form == FORM_HOURS || form == FORM_SECONDS;
}

static void spaces_print(unsigned count)
{
    while (count-- != 0) {
        (void)putc_unlocked(' ', stdout);
    }
}

static void cell_print(const struct shown *shown, size_t at, const char *text)
{
    unsigned width = shown->width[at], columns = ctl_text_columns(text);
    bool last = at + 1 == shown->count, right = is_number(shown->columns[at]->form);
    size_t length = strlen(text);
    const char *mark = "";
    if (columns > width) { /* shortened */
        length = beginning(text, width - 1);
        mark = "~";
        columns = width;
    }
    spaces_print(right ? width - columns : 0);
    (void)fwrite_unlocked(text, 1, length, stdout);
    (void)fputs_unlocked(mark, stdout);
    spaces_print(right || last ? 0 : width - columns);
    (void)fputs_unlocked(last ? "\n" : "  ", stdout);
}

static enum admin_code no_memory(void)
{
    return ctl_wrong(ADMIN_ERROR, "no memory");
}

static enum admin_code table_print(const struct ctl_line *line, struct shown *shown, json_t *items)
{
    size_t rows = json_array_size(items);
    char **cells = calloc(rows * shown->count + 1, sizeof *cells);
    if (cells == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < shown->count; i++) {
        shown->width[i] =
            ctl_has(line, OPTION_NO_HEADER) ? 1 : ctl_text_columns(shown->columns[i]->title);
    }
    for (size_t i = 0; i < rows * shown->count; i++) {
        size_t at = i % shown->count;
        cells[i] = ctl_value_text(json_array_get(items, i / shown->count), shown->columns[at],
                                  ctl_has(line, OPTION_WIDE));
        unsigned width = cells[i] != NULL ? ctl_text_columns(cells[i]) : 0;
        shown->width[at] = width > shown->width[at] ? width : shown->width[at];
    }
    columns_fit(shown, terminal_columns());
    for (size_t i = 0; i < shown->count && !ctl_has(line, OPTION_NO_HEADER); i++) {
        cell_print(shown, i, shown->columns[i]->title);
    }
    for (size_t i = 0; i < rows * shown->count; i++) {
        cell_print(shown, i % shown->count, cells[i] != NULL ? cells[i] : "?");
        free(cells[i]);
    }
    free(cells);
    return ADMIN_OK;
}

/* ---- CSV (RFC 4180) */

/* A spreadsheet would take the text for a formula, and names are their givers'. */
static bool is_formula(const char *text)
{
    char *end;
    (void)strtod(text, &end);
    return *text != 0 && strchr("=+-@\t\r", *text) != NULL && text[1] != 0 && *end != 0;
}

static void csv_field(const char *text, bool last)
{
    if (is_formula(text)) {
        char *quoted;
        if (asprintf(&quoted, "'%s", text) >= 0) {
            csv_field(quoted, last);
            free(quoted);
        }
        return;
    }
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, stdout);
    } else {
        putchar('"');
        for (const char *at = text; *at != 0; at++) {
            fputs(*at == '"' ? "\"\"" : (char[]){*at, 0}, stdout);
        }
        putchar('"');
    }
    fputs(last ? "\r\n" : ",", stdout);
}

/* A key "used|limit" is two fields. */
static void csv_keys(const struct shown *shown, json_t *item)
{
    for (size_t i = 0; i < shown->count; i++) {
        const char *at = shown->columns[i]->key;
        while (*at != 0) {
            char key[64];
            size_t length = strcspn(at, "|");
            snprintf(key, sizeof key, "%.*s", (int)length, at);
            at += length + (at[length] == '|');
            char *value = item != NULL ? ctl_value_plain(item, key) : NULL;
            csv_field(item == NULL    ? key
                      : value != NULL ? value
                                      : "",
                      i + 1 == shown->count && *at == 0);
            free(value);
        }
    }
}

static enum admin_code csv_print(const struct ctl_line *line, const struct shown *shown,
                                 json_t *items)
{
    if (!ctl_has(line, OPTION_NO_HEADER)) {
        csv_keys(shown, NULL);
    }
    for (size_t i = 0; i < json_array_size(items); i++) {
        csv_keys(shown, json_array_get(items, i));
    }
    return ADMIN_OK;
}

/* ---- the interface */

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
    struct shown shown = {.count = 0};
    if (ctl_has(line, OPTION_JSON)) {
        json_t *object = json_pack("{s:O}", "items", items);
        enum admin_code code = ctl_print_json(kind, object);
        json_decref(object);
        return code;
    }
    columns_choose(line, columns, count, &shown);
    return ctl_has(line, OPTION_CSV) ? csv_print(line, &shown, items)
                                     : table_print(line, &shown, items);
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
