/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about tenants. */
#include "ctl/verb.h"

static const struct ctl_column list_columns[] = {
    {"TENANT", "name", FORM_TEXT, false},
    {"STATE", "state", FORM_TEXT, false},
    {"SESSIONS", "used.sessions|limits.sessions", FORM_COUNT_OF, false},
    {"GPU MEMORY", "used.gpu_mem_bytes|limits.gpu_mem_bytes", FORM_BYTES_OF, false},
    {"GPU TIME (MONTH)", "used.gpu_time_month_ms|limits.gpu_time_month_ms", FORM_HOURS_OF, false},
    {"GPU TIME (DAY)", "used.gpu_time_day_ms|limits.gpu_time_day_ms", FORM_HOURS_OF, true},
    {"GPUS", "limits.gpus", FORM_COUNT, true},
    {"SHARE", "limits.share", FORM_COUNT, true},
    {"CAP %", "limits.compute_cap_percent", FORM_COUNT, true},
    {"ISOLATION", "isolation", FORM_TEXT, false},
    {"CREDS", "credentials", FORM_COUNT, false},
    {"GENERATION", "generation", FORM_COUNT, true},
    {"DESCRIPTION", "description", FORM_TEXT, true},
};

static const struct ctl_column show_columns[] = {
    {"tenant", "name", FORM_TEXT, false},
    {"description", "description", FORM_TEXT, false},
    {"state", "state", FORM_TEXT, false},
    {"reason", "reason", FORM_TEXT, false},
    {"generation", "generation", FORM_COUNT, false},
    {"sessions", "used.sessions|limits.sessions", FORM_COUNT_OF, false},
    {"gpu-mem", "used.gpu_mem_bytes|limits.gpu_mem_bytes", FORM_BYTES_OF, false},
    {"gpu-mem-per-gpu", "limits.gpu_mem_per_gpu_bytes", FORM_BYTES, false},
    {"gpus", "limits.gpus", FORM_COUNT, false},
    {"GPU time of the day", "used.gpu_time_day_ms|limits.gpu_time_day_ms", FORM_HOURS_OF, false},
    {"GPU time of the month", "used.gpu_time_month_ms|limits.gpu_time_month_ms", FORM_HOURS_OF,
     false},
    {"on-exhausted", "on_exhausted", FORM_TEXT, false},
    {"bandwidth-in (per s)", "limits.bandwidth_in_bytes_per_second", FORM_BYTES, false},
    {"bandwidth-out (per s)", "limits.bandwidth_out_bytes_per_second", FORM_BYTES, false},
    {"call-rate (per s)", "limits.call_rate_per_second", FORM_COUNT, false},
    {"kernel-time", "limits.kernel_time_ms", FORM_DURATION_MS, false},
    {"host-pinned", "limits.host_pinned_bytes", FORM_BYTES, false},
    {"module-bytes", "limits.module_bytes", FORM_BYTES, false},
    {"objects", "limits.objects", FORM_COUNT, false},
    {"idle-timeout", "limits.idle_timeout_ms", FORM_DURATION_MS, false},
    {"wall-time", "limits.wall_time_ms", FORM_DURATION_MS, false},
    {"share", "limits.share", FORM_COUNT, false},
    {"priority", "limits.priority", FORM_COUNT, false},
    {"latency-goal", "limits.latency_goal_ms", FORM_DURATION_MS, false},
    {"compute-cap (per cent)", "limits.compute_cap_percent", FORM_COUNT, false},
    {"throttle (per cent)", "limits.throttle_percent", FORM_COUNT, false},
    {"gpu-types", "gpu_types", FORM_LIST, false},
    {"isolation", "isolation", FORM_TEXT, false},
    {"users", "users", FORM_LIST, false},
    {"credentials", "credentials", FORM_COUNT, false},
    {"created", "created", FORM_TIME, false},
    {"changed", "changed", FORM_TIME, false},
};

static json_t *tenant_named(const struct ctl_line *line)
{
    return json_pack("{s:s}", "name", line->words[0]);
}

enum admin_code ctl_tenant_list(const struct ctl_line *line)
{
    return ctl_verb_list(line, "tenant.list", NULL, "TenantList", list_columns,
                         CTL_COUNT(list_columns));
}

enum admin_code ctl_tenant_show(const struct ctl_line *line)
{
    return ctl_verb_show(line, "tenant.show", tenant_named(line), "Tenant", show_columns,
                         CTL_COUNT(show_columns));
}

enum admin_code ctl_tenant_add(const struct ctl_line *line)
{
    json_t *arguments = tenant_named(line);
    (void)json_object_set_new(arguments, "set", ctl_verb_words(line, 1));
    ctl_verb_option(line, arguments, "description", OPTION_DESCRIPTION);
    return ctl_verb_change(line, "tenant.add", arguments, "TenantChange", line->words[0]);
}

/* A change of one tenant that is read again only if the generation is given. */
static enum admin_code tenant_change(const struct ctl_line *line, const char *verb,
                                     json_t *arguments)
{
    return ctl_verb_change_checked(line, verb, arguments, "TenantChange", line->words[0]);
}

enum admin_code ctl_tenant_set_quota(const struct ctl_line *line)
{
    json_t *arguments = tenant_named(line);
    (void)json_object_set_new(arguments, "set", ctl_verb_words(line, 1));
    return tenant_change(line, "tenant.set-quota", arguments);
}

enum admin_code ctl_tenant_describe(const struct ctl_line *line)
{
    json_t *arguments = tenant_named(line);
    (void)json_object_set_new(arguments, "description", json_string(line->words[1]));
    return tenant_change(line, "tenant.describe", arguments);
}

enum admin_code ctl_tenant_suspend(const struct ctl_line *line)
{
    json_t *arguments;
    if (!ctl_has(line, OPTION_REASON)) {
        return ctl_wrong(ADMIN_USAGE, "tenant suspend needs --reason TEXT: its programs are told");
    }
    arguments = tenant_named(line);
    ctl_verb_option(line, arguments, "reason", OPTION_REASON);
    if (ctl_has(line, OPTION_KILL)) {
        (void)json_object_set_new(arguments, "kill", json_true());
    }
    return tenant_change(line, "tenant.suspend", arguments);
}

enum admin_code ctl_tenant_resume(const struct ctl_line *line)
{
    return tenant_change(line, "tenant.resume", tenant_named(line));
}

enum admin_code ctl_tenant_remove(const struct ctl_line *line)
{
    json_t *arguments;
    enum admin_code code = ctl_confirm(
        line, "remove the tenant %s; its credentials will not be valid any more", line->words[0]);
    if (code != ADMIN_OK) {
        return code;
    }
    arguments = tenant_named(line);
    if (ctl_has(line, OPTION_FORCE)) {
        (void)json_object_set_new(arguments, "force", json_true());
    }
    return tenant_change(line, "tenant.remove", arguments);
}

enum admin_code ctl_tenant_rename(const struct ctl_line *line)
{
    json_t *arguments = tenant_named(line);
    (void)json_object_set_new(arguments, "new_name", json_string(line->words[1]));
    return tenant_change(line, "tenant.rename", arguments);
}
