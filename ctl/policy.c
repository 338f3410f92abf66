/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about scheduling policies. */
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "ctl/verb.h"
#include "sched/sched.h"

/* A column for each setting behind those of the GPU; LISTED of them are in lists that are not wide.
 */
#define SETTINGS_MAX 32u
#define LISTED       5u

static const struct ctl_column gpu_columns[] = {
    {"GPU", "gpu", FORM_COUNT, false},
    {"UUID", "uuid", FORM_TEXT, true},
    {"MODEL", "model", FORM_TEXT, false},
    {"POLICY", "policy", FORM_TEXT, false},
    {"GENERATION", "generation", FORM_COUNT, true},
};
#define GPU_COLUMNS CTL_COUNT(gpu_columns)

struct policy_columns {
    struct ctl_column columns[GPU_COLUMNS + SETTINGS_MAX];
    char keys[SETTINGS_MAX][48];
    size_t count;
};

static void policy_columns_make(struct policy_columns *made)
{
    const struct sched_setting *setting;
    memcpy(made->columns, gpu_columns, sizeof gpu_columns);
    made->count = GPU_COLUMNS;
    for (size_t i = 0; i < SETTINGS_MAX && (setting = sched_setting_at(i)) != NULL; i++) {
        bool is_time = setting->kind == SCHED_KIND_TIME;
        snprintf(made->keys[i], sizeof made->keys[i], "%s%s", setting->name, is_time ? "_ns" : "");
        made->columns[made->count++] = (struct ctl_column){.title = setting->name,
                                                           .key = made->keys[i],
                                                           .form = is_time ? FORM_NS : FORM_COUNT,
                                                           .wide = i >= LISTED};
    }
}

enum admin_code ctl_policy_list(const struct ctl_line *line)
{
    static const struct ctl_column columns[] = {{"POLICY", "policy", FORM_TEXT, false},
                                                {"SUMMARY", "summary", FORM_TEXT, false},
                                                {"USES", "uses", FORM_TEXT, true}};
    json_t *items = json_array();
    const struct sched_policy *policy;
    char uses[300];
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        sched_policy_used(policy, uses, sizeof uses);
        (void)json_array_append_new(items, json_pack("{s:s, s:s, s:s}", "policy",
                                                     sched_policy_name(policy), "summary",
                                                     sched_policy_summary(policy), "uses", uses));
    }
    enum admin_code code =
        ctl_print_list(line, "PolicyNameList", columns, CTL_COUNT(columns), items);
    json_decref(items);
    return code;
}

static enum admin_code policy_gpu_read(const struct ctl_line *line, uint64_t *gpu)
{
    const char *end;
    if (!ga_digits_read(line->words[0], &end, gpu) || *end != 0 || *gpu > INT32_MAX) {
        return ctl_wrong(ADMIN_USAGE, "GPU %s: give its number, as `gpuaasctl gpus` shows it",
                         line->words[0]);
    }
    return ADMIN_OK;
}

enum admin_code ctl_policy_show(const struct ctl_line *line)
{
    json_t *items;
    struct policy_columns made;
    uint64_t gpu = 0;
    enum admin_code code = line->word_count != 0 ? policy_gpu_read(line, &gpu) : ADMIN_OK;
    if (code == ADMIN_OK) {
        code = ctl_ask_list(line, "policy.list", NULL, &items);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    policy_columns_make(&made);
    json_t *one = line->word_count != 0 ? json_array_get(items, (size_t)gpu) : NULL;
    if (line->word_count == 0) {
        code = ctl_print_list(line, "PolicyList", made.columns, made.count, items);
    } else if (one == NULL) {
        code = ctl_wrong(ADMIN_NOT_FOUND, "the node has no GPU %s", line->words[0]);
    } else {
        code = ctl_print_object(line, "Policy", made.columns, made.count, one);
    }
    json_decref(items);
    return code;
}

enum admin_code ctl_policy_set(const struct ctl_line *line)
{
    uint64_t gpu = 0;
    char name[40];
    enum admin_code code = policy_gpu_read(line, &gpu);
    if (code != ADMIN_OK) {
        return code;
    }
    json_t *arguments = json_pack("{s:I, s:s, s:o}", "gpu", (json_int_t)gpu, "policy",
                                  line->words[1], "set", ctl_verb_words(line, 2));
    snprintf(name, sizeof name, "GPU %u", (unsigned)gpu);
    return ctl_verb_change_checked(line, "policy.set", arguments, "PolicyChange", name);
}
