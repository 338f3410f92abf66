/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/amount.h"
#include "base/digits.h"

#define SECONDS_OF_MINUTE 60u
#define SECONDS_OF_HOUR   3600u
#define SECONDS_OF_DAY    86400u

json_t *ctl_value_at(json_t *item, const char *key)
{
    for (;;) {
        size_t length = strcspn(key, ".");
        item = json_object_getn(item, key, length);
        if (item == NULL || key[length] == 0) {
            return item;
        }
        key += length + 1;
    }
}

void ctl_bytes_write(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    double value = (double)bytes;
    if (bytes < 1024) { /* most of them in a list: without printf */
        size_t used = ga_digits_write(bytes, text);
        memcpy(text + used, " B", 3);
        return;
    }
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    snprintf(text, size, "%.1f %s", value, units[unit]);
}

/* "12.3s", "04:05" (minutes, seconds), "3h04", "2d05h". */
static void duration_write(uint64_t ms, char *text, size_t size)
{
    uint64_t seconds = ms / 1000;
    if (ms != 0 && ms < 100) {
        snprintf(text, size, "%" PRIu64 "ms", ms);
    } else if (seconds < SECONDS_OF_MINUTE) {
        snprintf(text, size, "%" PRIu64 ".%" PRIu64 "s", seconds, ms % 1000 / 100);
    } else if (seconds < SECONDS_OF_HOUR) {
        snprintf(text, size, "%02" PRIu64 ":%02" PRIu64, seconds / SECONDS_OF_MINUTE,
                 seconds % SECONDS_OF_MINUTE);
    } else if (seconds < SECONDS_OF_DAY) {
        snprintf(text, size, "%" PRIu64 "h%02" PRIu64, seconds / SECONDS_OF_HOUR,
                 seconds % SECONDS_OF_HOUR / SECONDS_OF_MINUTE);
    } else {
        snprintf(text, size, "%" PRIu64 "d%02" PRIu64 "h", seconds / SECONDS_OF_DAY,
                 seconds % SECONDS_OF_DAY / SECONDS_OF_HOUR);
    }
}

/* Hours with five digits behind the point, each of which is 36 ms: printf would take as long as all
 * else of a row of usage. */
static void hundred_thousandths_write(uint64_t ms, char *text, size_t size)
{
    uint64_t parts = (ms + 18) / 36;
    size_t used = ga_digits_write(parts / 100000, text);
    snprintf(text + used, size - used, ".%05" PRIu64, parts % 100000);
}

/* "100.5h", "12.3m", "1.5s": of each length at least two digits that say something. */
static void hours_write(uint64_t ms, char *text, size_t size)
{
    double seconds = (double)ms / 1000;
    if (seconds >= SECONDS_OF_HOUR || ms == 0) {
        snprintf(text, size, "%.1fh", seconds / SECONDS_OF_HOUR);
    } else if (seconds >= SECONDS_OF_MINUTE) {
        snprintf(text, size, "%.1fm", seconds / SECONDS_OF_MINUTE);
    } else {
        snprintf(text, size, ms < 1000 ? "%.3fs" : "%.1fs", seconds);
    }
}

/* "2026-11-25T16:44:08Z" as the time of this place. */
static void value_time_write(const char *iso, char *text, size_t size)
{
    struct tm utc = {0}, here;
    const char *end = strptime(iso, "%Y-%m-%dT%H:%M:%S", &utc);
    time_t seconds = end != NULL ? timegm(&utc) : 0;
    if (end == NULL || *end != 'Z' || localtime_r(&seconds, &here) == NULL ||
        strftime(text, size, "%Y-%m-%d %H:%M", &here) == 0) {
        snprintf(text, size, "%s", iso);
    }
}

