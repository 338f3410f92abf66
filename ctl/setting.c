/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as people type them: "gpu-mem" and "40GiB" for gpu_mem_bytes of 42949672960. */
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "ctl/value.h"

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
