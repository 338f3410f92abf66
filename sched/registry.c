/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "sched/next/next.h"
#include "sched/policy.h"

#define POLICY_LISTED(name) &sched_policy_##name,
static const struct sched_policy *const policies[] = {SCHED_POLICIES(POLICY_LISTED)};

const struct sched_policy *sched_policy_at(size_t i)
{
    return i < sizeof(policies) / sizeof(policies[0]) ? policies[i] : NULL;
}

const struct sched_policy *sched_policy_find(const char *name)
{
    const struct sched_policy *policy = NULL;
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        if (strcmp(policy->name, name) == 0) {
            return policy;
        }
    }
    return NULL;
}

const char *sched_policy_name(const struct sched_policy *policy)
{
    return policy->name;
}

const char *sched_policy_summary(const struct sched_policy *policy)
{
    return policy->summary;
}

static const struct {
    const char *name;
    enum sched_setting_of of;
} used[] = {
#define SCHED_SETTING(id, name, of, ...) [SCHED_USED_##id] = {name, SCHED_OF_##of},
#define SCHED_LIMIT(id, name)            [SCHED_USED_##id] = {name, SCHED_OF_POLICY},
#include "sched/settings.def"
};
#define USED (sizeof used / sizeof *used)

bool sched_policy_uses(const struct sched_policy *policy, const char *name)
{
    for (size_t i = 0; i < USED; i++) {
        if (strcmp(used[i].name, name) == 0) {
            return used[i].of != SCHED_OF_POLICY || (policy->uses >> i & 1) != 0;
        }
    }
    return true;
}

void sched_policy_used(const struct sched_policy *policy, char *text, size_t room)
{
    text[0] = 0;
    for (size_t i = 0; i < USED; i++) {
        if ((policy->uses >> i & 1) != 0) {
            size_t length = strlen(text);
            snprintf(text + length, room - length, "%s%s", length != 0 ? ", " : "", used[i].name);
        }
    }
}

void sched_policies_using(const char *name, char *text, size_t room)
{
    const struct sched_policy *policy = NULL;
    size_t left = 0;
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        left += sched_policy_uses(policy, name);
    }
    size_t count = left;
    text[0] = 0;
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        if (sched_policy_uses(policy, name)) {
            size_t length = strlen(text);
            const char *before = left == count ? "" : left == 1 ? " or " : ", ";
            snprintf(text + length, room - length, "%s%s", before, policy->name);
            left--;
        }
    }
}