/* `size` is at least GA_AMOUNT_BYTES. */
static void number_write(enum ctl_form form, uint64_t number, char *text, size_t size)
{
    if (form == FORM_BYTES || form == FORM_BYTES_OF) {
        ctl_bytes_write(number, text, size);
    } else if (form == FORM_HOURS) { /* a tenth of a second is still there */
        hundred_thousandths_write(number, text, size);
    } else if (form == FORM_HOURS_OF) {
        hours_write(number, text, size);
    } else if (form == FORM_SECONDS) {
        snprintf(text, size, "%.3f", (double)number / 1000);
    } else if (form == FORM_DURATION_MS) {
        duration_write(number, text, size);
    } else if (form == FORM_NS) {
        ga_time_write(number, text);
    } else {
        text[ga_digits_write(number, text)] = 0;
    }
}

static void cell_number(enum ctl_form form, const struct ctl_value *value, char *text, size_t size)
{
    if (value->kind == CTL_NUMBER) {
        number_write(form, (uint64_t)value->number, text, size);
    } else {
        snprintf(text, size, "-");
    }
}

/* "used/limit" of a key "used|limit", with "!" when nothing is left, "" when neither is there. */
static void part_write(const struct ctl_value values[2], enum ctl_form form, char *text,
                       size_t size)
{
    char first[40], second[40];
    cell_number(form, &values[0], first, sizeof first);
    cell_number(form, &values[1], second, sizeof second);
    bool full = values[0].kind == CTL_NUMBER && values[1].kind == CTL_NUMBER &&
                values[0].number >= values[1].number;
    snprintf(text, size, "%s/%s%s", first, second, full ? " !" : "");
}

static char *list_text(const json_t *list)
{
    char *text = NULL;
    size_t size = 0, at;
    json_t *value;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return NULL;
    }
    json_array_foreach(list, at, value)
    {
        fputs(at != 0 ? "," : "", out);
        const json_t *name = json_is_object(value) ? json_object_get(value, "name") : value;
        if (json_is_string(name)) {
            fputs(json_string_value(name), out);
        } else {
            fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        }
    }
    if (fclose(out) != 0) {
        return NULL;
    }
    char *safe = ctl_text_safe(text);
    free(text);
    return safe;
}

bool ctl_value_cell(const struct ctl_value values[2], enum ctl_form form, bool wide,
                    char room[CTL_CELL_BYTES], const char **text)
{
    const char *plain = values[0].kind == CTL_TEXT   ? values[0].text
                        : values[0].kind == CTL_TREE ? json_string_value(values[0].tree)
                                                     : NULL;
    *text = room;
    switch (form) {
    case FORM_LIST:
        return false;
    case FORM_BYTES_OF:
    case FORM_COUNT_OF:
    case FORM_HOURS_OF:
        part_write(values, form, room, CTL_CELL_BYTES);
        return true;
    case FORM_COUNT:
    case FORM_BYTES:
    case FORM_DURATION_MS:
    case FORM_NS:
    case FORM_HOURS:
    case FORM_SECONDS:
        cell_number(form, &values[0], room, CTL_CELL_BYTES);
        return true;
    case FORM_FLAG:
        snprintf(room, CTL_CELL_BYTES, "%s",
                 values[0].kind != CTL_TREE      ? "-"
                 : json_is_true(values[0].tree)  ? "yes"
                 : json_is_false(values[0].tree) ? "no"
                                                 : "-");
        return true;
    case FORM_TIME:
        if (plain != NULL) {
            value_time_write(plain, room, CTL_CELL_BYTES);
            return ctl_text_is_plain(room);
        }
        break;
    case FORM_DAY:
    case FORM_ID:
        if (plain != NULL && (form == FORM_DAY || !wide)) {
            snprintf(room, CTL_CELL_BYTES, "%.*s", form == FORM_DAY ? 10 : 8, plain);
            return ctl_text_is_plain(room);
        }
        break;
    case FORM_TEXT:
        break;
    }
    *text = plain != NULL && plain[0] != 0 ? plain : "-";
    return ctl_text_is_plain(*text);
}

