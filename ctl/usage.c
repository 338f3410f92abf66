/* SPDX-License-Identifier: Apache-2.0 */
/* The command `usage`. */
#include <string.h>
#include <time.h>

#include "ctl/value.h"
#include "ctl/verb.h"
#include "store/store.h"

static const struct ctl_column keys[] = {
    {"TENANT", "tenant", FORM_TEXT, false}, {"USER", "user", FORM_TEXT, false},
    {"NODE", "node", FORM_TEXT, false},     {"GPU", "gpu", FORM_TEXT, false},
    {"DAY", "day", FORM_DAY, false},
};

static const struct ctl_column figures[] = {{"SESSIONS", "sessions", FORM_COUNT, false},
#define FIGURE(column, how, json, unit, title, form, wide) {title, json, FORM_##form, wide},
                                            STORE_FIGURES(FIGURE)
#undef FIGURE
};

#define HOURS     "HOURS"
#define TITLE_MAX 32

/* "GPU HOURS" as "GPU SECONDS". */
static void title_in_seconds(const char *title, char seconds[TITLE_MAX])
{
    size_t length = strlen(title) - strlen(HOURS);
    snprintf(seconds, TITLE_MAX, "%.*sSECONDS", (int)length, title);
}

#define SECONDS_OF_DAY 86400

/* "2026-11-25" (UTC). There is no 30 February, which timegm would take. */
static bool day_read(const char *text, time_t *at)
{
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m-%d", &utc);
    int day = utc.tm_mday;
    *at = end != NULL && *end == 0 ? timegm(&utc) : -1;
    return *at >= 0 && utc.tm_mday == day;
}

/* "today", "yesterday", "this-month", or how long ago: "7d". */
static bool ago_read(const char *text, time_t now, time_t *at)
{
    struct tm utc;
    uint64_t ago = 0;
    if (strcmp(text, "yesterday") == 0) {
        ago = SECONDS_OF_DAY;
    } else if (strcmp(text, "this-month") == 0 && gmtime_r(&now, &utc) != NULL) {
        ago = (uint64_t)(utc.tm_mday - 1) * SECONDS_OF_DAY;
    } else if (strcmp(text, "today") != 0 && !ctl_duration_read(text, &ago)) {
        return false;
    }
    *at = ago < (uint64_t)now ? now - (time_t)ago : 0;
    return ago < (uint64_t)now;
}

static enum admin_code time_read(const struct ctl_line *line, enum ctl_option option,
                                 json_t *arguments, const char *name)
{
    const char *text = line->options[option];
    time_t at;
    if (text == NULL) {
        return ADMIN_OK;
    }
    if (!day_read(text, &at) && !ago_read(text, time(NULL), &at)) {
        return ctl_wrong(ADMIN_USAGE,
                         "--%s %s: give a day as 2026-11-25 (UTC), today, yesterday, this-month, "
                         "or how long ago, as 7d",
                         ctl_options[option].word, text);
    }
    (void)json_object_set_new(arguments, name, json_integer((json_int_t)at));
    return ADMIN_OK;
}

static json_int_t usage_day(const json_t *arguments, const char *name)
{
    return json_integer_value(json_object_get(arguments, name)) / SECONDS_OF_DAY;
}

static bool usage_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ',')) {
            return true;
        }
    }
    return false;
}

enum admin_code ctl_usage(const struct ctl_line *line)
{
    struct ctl_column columns[CTL_COUNT(keys) + CTL_COUNT(figures)];
    char titles[CTL_COUNT(figures)][TITLE_MAX];
    const char *by = ctl_has(line, OPTION_BY) ? line->options[OPTION_BY] : "tenant";
    const char *unit = line->options[OPTION_UNIT];
    json_t *arguments = json_pack("{s:s}", "by", by);
    size_t count = 0;
    enum admin_code code = time_read(line, OPTION_FROM, arguments, "from_s");
    if (code == ADMIN_OK) {
        code = time_read(line, OPTION_TO, arguments, "to_s");
    }
    if (code == ADMIN_OK && ctl_has(line, OPTION_FROM) && ctl_has(line, OPTION_TO) &&
        usage_day(arguments, "from_s") > usage_day(arguments, "to_s")) {
        code = ctl_wrong(ADMIN_USAGE, "--from %s is later than --to %s", line->options[OPTION_FROM],
                         line->options[OPTION_TO]);
    }
    if (code == ADMIN_OK) {
        code = ctl_verb_number(line, arguments, "top", OPTION_TOP);
    }
    if (code == ADMIN_OK && unit != NULL && strcmp(unit, "gpu-hours") != 0 &&
        strcmp(unit, "gpu-seconds") != 0) {
        code = ctl_wrong(ADMIN_USAGE, "--unit %s: it is gpu-hours or gpu-seconds", unit);
    }
    if (code != ADMIN_OK) {
        json_decref(arguments);
        return code;
    }
    if (line->word_count != 0) {
        (void)json_object_set_new(arguments, "tenant", json_string(line->words[0]));
    }
    ctl_verb_option(line, arguments, "user", OPTION_USER);
    for (size_t i = 0; i < CTL_COUNT(keys); i++) {
        if (usage_has_word(by, keys[i].key)) {
            columns[count++] = keys[i];
        }
    }
    for (size_t i = 0; i < CTL_COUNT(figures); i++) {
        columns[count] = figures[i];
        if (unit != NULL && strcmp(unit, "gpu-seconds") == 0 && figures[i].form == FORM_HOURS) {
            title_in_seconds(figures[i].title, titles[i]);
            columns[count].title = titles[i];
            columns[count].form = FORM_SECONDS;
        }
        count++;
    }
    return ctl_verb_list(line, "usage", arguments, "UsageList", columns, count);
}
