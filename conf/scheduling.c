/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a GPU's scheduling: whether they go together, and what else a GPU is. */
#include <stdio.h>
#include <string.h>

#include "conf/key.h"

#define COPY_ENGINES 2u /* of a GPU of which nothing is known */

struct sched_gpu conf_gpu_sched(const struct conf_gpu *gpu)
{
    if (gpu->driver != CONF_DRIVER_SOFT) {
        /* CUDA drivers of today have GPUs that take turns by time (Pascal and newer). */
        return (struct sched_gpu){
            .copy_engines = COPY_ENGINES, .copies_overlap = true, .slices = true};
    }
    /* Without a timing model processors do the work, which share their time. */
    const struct soft_device *soft = &gpu->soft;
    return (struct sched_gpu){.copy_engines = soft->copy_engines,
                              .bandwidth = (uint64_t)soft->memory_mbs * 1000000,
                              .copies_overlap = !soft->timing || soft->overlap_contexts,
                              .slices = !soft->timing || soft->context_slice_ns != 0};
}

enum ga_status conf_scheduling_check(const struct conf_scheduling *scheduling,
                                     const struct sched_gpu *gpu, char *why, size_t why_size)
{
    const struct sched_settings *settings = &scheduling->settings;
    char other_why[300];
    enum ga_status status =
        sched_settings_check(scheduling->policy, settings, gpu, other_why, sizeof other_why);
    bool lacks = status == GA_UNSUPPORTED;
    snprintf(why, why_size, "%s%s", lacks ? "policy: " : "", other_why);
    if (!lacks) {
        return status;
    }
    const struct sched_policy *other;
    const char *before = "; possible are ";
    for (size_t i = 0; (other = sched_policy_at(i)) != NULL; i++) {
        size_t used = strlen(why);
        if (sched_settings_check(other, settings, gpu, other_why, sizeof other_why) == GA_OK) {
            snprintf(why + used, why_size - used, "%s%s", before, sched_policy_name(other));
            before = ", ";
        }
    }
    return status;
}

static const struct conf_key *scheduling_key_find(const char *name, size_t length)
{
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        if (conf_key_schedules(key) && strlen(key->name) == length &&
            strncmp(key->name, name, length) == 0) {
            return key;
        }
    }
    return NULL;
}

/* The names of the keys but for the policy, which is chosen by itself. */
static void scheduling_keys_write(char *text, size_t size)
{
    text[0] = 0;
    for (size_t i = 0; i < conf_key_count; i++) {
        if (conf_key_schedules(&conf_keys[i]) && conf_keys[i].type != CONF_TYPE_POLICY) {
            size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s", used != 0 ? ", " : "", conf_keys[i].name);
        }
    }
}

enum ga_status conf_scheduling_set(const char *text, struct conf_scheduling *scheduling, char *why,
                                   size_t why_size)
{
    const char *equals = strchr(text, '=');
    size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const struct conf_key *key = scheduling_key_find(text, length);
    struct conf_gpu gpu = {.scheduling = *scheduling};
    if (equals == NULL || key == NULL) {
        char keys[300];
        scheduling_keys_write(keys, sizeof keys);
        snprintf(why, why_size, "'%.40s' is not KEY=VALUE of a KEY of %s", text, keys);
        return GA_INVALID;
    }
    if (!conf_key_read(key, equals + 1, 0, &gpu)) {
        snprintf(why, why_size, "%s: \"%.40s\" is not allowed; allowed: %s", key->name, equals + 1,
                 conf_key_allowed(key));
        return GA_INVALID;
    }
    *scheduling = gpu.scheduling;
    return GA_OK;
}

void conf_scheduling_tell(const struct conf_scheduling *scheduling, conf_scheduling_value *tell,
                          void *user)
{
    const struct conf_gpu gpu = {.scheduling = *scheduling};
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        const void *member = (const char *)&gpu + key->offset;
        char name[48];
        if (!conf_key_schedules(key)) {
            continue;
        }
        if (key->type == CONF_TYPE_POLICY) {
            tell(user, key->name, sched_policy_name(scheduling->policy), 0);
        } else if (key->type == CONF_TYPE_TIME) {
            snprintf(name, sizeof name, "%s_ns", key->name);
            tell(user, name, NULL, *(const uint64_t *)member);
        } else {
            tell(user, key->name, NULL, *(const uint32_t *)member);
        }
    }
}

void conf_scheduling_note(struct conf_scheduling *scheduling, const struct conf_key *key)
{
    const struct sched_setting *setting;
    for (size_t i = 0; (setting = sched_setting_at(i)) != NULL; i++) {
        if (strcmp(setting->name, key->name) == 0) {
            scheduling->given |= UINT64_C(1) << i;
        }
    }
}

static void gpu_scheduling_idle(const char *file, const struct conf_gpu *gpu, conf_complain *warn,
                                void *user)
{
    const struct conf_scheduling *scheduling = &gpu->scheduling;
    const struct sched_setting *setting;
    for (size_t i = 0; (setting = sched_setting_at(i)) != NULL; i++) {
        char line[700], users[300];
        if ((scheduling->given >> i & 1) != 0 &&
            !sched_policy_uses(scheduling->policy, setting->name)) {
            sched_policies_using(setting->name, users, sizeof users);
            snprintf(line, sizeof line,
                     "%.200s: [gpu.%u] %s: has no effect with policy %s: remove it, or choose "
                     "policy %s",
                     file, gpu->number, setting->name, sched_policy_name(scheduling->policy),
                     users);
            warn(user, line);
        }
    }
}

void conf_scheduling_idle(const char *file, const struct conf *conf, conf_complain *warn,
                          void *user)
{
    for (unsigned i = 0; i < conf->gpu_count; i++) {
        gpu_scheduling_idle(file, &conf->gpus[i], warn, user);
    }
}

static bool conf_gpu_same(const struct conf_gpu *one, const struct conf_gpu *other)
{
    struct conf_gpu copy = *other;
    copy.scheduling = one->scheduling;
    return memcmp(one, &copy, sizeof copy) ==
           0; /* NOLINT: both were zeroed before they were read */
}

bool conf_gpus_same(const struct conf *one, const struct conf *other)
{
    bool same = one->gpu_count == other->gpu_count;
    for (unsigned i = 0; same && i < one->gpu_count; i++) {
        same = conf_gpu_same(&one->gpus[i], &other->gpus[i]);
    }
    return same;
}
