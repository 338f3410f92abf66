/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about trust groups. */
#include "ctl/verb.h"

static const struct ctl_column columns[] = {
    {"GROUP", "name", FORM_TEXT, false},
    {"TENANTS", "tenants", FORM_LIST, false},
    {"GENERATION", "generation", FORM_COUNT, true},
    {"DESCRIPTION", "description", FORM_TEXT, false},
};

enum admin_code ctl_group_list(const struct ctl_line *line)
{
    return ctl_verb_list(line, "group.list", NULL, "GroupList", columns, CTL_COUNT(columns));
}

static enum admin_code group_ask(const struct ctl_line *line, const char *verb)
{
    json_t *arguments = json_pack("{s:s}", "name", line->words[0]);
    if (line->word_count > 1) {
        (void)json_object_set_new(arguments, "tenant", json_string(line->words[1]));
    }
    ctl_verb_option(line, arguments, "description", OPTION_DESCRIPTION);
    return ctl_verb_change_checked(line, verb, arguments, "GroupChange", line->words[0]);
}

enum admin_code ctl_group_add(const struct ctl_line *line)
{
    return group_ask(line, "group.add");
}

enum admin_code ctl_group_join(const struct ctl_line *line)
{
    return group_ask(line, "group.join");
}

enum admin_code ctl_group_leave(const struct ctl_line *line)
{
    return group_ask(line, "group.leave");
}

enum admin_code ctl_group_remove(const struct ctl_line *line)
{
    enum admin_code code = ctl_confirm(line, "remove the group %s", line->words[0]);
    return code == ADMIN_OK ? group_ask(line, "group.remove") : code;
}
