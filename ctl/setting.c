/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as people type them: "gpu-mem" and "40GiB" for gpu_mem_bytes of 42949672960. */
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "ctl/value.h"

/* By the unit: what the title says of it; the form of the limit, and with what is used of it. */
#define TITLE_BYTES            ""
#define TITLE_COUNT            ""
#define TITLE_MILLISECONDS     ""
#define TITLE_PER_SECOND       " (per s)"
#define TITLE_BYTES_PER_SECOND " (per s)"
#define TITLE_PER_CENT         " (per cent)"

static const struct {
    enum ctl_form alone, of;
} forms[] = {
    [LIMITS_BYTES] = {FORM_BYTES, FORM_BYTES_OF},
    [LIMITS_COUNT] = {FORM_COUNT, FORM_COUNT_OF},
    [LIMITS_MILLISECONDS] = {FORM_DURATION_MS, FORM_HOURS_OF},
    [LIMITS_PER_SECOND] = {FORM_COUNT, FORM_COUNT_OF},
    [LIMITS_BYTES_PER_SECOND] = {FORM_BYTES, FORM_BYTES_OF},
    [LIMITS_PER_CENT] = {FORM_COUNT, FORM_COUNT_OF},
};

/* The keys by enum ctl_used. */
static const struct {
    const char *title, *keys[3];
} limit_columns[LIMIT_COUNT] = {
#define LIMIT(name, key, json, unit, least, most, users, text)                                     \
    [LIMIT_##name] = {key TITLE_##unit,                                                            \
                      {"limits." json, "used." json "|limits." json, json "|limits." json}},
#include "api/limits.def"
#undef LIMIT
};

struct ctl_column ctl_setting_column(enum limit limit, enum ctl_used used, const char *title,
                                     bool wide)
{
    enum limits_unit unit = limits_table[limit].unit;
    const char *own = limit == LIMIT_GPU_TIME_DAY     ? "GPU time of the day"
                      : limit == LIMIT_GPU_TIME_MONTH ? "GPU time of the month"
                                                      : limit_columns[limit].title;
    return (struct ctl_column){.title = title != NULL ? title : own,
                               .key = limit_columns[limit].keys[used],
                               .form = used != CTL_USED_UNTOLD ? forms[unit].of : forms[unit].alone,
                               .wide = wide};
}

/* Those whose values are words. */
static const struct {
    const char *member, *typed;
} words[] = {
    {"isolation", "isolation"}, {"on_exhausted", "on-exhausted"}, {"gpu_types", "gpu-types"}};

void ctl_setting_name(const char *member, char *name, size_t size)
{
    static const char *const units[] = {"_bytes", "_ms", "_ns"};
    enum limit limit = limits_find_json(member);
    size_t length = strlen(member);
    const char *typed = limit < LIMIT_COUNT ? limits_table[limit].key : member;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        typed = strcmp(words[i].member, member) == 0 ? words[i].typed : typed;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units && typed == member; i++) {
        size_t unit = strlen(units[i]);
        if (length > unit && strcmp(member + length - unit, units[i]) == 0) {
            length -= unit;
            break;
        }
    }
    snprintf(name, size, "%.*s", typed == member ? (int)length : (int)strlen(typed), typed);
}

char *ctl_setting_value(const char *member, json_t *value)
{
    enum limit limit = limits_find_json(member);
    char text[LIMITS_TEXT_MAX];
    if (limit == LIMIT_COUNT || !json_is_integer(value) || json_integer_value(value) < 0) {
        return ctl_value_plain_of(member, value);
    }
    limits_value_write(limit, (uint64_t)json_integer_value(value), text);
    return strdup(text);
}
