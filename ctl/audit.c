/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the audit log (auth/audit.h): its files are read here, where they lie. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "auth/auth.h"
#include "base/digits.h"
#include "ctl/value.h"
#include "ctl/verb.h"

#define TAIL_LINES     20u
#define TAIL_LINES_MAX 100000u
#define LOOK_MS        300

/* The folder of --log, or that of the gpuaasd that answers. */
static enum admin_code audit_folder(const struct ctl_line *line, char *folder, size_t size)
{
    json_t *result;
    if (ctl_has(line, OPTION_LOG)) {
        snprintf(folder, size, "%s", line->options[OPTION_LOG]);
        return ADMIN_OK;
    }
    if (ctl_is_remote(line)) {
        return ctl_wrong(ADMIN_USAGE,
                         "the audit log lies on the machine of gpuaasd: run this command there");
    }
    enum admin_code code = ctl_ask(line, "config.show", NULL, &result);
    if (code != ADMIN_OK) {
        return code;
    }
    const char *found =
        json_string_value(json_object_get(ctl_value_at(result, "sections.server"), "audit_log"));
    snprintf(folder, size, "%s", found != NULL ? found : "");
    json_decref(result);
    return folder[0] != 0
               ? ADMIN_OK
               : ctl_wrong(ADMIN_NOT_FOUND, "this gpuaasd writes no audit log (key audit_log); "
                                            "--log FOLDER names one");
}

/* ---- verify */

struct findings {
    json_t *items;
    bool print;
};

static void finding_add(void *user, const char *file, uint64_t number, const char *text)
{
    struct findings *findings = user;
    if (findings->print) {
        (void)ctl_wrong(ADMIN_ERROR, "%s:%" PRIu64 ": %s", file, number, text);
    }
    (void)json_array_append_new(findings->items, json_pack("{s:s, s:I, s:s}", "file", file, "line",
                                                           (json_int_t)number, "text", text));
}

static const struct ctl_column verify_columns[] = {
    {"files", "files", FORM_COUNT, false},
    {"lines", "lines", FORM_COUNT, false},
    {"first number", "first", FORM_COUNT, false},
    {"last number", "last", FORM_COUNT, false},
    {"lines cut by a crash", "torn", FORM_COUNT, false},
    {"hash of the last", "hash", FORM_TEXT, false},
};

enum admin_code ctl_audit_verify(const struct ctl_line *line)
{
    char folder[4096], why[AUTH_WHY_BYTES] = "";
    struct auth_audit_summary summary;
    struct findings findings = {.print = !ctl_has(line, OPTION_JSON)};
    enum admin_code code = audit_folder(line, folder, sizeof folder);
    if (code != ADMIN_OK) {
        return code;
    }
    findings.items = json_array();
    enum ga_status status =
        auth_audit_verify(folder, finding_add, &findings, &summary, why, sizeof why);
    if (status != GA_OK) {
        json_decref(findings.items);
        return ctl_wrong(status == GA_NOT_FOUND ? ADMIN_NOT_FOUND : ADMIN_ERROR, "%s", why);
    }
    json_t *object =
        json_pack("{s:i, s:I, s:I, s:I, s:I, s:s, s:o}", "files", (int)summary.files, "lines",
                  (json_int_t)summary.lines, "first", (json_int_t)summary.first, "last",
                  (json_int_t)summary.last, "torn", (json_int_t)summary.torn, "hash", summary.hash,
                  "findings", findings.items);
    code = ctl_print_object(line, "AuditVerification", verify_columns, CTL_COUNT(verify_columns),
                            object);
    json_decref(object);
    if (code == ADMIN_OK && summary.findings != 0) {
        code = ctl_wrong(ADMIN_ERROR, "the log is not as it was written: %" PRIu64 " findings",
                         summary.findings);
    }
    return code;
}

/* ---- tail */

static int audit_is_log(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length == strlen("audit-2026-11-25.log") && strncmp(entry->d_name, "audit-", 6) == 0 &&
           strcmp(entry->d_name + length - 4, ".log") == 0;
}

/* Opens the file of the last day; NULL with errno. `name`: of the file that is open already, "":
 * none; then NULL without error means that it is still the last. */
