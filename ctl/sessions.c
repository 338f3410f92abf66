/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about sessions. */
#include <string.h>

#include "base/digits.h"
#include "ctl/ctl.h"
#include "ctl/monitor.h"
#include "ctl/value.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct ctl_column list_columns[] = {
    {"SESSION", "id", FORM_ID, false},
    {"TENANT", "tenant", FORM_TEXT, false},
    {"USER", "user", FORM_TEXT, false},
    {"PROGRAM", "program", FORM_TEXT, false},
    {"ADDRESS", "address", FORM_TEXT, true},
    {"GPUS", "gpus", FORM_LIST, false},
    {"STATE", "state", FORM_TEXT, false},
    {"TURN", "turn", FORM_TEXT, false},
    {"MEMORY", "gpu_mem_bytes", FORM_BYTES, false},
    {"HOST MEMORY", "host_mem_bytes", FORM_BYTES, true},
    {"AGE", "age_ms", FORM_DURATION_MS, false},
    {"IN", "in_bytes", FORM_BYTES, true},
    {"OUT", "out_bytes", FORM_BYTES, true},
    {"TRANSPORT", "transport", FORM_TEXT, true},
};

static const struct ctl_column show_columns[] = {
    {"session", "id", FORM_TEXT, false},
    {"tenant", "tenant", FORM_TEXT, false},
    {"user", "user", FORM_TEXT, false},
    {"program", "program", FORM_TEXT, false},
    {"address", "address", FORM_TEXT, false},
    {"transport", "transport", FORM_TEXT, false},
    {"state", "state", FORM_TEXT, false},
    {"age", "age_ms", FORM_DURATION_MS, false},
    {"wall time", "wall_time_ms", FORM_DURATION_MS, false},
    {"GPUs", "gpus", FORM_LIST, false},
    {"GPU memory", "gpu_mem_bytes", FORM_BYTES, false},
    {"host memory", "host_mem_bytes", FORM_BYTES, false},
    {"shared memory", "shared_bytes", FORM_BYTES, false},
    {"bytes in", "in_bytes", FORM_BYTES, false},
    {"bytes out", "out_bytes", FORM_BYTES, false},
    {"backend processes", "backend_processes", FORM_COUNT, false},
    {"contexts", "objects.contexts", FORM_COUNT, false},
    {"streams", "objects.streams", FORM_COUNT, false},
    {"events", "objects.events", FORM_COUNT, false},
    {"modules", "objects.modules", FORM_COUNT, false},
    {"functions", "objects.functions", FORM_COUNT, false},
    {"graphs", "objects.graphs", FORM_COUNT, false},
};

struct filter {
    const char *state, *tenant;
    bool by_gpu;
    uint64_t gpu, older_ms;
};

static enum admin_code filter_read(const struct ctl_line *line, struct filter *filter)
{
    const char *end, *gpu = line->options[OPTION_GPU];
    *filter = (struct filter){.state = line->options[OPTION_STATE],
                              .tenant = line->options[OPTION_TENANT],
                              .by_gpu = gpu != NULL};
    if (filter->state != NULL && strcmp(filter->state, "active") != 0 &&
        strcmp(filter->state, "idle") != 0) {
        return ctl_wrong(ADMIN_USAGE, "--state %s: it is active or idle", filter->state);
    }
    if (gpu != NULL && (!ga_digits_read(gpu, &end, &filter->gpu) || *end != 0)) {
        return ctl_wrong(ADMIN_USAGE, "--gpu %s: give its number, as `gpuaasctl gpus` shows it",
                         gpu);
    }
    enum admin_code code =
        ctl_option_duration(line, OPTION_OLDER, 0, CTL_DURATION_MAX, &filter->older_ms);
    filter->older_ms *= 1000;
    return code;
}

static bool filter_passes(const struct filter *filter, json_t *session)
{
    const char *state = json_string_value(json_object_get(session, "state"));
    const char *tenant = json_string_value(json_object_get(session, "tenant"));
    json_t *gpus = json_object_get(session, "gpus"), *gpu;
    bool uses = !filter->by_gpu;
    size_t at;
    json_array_foreach(gpus, at, gpu)
    {
        uses = uses || (uint64_t)json_integer_value(gpu) == filter->gpu;
    }
    return uses &&
           (filter->state == NULL || (state != NULL && strcmp(state, filter->state) == 0)) &&
           (filter->tenant == NULL || (tenant != NULL && strcmp(tenant, filter->tenant) == 0)) &&
           (uint64_t)json_integer_value(json_object_get(session, "age_ms")) >= filter->older_ms;
}

enum admin_code ctl_sessions_list(const struct ctl_line *line)
{
    struct filter filter;
    json_t *items, *chosen;
    enum admin_code code = filter_read(line, &filter);
    if (code == ADMIN_OK) {
        code = ctl_ask_list(line, "session.list", NULL, &items);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    chosen = json_array();
    for (size_t i = 0; i < json_array_size(items); i++) {
        if (filter_passes(&filter, json_array_get(items, i))) {
            (void)json_array_append(chosen, json_array_get(items, i));
        }
    }
    code = ctl_print_list(line, "SessionList", list_columns, COUNT(list_columns), chosen);
    json_decref(chosen);
    json_decref(items);
    return code;
}

enum admin_code ctl_sessions_show(const struct ctl_line *line)
{
    json_t *result;
    enum admin_code code =
        ctl_ask(line, "session.show", json_pack("{s:s}", "id", line->words[0]), &result);
    if (code == ADMIN_OK) {
        json_t *session = json_object_get(result, "item");
        code = ctl_print_object(line, "Session", show_columns, COUNT(show_columns), session);
        if (code == ADMIN_OK && !ctl_has(line, OPTION_JSON)) {
            code = ctl_monitor_print(line, json_object_get(session, "use"));
        }
        json_decref(result);
    }
    return code;
}

enum admin_code ctl_sessions_kill(const struct ctl_line *line)
{
    json_t *result, *arguments = json_pack("{s:s}", "id", line->words[0]);
    enum admin_code code = ctl_confirm(line, "end the session %s", line->words[0]);
    if (code == ADMIN_OK && ctl_has(line, OPTION_REASON)) {
        (void)json_object_set_new(arguments, "reason", json_string(line->options[OPTION_REASON]));
    }
    if (code != ADMIN_OK) {
        json_decref(arguments);
        return code;
    }
    code = ctl_ask(line, "session.kill", arguments, &result);
    if (code == ADMIN_OK) {
        code = ctl_print_change(line, "SessionChange", line->words[0], result);
        json_decref(result);
    }
    return code;
}
