/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the request monitor of gpuaasd knows: tables about a session, and about programs. */
#include "ctl/monitor.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct ctl_column use_columns[] = {
    {"GPU", "uuid", FORM_ID, false},
    {"PHASE", "phase", FORM_TEXT, false},
    {"TURN", "turn", FORM_TEXT, false},
    {"TURNS", "turns", FORM_COUNT, false},
    {"WAITED", "waited_ms", FORM_DURATION_MS, false},
    {"GPU TIME", "gpu_ms", FORM_DURATION_MS, false},
    {"KERNELS", "compute_ms", FORM_DURATION_MS, false},
    {"COPIES IN", "copy_in_ms", FORM_DURATION_MS, false},
    {"COPIES OUT", "copy_out_ms", FORM_DURATION_MS, false},
    {"LAUNCHES", "launches", FORM_COUNT, false},
    {"IN", "copied_in_bytes", FORM_BYTES, false},
    {"OUT", "copied_out_bytes", FORM_BYTES, false},
    {"BANDWIDTH/S (ESTIMATE)", "bandwidth_estimate_bytes_per_s", FORM_BYTES, false},
    {"DEMAND (ESTIMATE)", "demand_estimate_ms", FORM_DURATION_MS, false},
};

static const struct ctl_column shape_columns[] = {
    {"LAUNCHES (ESTIMATE)", "launches_estimate", FORM_COUNT, false},
    {"GRID", "grid", FORM_LIST, false},
    {"BLOCK", "block", FORM_LIST, false},
    {"SHARED MEMORY", "shared_bytes", FORM_BYTES, false},
    {"% OF GPU", "gpu_share_percent", FORM_COUNT, false},
};

enum admin_code ctl_monitor_print(const struct ctl_line *line, json_t *uses)
{
    enum admin_code code = ADMIN_OK;
    json_t *use;
    size_t at;
    json_array_foreach(uses, at, use)
    {
        json_t *alone = json_pack("[O]", use), *shapes = json_object_get(use, "shapes");
        putchar('\n');
        code = ctl_print_list(line, "", use_columns, COUNT(use_columns), alone);
        json_decref(alone);
        if (code == ADMIN_OK && json_array_size(shapes) != 0) {
            putchar('\n');
            code = ctl_print_list(line, "", shape_columns, COUNT(shape_columns), shapes);
        }
    }
    return code;
}

static const struct ctl_column feedback_columns[] = {
    {"TENANT", "tenant", FORM_TEXT, false},
    {"PROGRAM", "program", FORM_TEXT, false},
    {"MODEL", "model", FORM_TEXT, false},
    {"SESSIONS", "sessions", FORM_COUNT, false},
    {"RUN TIME (MEAN)", "mean_wall_ms", FORM_DURATION_MS, false},
    {"GPU %", "gpu_percent", FORM_COUNT, false},
    {"COPIES %", "transfer_percent", FORM_COUNT, false},
    {"DEMAND % (ESTIMATE)", "demand_estimate_percent", FORM_COUNT, false},
    {"BANDWIDTH/S (ESTIMATE)", "bandwidth_estimate_bytes_per_s", FORM_BYTES, false},
    {"LAUNCHES", "launches", FORM_COUNT, true},
    {"IN", "copied_in_bytes", FORM_BYTES, true},
    {"OUT", "copied_out_bytes", FORM_BYTES, true},
};

enum admin_code ctl_feedback(const struct ctl_line *line)
{
    json_t *items, *arguments = json_object();
    if (line->word_count != 0) {
        (void)json_object_set_new(arguments, "tenant", json_string(line->words[0]));
    }
    enum admin_code code = ctl_ask_list(line, "feedback", arguments, &items);
    if (code == ADMIN_OK) {
        code =
            ctl_print_list(line, "FeedbackList", feedback_columns, COUNT(feedback_columns), items);
        json_decref(items);
    }
    return code;
}