static FILE *last_open(const char *folder, char name[64])
{
    struct dirent **entries;
    char path[4200];
    int count = scandir(folder, &entries, audit_is_log, alphasort);
    FILE *file = NULL;
    if (count <= 0) {
        errno = count == 0 ? ENOENT : errno;
        return NULL;
    }
    errno = 0;
    if (strcmp(entries[count - 1]->d_name, name) != 0) {
        snprintf(name, 64, "%.63s", entries[count - 1]->d_name);
        snprintf(path, sizeof path, "%.4000s/%s", folder, name);
        file = fopen(path, "re");
    }
    for (int i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
    return file;
}

/* "2026-11-25 16:44 event key=value ..." */
static void tail_print(const struct ctl_line *line, char *text)
{
    json_error_t error;
    const char *key;
    json_t *value;
    text[strcspn(text, "\n")] = 0;
    json_t *object = json_loads(text, 0, &error);
    if (ctl_has(line, OPTION_JSON) || !json_is_object(object)) {
        char *safe = ctl_text_safe(text);
        printf("%s\n", safe != NULL ? safe : "?");
        free(safe);
        json_decref(object);
        return;
    }
    const struct ctl_column at = {"", "time", FORM_TIME, false};
    const struct ctl_column event = {"", "event", FORM_TEXT, false};
    char *time = ctl_value_text(object, &at, true), *word = ctl_value_text(object, &event, true);
    printf("%s  %s", time != NULL ? time : "?", word != NULL ? word : "?");
    free(time);
    free(word);
    json_object_foreach(object, key, value)
    {
        if (strcmp(key, "time") != 0 && strcmp(key, "event") != 0 && strcmp(key, "hash") != 0) {
            char *plain = ctl_value_plain(object, key);
            printf(" %s=%s", key, plain != NULL ? plain : "?");
            free(plain);
        }
    }
    putchar('\n');
    json_decref(object);
}

/* The last lines of the file; it stays open at its end. */
static void tail_begin(const struct ctl_line *line, FILE *file, size_t wanted)
{
    char *text = NULL, **kept = calloc(wanted, sizeof *kept);
    size_t size = 0, count = 0;
    while (kept != NULL && getline(&text, &size, file) > 0) {
        free(kept[count % wanted]);
        kept[count++ % wanted] = text;
        text = NULL;
        size = 0;
    }
    for (size_t i = count < wanted ? 0 : count - wanted; kept != NULL && i < count; i++) {
        tail_print(line, kept[i % wanted]);
        free(kept[i % wanted]);
    }
    free(text);
    free(kept);
}

enum admin_code ctl_audit_tail(const struct ctl_line *line)
{
    char folder[4096], name[64] = "", *text = NULL;
    const char *lines = line->options[OPTION_LINES], *end;
    uint64_t wanted = TAIL_LINES;
    size_t size = 0;
    if (lines != NULL && (!ga_digits_read(lines, &end, &wanted) || *end != 0 || wanted == 0 ||
                          wanted > TAIL_LINES_MAX)) {
        return ctl_wrong(ADMIN_USAGE, "--lines %s: give a number, 1 to %u", lines, TAIL_LINES_MAX);
    }
    enum admin_code code = audit_folder(line, folder, sizeof folder);
    if (code != ADMIN_OK) {
        return code;
    }
    FILE *file = last_open(folder, name);
    if (file == NULL) {
        return ctl_wrong(errno == ENOENT   ? ADMIN_NOT_FOUND
                         : errno == EACCES ? ADMIN_DENIED
                                           : ADMIN_ERROR,
                         "%s: there is no audit log that you could read: %s", folder,
                         strerror(errno));
    }
    tail_begin(line, file, wanted);
    while (ctl_has(line, OPTION_FOLLOW) && fflush(stdout) == 0) {
        while (getline(&text, &size, file) > 0) {
            tail_print(line, text);
        }
        clearerr(file);
        FILE *next = last_open(folder, name);
        if (next != NULL) {
            (void)fclose(file);
            file = next;
        } else {
            (void)poll(NULL, 0, LOOK_MS);
        }
    }
    free(text);
    (void)fclose(file);
    return ADMIN_OK;
}
