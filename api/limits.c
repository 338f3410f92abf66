/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of tenants: the table, and values as text. */
#include "api/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"

#define LIMIT(name, key_, json_, unit_, least_, most_, users_, text_)                              \
    [LIMIT_##name] = {.key = key_,                                                                 \
                      .json = json_,                                                               \
                      .text = text_,                                                               \
                      .unit = LIMITS_##unit_,                                                      \
                      .least = least_,                                                             \
                      .most = most_,                                                               \
                      .users = users_},
const struct limits_facts limits_table[LIMIT_COUNT] = {
#include "api/limits.def"
};
#undef LIMIT

/* Units from large to small. Those for `writing` are the ones that limits_value_write uses. */
struct limits_form {
    const struct ga_unit *units;
    size_t count, writing;
    const char *text; /* what is allowed, for people */
};

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

static const struct ga_unit byte_units[] = {
    {"TiB", TIB}, {"GiB", GIB},    {"MiB", MIB},       {"KiB", KIB},         {"", 1},
    {"B", 1},     {"T", TIB},      {"G", GIB},         {"M", MIB},           {"K", KIB},
    {"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000}};

static const struct ga_unit count_units[] = {{"", 1}};

static const struct ga_unit time_units[] = {{"d", 86400000}, {"h", 3600000}, {"min", 60000},
                                            {"s", 1000},     {"ms", 1},      {"m", 60000}};

static const struct ga_unit rate_units[] = {{"/s", 1}, {"", 1}, {"k/s", 1000}, {"M/s", 1000000}};

static const struct ga_unit speed_units[] = {
    {"TiB/s", TIB},    {"GiB/s", GIB},       {"MiB/s", MIB},
    {"KiB/s", KIB},    {"B/s", 1},           {"kB/s", 1000},
    {"MB/s", 1000000}, {"GB/s", 1000000000}, {"TB/s", 1000000000000},
    {"kbit/s", 125},   {"Mbit/s", 125000},   {"Gbit/s", 125000000}};

static const struct ga_unit part_units[] = {{"%", 1}, {"", 1}};

#define FORM(units_, writing_, text_)                                                              \
    {                                                                                              \
        .units = units_, .count = sizeof units_ / sizeof *units_, .writing = writing_,             \
        .text = text_                                                                              \
    }

static const struct limits_form limits_forms[] = {
    [LIMITS_BYTES] = FORM(byte_units, 5, "bytes, as 512MiB, 40GiB or 40GB"),
    [LIMITS_COUNT] = FORM(count_units, 1, "a number"),
    [LIMITS_MILLISECONDS] = FORM(time_units, 5, "a time, as 500ms, 30s, 10min, 100h or 90d"),
    [LIMITS_PER_SECOND] = FORM(rate_units, 1, "a number per second, as 5000/s"),
    [LIMITS_BYTES_PER_SECOND] =
        FORM(speed_units, 5, "bytes or bits in a second, as 100MiB/s, 1GB/s or 10Gbit/s"),
    [LIMITS_PER_CENT] = FORM(part_units, 1, "a percentage, from 1% to 100%"),
};

void limits_clear(struct limits *limits)
{
    for (int i = 0; i < LIMIT_COUNT; i++) {
        limits->of[i] = LIMIT_NONE;
    }
}

enum limit limits_find(const char *key)
{
    int i = 0;
    while (i < LIMIT_COUNT && strcmp(limits_table[i].key, key) != 0) {
        i++;
    }
    return (enum limit)i;
}

enum limit limits_find_json(const char *json)
{
    int i = 0;
    while (i < LIMIT_COUNT && strcmp(limits_table[i].json, json) != 0) {
        i++;
    }
    return (enum limit)i;
}

/* The meaning of "-", for people. */
static const char *unset_means(enum limit limit)
{
    return limit == LIMIT_SHARE          ? "100, as of all that have none"
           : limit == LIMIT_PRIORITY     ? "0, as of all that have none"
           : limit == LIMIT_LATENCY_GOAL ? "no goal"
                                         : "no limit";
}

static enum ga_status value_refuse(enum limit limit, char *why, size_t why_size)
{
    const struct limits_facts *facts = &limits_table[limit];
    char least[LIMITS_TEXT_MAX], largest[LIMITS_TEXT_MAX];
    limits_value_write(limit, facts->least, least);
    limits_value_write(limit, facts->most, largest);
    snprintf(why, why_size, "%s: must be between %s and %s, or - for %s", facts->key, least,
             largest, unset_means(limit));
    return GA_INVALID;
}

enum ga_status limits_value_check(enum limit limit, uint64_t value, char *why, size_t why_size)
{
    const struct limits_facts *facts = &limits_table[limit];
    return value == LIMIT_NONE || (value >= facts->least && value <= facts->most)
               ? GA_OK
               : value_refuse(limit, why, why_size);
}

/* Whether it is a number and a unit; then all that can be wrong is that it is too large. */
static bool is_amount(const struct limits_form *form, const char *text)
{
    const char *unit = text + strspn(text, "0123456789");
    char small[LIMITS_TEXT_MAX];
    uint64_t amount;
    return unit != text && (size_t)snprintf(small, sizeof small, "1%s", unit) < sizeof small &&
           ga_amount_read(small, form->units, form->count, &amount);
}

enum ga_status limits_value_read(enum limit limit, const char *text, uint64_t *value, char *why,
                                 size_t why_size)
{
    const struct limits_facts *facts = &limits_table[limit];
    const struct limits_form *form = &limits_forms[facts->unit];
    uint64_t read = LIMIT_NONE;
    if (strcmp(text, "-") != 0 && strcmp(text, "unlimited") != 0 &&
        (!ga_amount_read(text, form->units, form->count, &read) || read == LIMIT_NONE)) {
        if (is_amount(form, text)) {
            return value_refuse(limit, why, why_size);
        }
        snprintf(why, why_size, "%s: '%.40s' is not %s, or - for %s", facts->key, text, form->text,
                 unset_means(limit));
        return GA_INVALID;
    }
    GA_TRY(limits_value_check(limit, read, why, why_size));
    *value = read;
    return GA_OK;
}

/* All keys, for people. */
static void keys_write(char *text, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < LIMIT_COUNT; i++) {
        if (at < size) {
            int more =
                snprintf(text + at, size - at, "%s%s", at == 0 ? "" : ", ", limits_table[i].key);
            at += more > 0 ? (size_t)more : 0;
        }
    }
}

/* gpu-seconds=100h/month: which limit; *value becomes the text of the value. GA_INVALID. */
static enum ga_status period_read(const char *text, enum limit *limit, char *value, size_t size,
                                  char *why, size_t why_size)
{
    const char *slash = strrchr(text, '/');
    bool month = slash != NULL && strcmp(slash, "/month") == 0;
    bool day = slash != NULL && strcmp(slash, "/day") == 0;
    size_t length = slash != NULL ? (size_t)(slash - text) : 0;
    if ((!month && !day) || length >= size) {
        snprintf(why, why_size,
                 "gpu-seconds: '%.40s' is not a time for each day or month, as 10h/day or "
                 "100h/month",
                 text);
        return GA_INVALID;
    }
    *limit = month ? LIMIT_GPU_TIME_MONTH : LIMIT_GPU_TIME_DAY;
    memcpy(value, text, length);
    value[length] = 0;
    return GA_OK;
}

enum ga_status limits_read(const char *text, struct limits *limits, char *why, size_t why_size)
{
    char key[32] = "", value[2 * LIMITS_TEXT_MAX];
    const char *equals = strchr(text, '=');
    if (equals == NULL) {
        snprintf(why, why_size, "'%.40s' is not of the form LIMIT=VALUE, as gpu-mem=40GiB", text);
        return GA_INVALID;
    }
    size_t length = (size_t)(equals - text);
    if (length < sizeof key) {
        memcpy(key, text, length);
        key[length] = 0;
    }
    text = equals + 1;
    enum limit limit = limits_find(key);
    if (strcmp(key, "gpu-seconds") == 0) {
        GA_TRY(period_read(text, &limit, value, sizeof value, why, why_size));
        text = value;
    }
    if (limit == LIMIT_COUNT) {
        char keys[400];
        keys_write(keys, sizeof keys);
        snprintf(why, why_size, "there is no limit '%.*s'; limits are %s",
                 length > 40 ? 40 : (int)length, equals - length, keys);
        return GA_NOT_FOUND;
    }
    uint64_t read;
    GA_TRY(limits_value_read(limit, text, &read, why, why_size));
    limits->of[limit] = read;
    return GA_OK;
}

void limits_value_write(enum limit limit, uint64_t value, char text[LIMITS_TEXT_MAX])
{
    const struct limits_form *form = &limits_forms[limits_table[limit].unit];
    if (value == LIMIT_NONE) {
        memcpy(text, "-", 2);
        return;
    }
    ga_amount_write(value, form->units, form->writing, text);
}

bool limits_within(const struct limits *part, const struct limits *whole, enum limit *which)
{
    for (int i = 0; i < LIMIT_COUNT; i++) {
        if (part->of[i] != LIMIT_NONE && part->of[i] > whole->of[i]) {
            *which = (enum limit)i;
            return false;
        }
    }
    return true;
}

void limits_stricter(const struct limits *one, const struct limits *other, struct limits *out)
{
    for (int i = 0; i < LIMIT_COUNT; i++) {
        out->of[i] = one->of[i] < other->of[i] ? one->of[i] : other->of[i];
    }
}
