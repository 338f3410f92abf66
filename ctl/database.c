/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the database of gpuaasd, where it lies: backup and check while it is used, restore
 * while gpuaasd is stopped. */
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "ctl/value.h"
#include "ctl/verb.h"
#include "store/store.h"

/* The path of --store, or that of the gpuaasd that answers. */
static enum admin_code database_path(const struct ctl_line *line, char *path, size_t size)
{
    json_t *result;
    struct ctl_line looks = *line;
    looks.options[OPTION_DRY_RUN] = NULL; /* this verb changes nothing */
    if (ctl_has(line, OPTION_STORE)) {
        snprintf(path, size, "%s", line->options[OPTION_STORE]);
        return ADMIN_OK;
    }
    if (ctl_is_remote(line)) {
        return ctl_wrong(ADMIN_USAGE,
                         "the database lies on the machine of gpuaasd: run this command there");
    }
    enum admin_code code = ctl_ask(&looks, "config.show", NULL, &result);
    if (code != ADMIN_OK) {
        return code;
    }
    const char *found =
        json_string_value(json_object_get(ctl_value_at(result, "sections.server"), "store"));
    snprintf(path, size, "%s", found != NULL ? found : "");
    json_decref(result);
    return path[0] != 0 ? ADMIN_OK
                        : ctl_wrong(ADMIN_NOT_FOUND,
                                    "this gpuaasd has its database in memory (key store): there "
                                    "is no file; --store FILE names one");
}

static enum admin_code database_code(enum ga_status status, const char *why)
{
    switch (status) {
    case GA_OK:
        return ADMIN_OK;
    case GA_NOT_FOUND:
        return ctl_wrong(ADMIN_NOT_FOUND, "%s", why);
    case GA_DENIED:
        return ctl_wrong(ADMIN_DENIED, "%s", why);
    case GA_CONFLICT:
        return ctl_wrong(ADMIN_CONFLICT, "%s", why);
    default:
        return ctl_wrong(ADMIN_ERROR, "%s", why);
    }
}

enum admin_code ctl_db_backup(const struct ctl_line *line)
{
    char path[CONF_TEXT_MAX * 8], why[600] = "";
    struct store *store;
    enum admin_code code = database_path(line, path, sizeof path);
    if (code == ADMIN_OK) {
        code = database_code(store_open_to_copy(path, &store, why, sizeof why), why);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    bool dry = ctl_has(line, OPTION_DRY_RUN);
    enum ga_status status =
        dry ? store_backup_try(store, line->words[0]) : store_backup(store, line->words[0]);
    code = database_code(status, status != GA_OK ? store_why(store) : "");
    store_close(store);
    if (code == ADMIN_OK) {
        ctl_note(line, "%s %s a copy of %s%s", line->words[0], dry ? "would be" : "is", path,
                 dry ? " (dry run: nothing is done)" : "");
    }
    return code;
}

static void finding_take(void *user, const char *text)
{
    (void)json_array_append_new(user, json_string(text));
}

enum admin_code ctl_db_check(const struct ctl_line *line)
{
    char path[CONF_TEXT_MAX * 8], why[600] = "";
    unsigned count = 0;
    enum admin_code code = ADMIN_OK;
    if (line->word_count != 0) {
        snprintf(path, sizeof path, "%s", line->words[0]);
    } else {
        code = database_path(line, path, sizeof path);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    json_t *findings = json_array();
    code =
        database_code(store_check_file(path, finding_take, findings, &count, why, sizeof why), why);
    if (code == ADMIN_OK && ctl_has(line, OPTION_JSON)) {
        json_t *object = json_pack("{s:s, s:O}", "path", path, "findings", findings);
        code = ctl_print_json("DatabaseCheck", object);
        json_decref(object);
    }
    for (size_t i = 0; code == ADMIN_OK && i < json_array_size(findings); i++) {
        (void)ctl_wrong(ADMIN_ERROR, "%s: %s", path,
                        json_string_value(json_array_get(findings, i)));
    }
    json_decref(findings);
    if (code == ADMIN_OK && count == 0) {
        ctl_note(line, "%s is sound", path);
    }
    return code == ADMIN_OK && count != 0 ? ADMIN_ERROR : code;
}

enum admin_code ctl_db_restore(const struct ctl_line *line)
{
    char why[600] = "";
    const char *path = line->options[OPTION_STORE];
    if (path == NULL) {
        return ctl_wrong(ADMIN_USAGE, "db restore needs --store FILE: the database of gpuaasd, "
                                      "which must be stopped (key store of its configuration)");
    }
    bool had = access(path, F_OK) == 0;
    enum admin_code code =
        ctl_confirm(line, "put %s in the place of the database %s", line->words[0], path);
    if (code == ADMIN_OK) {
        bool dry = ctl_has(line, OPTION_DRY_RUN);
        code = database_code(dry ? store_restore_try(path, line->words[0], why, sizeof why)
                                 : store_restore(path, line->words[0], why, sizeof why),
                             why);
    }
    if (code == ADMIN_OK && ctl_has(line, OPTION_DRY_RUN)) {
        ctl_note(line, "%s would be put in the place of %s (dry run: nothing is done)",
                 line->words[0], path);
    } else if (code == ADMIN_OK) {
        ctl_note(line,
                 had ? "%s is the copy now; what it was is %s.replaced"
                     : "%s is the copy now; there was none before",
                 path, path);
    }
    return code;
}
