/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about users of tenants, and about local users. */
#include <string.h>

#include "base/digits.h"
#include "ctl/value.h"
#include "ctl/verb.h"

static const struct {
    enum limit limit;
    const char *title;
} list_limits[] = {
    {LIMIT_SESSIONS, "SESSIONS"}, {LIMIT_GPU_MEM, "GPU MEMORY"}, {LIMIT_GPUS, "GPUS"}};

static const struct ctl_column list_head[] = {
    {"TENANT", "tenant", FORM_TEXT, false},
    {"USER", "name", FORM_TEXT, false},
    {"STATE", "state", FORM_TEXT, false},
};

static const struct ctl_column list_tail[] = {
    {"GENERATION", "generation", FORM_COUNT, true},
    {"REASON", "reason", FORM_TEXT, true},
};

static json_t *user_named(const struct ctl_line *line)
{
    return json_pack("{s:s, s:s}", "tenant", line->words[0], "name", line->words[1]);
}

static enum admin_code users_change(const struct ctl_line *line, const char *verb,
                                    json_t *arguments)
{
    char name[200];
    snprintf(name, sizeof name, "%s of %s", line->words[1], line->words[0]);
    return ctl_verb_change_checked(line, verb, arguments, "UserChange", name);
}

enum admin_code ctl_user_list(const struct ctl_line *line)
{
    json_t *arguments = line->word_count != 0 ? json_pack("{s:s}", "tenant", line->words[0]) : NULL;
    struct ctl_column columns[CTL_COUNT(list_head) + CTL_COUNT(list_limits) + CTL_COUNT(list_tail)];
    size_t count = CTL_COUNT(list_head);
    memcpy(columns, list_head, sizeof list_head);
    for (size_t i = 0; i < CTL_COUNT(list_limits); i++) {
        columns[count++] =
            ctl_setting_column(list_limits[i].limit, CTL_USED_UNTOLD, list_limits[i].title, false);
    }
    memcpy(columns + count, list_tail, sizeof list_tail);
    return ctl_verb_list(line, "user.list", arguments, "UserList", columns, CTL_COUNT(columns));
}

static enum ctl_used user_used(enum limit limit)
{
    bool tells =
        limit == LIMIT_SESSIONS || limit == LIMIT_GPU_TIME_DAY || limit == LIMIT_GPU_TIME_MONTH;
    return tells ? CTL_USED_USER : CTL_USED_UNTOLD;
}

static const struct ctl_column show_head[] = {
    {"tenant", "tenant", FORM_TEXT, false},
    {"user", "name", FORM_TEXT, false},
    {"description", "description", FORM_TEXT, false},
    {"state", "state", FORM_TEXT, false},
    {"reason", "reason", FORM_TEXT, false},
    {"generation", "generation", FORM_COUNT, false},
};

static const struct ctl_column show_tail[] = {
    {"made", "created", FORM_TIME, false},
    {"changed", "changed", FORM_TIME, false},
};

enum admin_code ctl_user_show(const struct ctl_line *line)
{
    struct ctl_column columns[CTL_COUNT(show_head) + LIMIT_COUNT + CTL_COUNT(show_tail)];
    size_t count = CTL_COUNT(show_head);
    memcpy(columns, show_head, sizeof show_head);
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        if (limits_table[limit].users) {
            columns[count++] = ctl_setting_column(limit, user_used(limit), NULL, false);
        }
    }
    memcpy(columns + count, show_tail, sizeof show_tail);
    count += CTL_COUNT(show_tail);
    return ctl_verb_show(line, "user.show", user_named(line), "User", columns, count);
}

enum admin_code ctl_user_add(const struct ctl_line *line)
{
    json_t *arguments = user_named(line);
    (void)json_object_set_new(arguments, "set", ctl_verb_words(line, 2));
    return users_change(line, "user.add", arguments);
}

enum admin_code ctl_user_set_quota(const struct ctl_line *line)
{
    json_t *arguments = user_named(line);
    (void)json_object_set_new(arguments, "set", ctl_verb_words(line, 2));
    return users_change(line, "user.set-quota", arguments);
}

enum admin_code ctl_user_suspend(const struct ctl_line *line)
{
    json_t *arguments;
    if (!ctl_has(line, OPTION_REASON)) {
        return ctl_wrong(ADMIN_USAGE, "user suspend needs --reason TEXT");
    }
    arguments = user_named(line);
    ctl_verb_option(line, arguments, "reason", OPTION_REASON);
    return users_change(line, "user.suspend", arguments);
}

enum admin_code ctl_user_resume(const struct ctl_line *line)
{
    return users_change(line, "user.resume", user_named(line));
}

enum admin_code ctl_user_remove(const struct ctl_line *line)
{
    enum admin_code code =
        ctl_confirm(line, "remove the user %s of %s; its credentials will not be valid any more",
                    line->words[1], line->words[0]);
    return code == ADMIN_OK ? users_change(line, "user.remove", user_named(line)) : code;
}

/* ---- local users */

static const struct ctl_column local_columns[] = {
    {"KIND", "kind", FORM_TEXT, false},
    {"NUMBER", "number", FORM_COUNT, false},
    {"TENANT", "tenant", FORM_TEXT, false},
    {"USER", "user", FORM_TEXT, false},
};

enum admin_code ctl_local_list(const struct ctl_line *line)
{
    return ctl_verb_list(line, "local.list", NULL, "LocalList", local_columns,
                         CTL_COUNT(local_columns));
}

/* "uid:1000", "gid:100". */
static enum admin_code local_named(const struct ctl_line *line, json_t **arguments)
{
    const char *text = line->words[0], *end;
    uint64_t number;
    bool known = strncmp(text, "uid:", 4) == 0 || strncmp(text, "gid:", 4) == 0;
    if (!known || !ga_digits_read(text + 4, &end, &number) || *end != 0 || number >= UINT32_MAX) {
        return ctl_wrong(ADMIN_USAGE,
                         "%s: give uid:NUMBER or gid:NUMBER (the command id shows "
                         "them)",
                         text);
    }
    *arguments = json_pack("{s:s%, s:I}", "kind", text, (size_t)3, "number", (json_int_t)number);
    return ADMIN_OK;
}

enum admin_code ctl_local_set(const struct ctl_line *line)
{
    json_t *arguments = NULL;
    enum admin_code code = local_named(line, &arguments);
    if (code != ADMIN_OK) {
        return code;
    }
    (void)json_object_set_new(arguments, "tenant", json_string(line->words[1]));
    ctl_verb_option(line, arguments, "user", OPTION_USER);
    return ctl_verb_change(line, "local.set", arguments, "LocalChange", line->words[0]);
}

enum admin_code ctl_local_remove(const struct ctl_line *line)
{
    json_t *arguments = NULL;
    enum admin_code code = local_named(line, &arguments);
    return code == ADMIN_OK
               ? ctl_verb_change(line, "local.remove", arguments, "LocalChange", line->words[0])
               : code;
}
