/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the configuration. */
#include "conf/conf.h"
#include "ctl/ctl.h"

enum admin_code ctl_config_show(const struct ctl_line *line)
{
    json_t *result, *members, *value;
    const char *section, *key;
    bool first = true;
    enum admin_code code = ctl_ask(line, "config.show", NULL, &result);
    if (code != ADMIN_OK) {
        return code;
    }
    if (ctl_has(line, OPTION_JSON)) {
        code = ctl_print_json("Configuration", result);
    } else {
        json_object_foreach(json_object_get(result, "sections"), section, members)
        {
            printf("%s[%s]\n", first ? "" : "\n", section);
            first = false;
            json_object_foreach(members, key, value)
            {
                printf("%s = %s\n", key, json_string_value(value));
            }
        }
    }
    json_decref(result);
    return code;
}

static void config_complain(void *user, const char *text)
{
    (void)user;
    (void)ctl_wrong(ADMIN_ERROR, "%s", text);
}

enum admin_code ctl_config_check(const struct ctl_line *line)
{
    static struct conf conf;
    if (conf_read_file(line->words[0], &conf, config_complain, NULL) != GA_OK) {
        return ADMIN_ERROR;
    }
    ctl_note(line, "%s: ok", line->words[0]);
    return ADMIN_OK;
}
