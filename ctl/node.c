/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the node: health, gpus, version. */
#include <string.h>
#include <strings.h>

#include "base/digits.h"
#include "ctl/ctl.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct ctl_column health_columns[] = {
    {"state", "state", FORM_TEXT, false},
    {"ready", "ready", FORM_FLAG, false},
    {"problems", "problems", FORM_LIST, false},
    {"reason", "reason", FORM_TEXT, false},
    {"time left", "deadline_ms", FORM_DURATION_MS, false},
    {"version", "version", FORM_TEXT, false},
    {"node", "node", FORM_TEXT, false},
    {"pool", "pool", FORM_TEXT, false},
    {"pid", "pid", FORM_COUNT, false},
    {"listeners", "listeners", FORM_LIST, false},
    {"GPUs", "gpus", FORM_COUNT, false},
    {"GPUs left out", "gpus_left_out", FORM_COUNT, false},
    {"GPUs that have failed", "gpus_failed", FORM_COUNT, false},
    {"sessions", "sessions", FORM_COUNT, false},
    {"backend processes", "backend_processes", FORM_COUNT, false},
    {"spare processes", "spare_backends", FORM_COUNT, false},
    {"pending connections", "pending_connections", FORM_COUNT, false},
    {"images", "image_bytes", FORM_BYTES, false},
};

enum admin_code ctl_node_health(const struct ctl_line *line)
{
    json_t *result;
    enum admin_code code = ctl_ask(line, "health", NULL, &result);
    if (code != ADMIN_OK) {
        return code;
    }
    const char *state = json_string_value(json_object_get(result, "state"));
    bool whole = state != NULL && strcmp(state, "serving") == 0 &&
                 !json_is_false(json_object_get(result, "ready")) &&
                 json_array_size(json_object_get(result, "problems")) == 0 &&
                 json_integer_value(json_object_get(result, "gpus_left_out")) == 0 &&
                 json_integer_value(json_object_get(result, "gpus_failed")) == 0;
    code = ctl_print_object(line, "Health", health_columns, COUNT(health_columns), result);
    json_decref(result);
    return code == ADMIN_OK && !whole ? ADMIN_ERROR : code;
}

static const struct ctl_column gpu_columns[] = {
    {"GPU", "gpu", FORM_COUNT, false},
    {"UUID", "uuid", FORM_TEXT, true},
    {"NODE", "node", FORM_TEXT, false},
    {"MODEL", "model", FORM_TEXT, false},
    {"DRIVER", "driver", FORM_TEXT, true},
    {"STATE", "state", FORM_TEXT, false},
    {"REASON", "reason", FORM_TEXT, true},
    {"HEALTH", "health", FORM_TEXT, false},
    {"FAILURE", "health_reason", FORM_TEXT, true},
    {"MEMORY", "memory_used_bytes|memory_total_bytes", FORM_BYTES_OF, false},
    {"SESSIONS", "sessions", FORM_COUNT, false},
    {"TENANTS", "tenants", FORM_COUNT, false},
};

static bool is_gpu(json_t *gpu, const char *wanted)
{
    uint64_t number;
    const char *end, *uuid = json_string_value(json_object_get(gpu, "uuid"));
    json_t *own = json_object_get(gpu, "gpu");
    if (ga_digits_read(wanted, &end, &number) && *end == 0) {
        return json_is_integer(own) && (uint64_t)json_integer_value(own) == number;
    }
    return uuid != NULL && strcasecmp(uuid, wanted) == 0;
}

enum admin_code ctl_node_gpus(const struct ctl_line *line)
{
    json_t *items, *chosen;
    enum admin_code code = ctl_ask_list(line, "gpus", NULL, &items);
    if (code != ADMIN_OK) {
        return code;
    }
    chosen = line->word_count != 0 ? json_array() : json_incref(items);
    for (size_t i = 0; line->word_count != 0 && i < json_array_size(items); i++) {
        if (is_gpu(json_array_get(items, i), line->words[0])) {
            (void)json_array_append(chosen, json_array_get(items, i));
        }
    }
    code = json_array_size(chosen) != 0 || line->word_count == 0
               ? ctl_print_list(line, "GpuList", gpu_columns, COUNT(gpu_columns), chosen)
               : ctl_wrong(ADMIN_NOT_FOUND, "the node has no GPU %s", line->words[0]);
    json_decref(chosen);
    json_decref(items);
    return code;
}

enum admin_code ctl_node_version(const struct ctl_line *line)
{
    if (!ctl_has(line, OPTION_JSON)) {
        puts("gpuaasctl " GPUAAS_VERSION);
        return ADMIN_OK;
    }
    json_t *object = json_pack("{s:s}", "version", GPUAAS_VERSION);
    enum admin_code code = ctl_print_json("Version", object);
    json_decref(object);
    return code;
}