char *ctl_value_text_of(const struct ctl_value values[2], enum ctl_form form, bool wide)
{
    char text[CTL_CELL_BYTES];
    const char *long_text;
    if (form == FORM_LIST) {
        json_t *list = values[0].kind == CTL_TREE ? values[0].tree : NULL;
        return json_array_size(list) != 0 ? list_text(list) : strdup("-");
    }
    return ctl_value_cell(values, form, wide, text, &long_text) ? strdup(long_text)
                                                                : ctl_text_safe(long_text);
}

void ctl_value_key(const char *keys, unsigned part, char key[CTL_KEY_BYTES])
{
    size_t length = strcspn(keys, "|");
    if (part == 1) {
        keys += length + (keys[length] == '|');
        length = strlen(keys);
    }
    snprintf(key, CTL_KEY_BYTES, "%.*s", (int)length, keys);
}

char *ctl_value_text(json_t *item, const struct ctl_column *column, bool wide)
{
    struct ctl_value values[2];
    for (unsigned i = 0; i < 2; i++) {
        char key[CTL_KEY_BYTES];
        ctl_value_key(column->key, i, key);
        values[i] = ctl_value_of(key[0] != 0 ? ctl_value_at(item, key) : NULL);
    }
    return ctl_value_text_of(values, column->form, wide);
}

char *ctl_value_plain_text(const struct ctl_value *value)
{
    char number[32];
    if (value->kind == CTL_TEXT) {
        return ctl_text_safe(value->text);
    }
    if (value->kind == CTL_NUMBER) {
        snprintf(number, sizeof number, "%" PRId64, value->number);
        return strdup(number);
    }
    const json_t *tree = value->kind == CTL_TREE ? value->tree : NULL;
    return json_is_array(tree)    ? list_text(tree)
           : json_is_string(tree) ? ctl_text_safe(json_string_value(tree))
                                  : strdup(json_is_true(tree)    ? "true"
                                           : json_is_false(tree) ? "false"
                                                                 : "");
}

char *ctl_value_plain(json_t *item, const char *key)
{
    const struct ctl_value value = ctl_value_of(ctl_value_at(item, key));
    return ctl_value_plain_text(&value);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

char *ctl_value_plain_of(const char *key, json_t *value)
{
    char text[100];
    if (value == NULL || json_is_null(value)) {
        return NULL;
    }
    enum ctl_form form = ends_with(key, "_bytes") ? FORM_BYTES
                         : ends_with(key, "_ms")  ? FORM_DURATION_MS
                         : ends_with(key, "_ns")  ? FORM_NS
                                                  : FORM_COUNT;
    const struct ctl_value of = ctl_value_of(value);
    if (of.kind == CTL_NUMBER) {
        number_write(form, (uint64_t)of.number, text, sizeof text);
        return strdup(text);
    }
    return ctl_value_plain_text(&of);
}

/* From large to small, but for weeks, which are only read. */
static const struct ga_unit duration_units[] = {
    {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"w", 604800}};
#define DURATION_UNITS_WRITTEN 4u

bool ctl_duration_read(const char *text, uint64_t *seconds)
{
    return ga_amount_read(text, duration_units, sizeof duration_units / sizeof *duration_units,
                          seconds);
}

enum admin_code ctl_option_duration(const struct ctl_line *line, enum ctl_option option,
                                    uint64_t least_s, uint64_t most_s, uint64_t *seconds)
{
    const char *text = line->options[option];
    char least[GA_AMOUNT_BYTES], largest[GA_AMOUNT_BYTES];
    uint64_t read;
    if (text == NULL) {
        return ADMIN_OK;
    }
    if (ctl_duration_read(text, &read) && read >= least_s && read <= most_s) {
        *seconds = read;
        return ADMIN_OK;
    }
    ga_amount_write(least_s, duration_units, DURATION_UNITS_WRITTEN, least);
    ga_amount_write(most_s, duration_units, DURATION_UNITS_WRITTEN, largest);
    return ctl_wrong(ADMIN_USAGE, "--%s %s: it can be %s to %s, a whole number and s, m, h, d or w",
                     ctl_options[option].word, text, least, largest);
}
