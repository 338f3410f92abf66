/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, CSV and JSON of long lists.
 *
 * Note: JSON has numbers and UTC as they come; only tables are for people, with units and the time
 * of this place. */
#include "ctl/rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl/indent.h"
#include "ctl/value.h"

#define COLUMNS_MAX 24u
#define NARROWEST   8u /* columns of the terminal that a shortened value keeps */
#define BETWEEN     2u /* columns between two values */

struct shown {
    const struct ctl_column *columns[COLUMNS_MAX];
    size_t count;
    unsigned width[COLUMNS_MAX];
};

struct ctl_rows {
    const struct ctl_line *line;
    const char *kind;
    struct shown shown;
    char keys[2 * COLUMNS_MAX][CTL_KEY_BYTES]; /* two of each column; "": there is none */
    struct ctl_value values[2 * COLUMNS_MAX];
    struct ctl_seen seen[CTL_SEEN_MAX];
    char *text;  /* of a table: its cells, each with its end; otherwise what is printed */
    size_t size; /* bytes of `text`, when `out` has been closed */
    FILE *out;   /* into `text` */
    struct ctl_indent indent;
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

/* ---- tables */

static void cell_add(struct ctl_rows *rows, size_t at, const char *text)
{
    unsigned width = ctl_text_columns(text);
    if (width > rows->shown.width[at]) {
        rows->shown.width[at] = width;
    }
    (void)fwrite_unlocked(text, 1, strlen(text) + 1, rows->out);
}

static void table_row(struct ctl_rows *rows)
{
    bool wide = ctl_has(rows->line, OPTION_WIDE);
    for (size_t i = 0; i < rows->shown.count; i++) {
        enum ctl_form form = rows->shown.columns[i]->form;
        char room[CTL_CELL_BYTES];
        const char *text;
        if (form != FORM_LIST && ctl_value_cell(&rows->values[2 * i], form, wide, room, &text)) {
            cell_add(rows, i, text);
        } else {
            char *safe = ctl_value_text_of(&rows->values[2 * i], form, wide);
            cell_add(rows, i, safe != NULL ? safe : "?");
            free(safe);
        }
    }
}

static void table_print(struct ctl_rows *rows)
{
    struct shown *shown = &rows->shown;
    size_t at = 0;
    columns_fit(shown, terminal_columns());
    for (size_t i = 0; i < shown->count && !ctl_has(rows->line, OPTION_NO_HEADER); i++) {
        cell_print(shown, i, shown->columns[i]->title);
    }
    for (const char *text = rows->text; text < rows->text + rows->size; text += strlen(text) + 1) {
        cell_print(shown, at, text);
        at = at + 1 == shown->count ? 0 : at + 1;
    }
}

/* ---- CSV (RFC 4180) */

/* A spreadsheet would take the text for a formula, and names are their givers'. */
static bool is_formula(const char *text)
{
    char *end;
    (void)strtod(text, &end);
    return *text != 0 && strchr("=+-@\t\r", *text) != NULL && text[1] != 0 && *end != 0;
}

static void csv_field(FILE *out, const char *text, bool last)
{
    if (is_formula(text)) {
        char *quoted;
        if (asprintf(&quoted, "'%s", text) >= 0) {
            csv_field(out, quoted, last);
            free(quoted);
        }
        return;
    }
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
    } else {
        putc('"', out);
        for (const char *at = text; *at != 0; at++) {
            fputs(*at == '"' ? "\"\"" : (char[]){*at, 0}, out);
        }
        putc('"', out);
    }
    fputs(last ? "\r\n" : ",", out);
}

/* A key "used|limit" is two fields. */
static void csv_row(struct ctl_rows *rows, bool keys)
{
    size_t last = 2 * rows->shown.count - 1;
    last -= rows->keys[last][0] == 0;
    for (size_t i = 0; i <= last; i++) {
        if (rows->keys[i][0] != 0) {
            char *value = keys ? NULL : ctl_value_plain_text(&rows->values[i]);
            csv_field(rows->out, keys ? rows->keys[i] : value != NULL ? value : "", i == last);
            free(value);
        }
    }
}

/* ---- the interface */

static void widths_begin(struct ctl_rows *rows)
{
    for (size_t i = 0; i < rows->shown.count; i++) {
        rows->shown.width[i] = ctl_has(rows->line, OPTION_NO_HEADER)
                                   ? 1
                                   : ctl_text_columns(rows->shown.columns[i]->title);
    }
}

struct ctl_rows *ctl_rows_begin(const struct ctl_line *line, const char *kind,
                                const struct ctl_column *columns, size_t count)
{
    struct ctl_rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL) {
        return NULL;
    }
    rows->line = line;
    rows->kind = kind;
    rows->out = open_memstream(&rows->text, &rows->size);
    if (rows->out == NULL) {
        free(rows);
        return NULL;
    }
    columns_choose(line, columns, count, &rows->shown);
    for (size_t i = 0; i < 2 * rows->shown.count; i++) {
        ctl_value_key(rows->shown.columns[i / 2]->key, i % 2, rows->keys[i]);
    }
    if (ctl_has(line, OPTION_JSON)) {
        rows->indent.out = rows->out;
        ctl_indent_begin(&rows->indent, kind);
    } else if (!ctl_has(line, OPTION_CSV)) {
        widths_begin(rows);
    } else if (!ctl_has(line, OPTION_NO_HEADER)) {
        csv_row(rows, true);
    }
    return rows;
}

static void rows_add(struct ctl_rows *rows)
{
    if (ctl_has(rows->line, OPTION_CSV)) {
        csv_row(rows, false);
    } else {
        table_row(rows);
    }
}

void ctl_rows_item(struct ctl_rows *rows, json_t *item)
{
    for (size_t i = 0; i < 2 * rows->shown.count; i++) {
        const char *key = rows->keys[i];
        rows->values[i] = ctl_value_of(key[0] != 0 ? ctl_value_at(item, key) : NULL);
    }
    rows_add(rows);
}

bool ctl_rows_page(struct ctl_rows *rows, struct ctl_page *page)
{
    const char *keys[2 * COLUMNS_MAX];
    const struct ctl_members members = {keys, 2 * rows->shown.count, rows->values, rows->seen};
    for (size_t i = 0; i < members.count; i++) {
        keys[i] = rows->keys[i];
    }
    if (ctl_has(rows->line, OPTION_JSON)) {
        return ctl_indent_rows(&rows->indent, page);
    }
    while (ctl_page_row(page, &members)) {
        rows_add(rows);
        ctl_members_free(&members);
    }
    return ctl_page_ended(page);
}

enum admin_code ctl_rows_end(struct ctl_rows *rows, bool whole)
{
    if (rows == NULL) {
        return ctl_wrong(ADMIN_ERROR, "no memory");
    }
    if (ctl_has(rows->line, OPTION_JSON)) {
        ctl_indent_end(&rows->indent);
    }
    bool fine = fclose(rows->out) == 0;
    if (fine && whole && (ctl_has(rows->line, OPTION_JSON) || ctl_has(rows->line, OPTION_CSV))) {
        (void)fwrite(rows->text, 1, rows->size, stdout);
    } else if (fine && whole) {
        table_print(rows);
    }
    free(rows->text);
    free(rows);
    return fine ? ADMIN_OK : ctl_wrong(ADMIN_ERROR, "no memory");
}
