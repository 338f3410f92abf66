/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about who may use a GPU when. */
#include "base/digits.h"
#include "ctl/verb.h"

static const struct ctl_column list_columns[] = {
    {"GPU", "gpu", FORM_COUNT, false},
    {"UUID", "uuid", FORM_TEXT, true},
    {"MODEL", "model", FORM_TEXT, false},
    {"POLICY", "policy", FORM_TEXT, false},
    {"SLICE", "slice_ns", FORM_NS, false},
    {"EPOCH", "epoch_ns", FORM_NS, false},
    {"HORIZON", "horizon_ns", FORM_NS, false},
    {"HOLD", "hold_ns", FORM_NS, false},
    {"QUANTUM", "quantum_ns", FORM_NS, true},
    {"CAP WINDOW", "cap_window_ns", FORM_NS, true},
    {"GENERATION", "generation", FORM_COUNT, true},
};

static const struct ctl_column show_columns[] = {
    {"GPU", "gpu", FORM_COUNT, false},
    {"UUID", "uuid", FORM_TEXT, false},
    {"model", "model", FORM_TEXT, false},
    {"generation", "generation", FORM_COUNT, false},
    {"policy", "policy", FORM_TEXT, false},
    {"slice", "slice_ns", FORM_NS, false},
    {"epoch", "epoch_ns", FORM_NS, false},
    {"quantum", "quantum_ns", FORM_NS, false},
    {"horizon", "horizon_ns", FORM_NS, false},
    {"hold", "hold_ns", FORM_NS, false},
    {"patience", "patience_ns", FORM_NS, false},
    {"group_slice", "group_slice_ns", FORM_NS, false},
    {"group_excess", "group_excess", FORM_COUNT, false},
    {"aging", "aging_ns", FORM_NS, false},
    {"passed_max", "passed_max", FORM_COUNT, false},
    {"las_passed_max", "las_passed_max", FORM_COUNT, false},
    {"bandwidth_percent", "bandwidth_percent", FORM_COUNT, false},
    {"batch_percent", "batch_percent", FORM_COUNT, false},
    {"cap_window", "cap_window_ns", FORM_NS, false},
};

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
    uint64_t gpu = 0;
    enum admin_code code = line->word_count != 0 ? policy_gpu_read(line, &gpu) : ADMIN_OK;
    if (code == ADMIN_OK) {
        code = ctl_ask_list(line, "policy.list", NULL, &items);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    json_t *one = line->word_count != 0 ? json_array_get(items, (size_t)gpu) : NULL;
    if (line->word_count == 0) {
        code = ctl_print_list(line, "PolicyList", list_columns, CTL_COUNT(list_columns), items);
    } else if (one == NULL) {
        code = ctl_wrong(ADMIN_NOT_FOUND, "the node has no GPU %s", line->words[0]);
    } else {
        code = ctl_print_object(line, "Policy", show_columns, CTL_COUNT(show_columns), one);
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
