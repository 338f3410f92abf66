/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about tenants. */
#include <string.h>

#include "ctl/value.h"
#include "ctl/verb.h"

static enum ctl_used tenant_used(enum limit limit)
{
    bool tells = limit == LIMIT_SESSIONS || limit == LIMIT_GPU_MEM || limit == LIMIT_GPU_TIME_DAY ||
                 limit == LIMIT_GPU_TIME_MONTH;
    return tells ? CTL_USED_TENANT : CTL_USED_UNTOLD;
}

static const struct ctl_column list_head[] = {
    {"TENANT", "name", FORM_TEXT, false},
    {"STATE", "state", FORM_TEXT, false},
};

static const struct {
    enum limit limit;
    const char *title;
    bool wide;
} list_limits[] = {
    {LIMIT_SESSIONS, "SESSIONS", false},
    {LIMIT_GPU_MEM, "GPU MEMORY", false},
    {LIMIT_GPU_TIME_MONTH, "GPU TIME (MONTH)", false},
    {LIMIT_GPU_TIME_DAY, "GPU TIME (DAY)", true},
    {LIMIT_GPUS, "GPUS", true},
    {LIMIT_SHARE, "SHARE", true},
    {LIMIT_COMPUTE_CAP, "CAP %", true},
};

static const struct ctl_column list_tail[] = {
    {"ISOLATION", "isolation", FORM_TEXT, false},
    {"CREDS", "credentials", FORM_COUNT, false},
    {"GENERATION", "generation", FORM_COUNT, true},
    {"DESCRIPTION", "description", FORM_TEXT, true},
};

static const struct ctl_column show_head[] = {
    {"tenant", "name", FORM_TEXT, false},
    {"description", "description", FORM_TEXT, false},
    {"state", "state", FORM_TEXT, false},
    {"reason", "reason", FORM_TEXT, false},
    {"generation", "generation", FORM_COUNT, false},
};

static const struct ctl_column show_tail[] = {
    {"on-exhausted", "on_exhausted", FORM_TEXT, false},
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
    struct ctl_column columns[CTL_COUNT(list_head) + CTL_COUNT(list_limits) + CTL_COUNT(list_tail)];
    size_t count = CTL_COUNT(list_head);
    memcpy(columns, list_head, sizeof list_head);
    for (size_t i = 0; i < CTL_COUNT(list_limits); i++) {
        enum limit limit = list_limits[i].limit;
        columns[count++] = ctl_setting_column(limit, tenant_used(limit), list_limits[i].title,
                                              list_limits[i].wide);
    }
    memcpy(columns + count, list_tail, sizeof list_tail);
    return ctl_verb_list(line, "tenant.list", NULL, "TenantList", columns, CTL_COUNT(columns));
}

enum admin_code ctl_tenant_show(const struct ctl_line *line)
{
    struct ctl_column columns[CTL_COUNT(show_head) + LIMIT_COUNT + CTL_COUNT(show_tail)];
    size_t count = CTL_COUNT(show_head);
    memcpy(columns, show_head, sizeof show_head);
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        columns[count++] = ctl_setting_column(limit, tenant_used(limit), NULL, false);
    }
    memcpy(columns + count, show_tail, sizeof show_tail);
    return ctl_verb_show(line, "tenant.show", tenant_named(line), "Tenant", columns,
                         CTL_COUNT(columns));
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
