/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about tokens and certificates. */
#include <string.h>

#include "auth/auth.h"
#include "ctl/secret.h"
#include "ctl/value.h"
#include "ctl/verb.h"

static const struct ctl_column columns[] = {
    {"ID", "id", FORM_TEXT, false},
    {"SCOPE", "scope", FORM_TEXT, false},
    {"TENANT", "tenant", FORM_TEXT, false},
    {"USER", "user", FORM_TEXT, false},
    {"NAME", "name", FORM_TEXT, false},
    {"STATE", "state", FORM_TEXT, false},
    {"EXPIRES", "expires", FORM_TIME, false},
    {"USED", "used", FORM_TIME, false},
    {"CREATED", "created", FORM_TIME, true},
    {"REVOKED", "revoked", FORM_TIME, true},
    {"FINGERPRINT", "fingerprint", FORM_TEXT, true},
};

static enum admin_code credential_list(const struct ctl_line *line, const char *kind)
{
    json_t *arguments = json_pack("{s:s}", "kind", kind);
    if (line->word_count != 0) {
        (void)json_object_set_new(arguments, "tenant", json_string(line->words[0]));
    }
    return ctl_verb_list(line, "credential.list", arguments, "CredentialList", columns,
                         CTL_COUNT(columns));
}

enum admin_code ctl_token_list(const struct ctl_line *line)
{
    return credential_list(line, "token");
}

enum admin_code ctl_cert_list(const struct ctl_line *line)
{
    return credential_list(line, "certificate");
}

static enum admin_code credential_revoke(const struct ctl_line *line, const char *kind)
{
    enum admin_code code = ctl_confirm(
        line, "revoke %s; sessions that it has begun end within seconds", line->words[0]);
    return code == ADMIN_OK
               ? ctl_verb_change(line, "credential.revoke",
                                 json_pack("{s:s, s:s}", "id", line->words[0], "kind", kind),
                                 "CredentialChange", line->words[0])
               : code;
}

enum admin_code ctl_token_revoke(const struct ctl_line *line)
{
    return credential_revoke(line, "token");
}

enum admin_code ctl_cert_revoke(const struct ctl_line *line)
{
    return credential_revoke(line, "certificate");
}

/* ---- tokens are made */

static enum admin_code duration_set(const struct ctl_line *line, enum ctl_option option,
                                    uint64_t least_s, json_t *arguments, const char *name)
{
    uint64_t seconds;
    enum admin_code code = ctl_option_duration(line, option, least_s, AUTH_TTL_MAX_S, &seconds);
    if (code == ADMIN_OK && ctl_has(line, option)) {
        (void)json_object_set_new(arguments, name, json_integer((json_int_t)seconds));
    }
    return code;
}

/* The token goes to the file, or to standard output, where nothing else is. */
static enum admin_code token_print(const struct ctl_line *line, int fd, json_t *result)
{
    const char *token = json_string_value(json_object_get(result, "token"));
    const char *expires =
        json_string_value(ctl_value_at(json_object_get(result, "after"), "expires"));
    enum admin_code code = ADMIN_OK;
    if (fd >= 0) {
        code = token != NULL ? ctl_secret_write(line, fd, token)
                             : ctl_wrong(ADMIN_ERROR, "gpuaasd has sent no token");
        (void)json_object_set_new(result, "token", json_null());
    }
    if (code != ADMIN_OK) {
        return code;
    }
    if (ctl_has(line, OPTION_JSON)) {
        return ctl_print_json("Token", result);
    }
    if (ctl_has(line, OPTION_DRY_RUN)) {
        ctl_note(line, "a token would be made for %s (dry run: nothing is done)", line->words[0]);
        return ADMIN_OK;
    }
    if (fd < 0) {
        puts(token != NULL ? token : "");
    }
    ctl_note(line, "a token of %s, valid until %s%s%s; it is shown only now", line->words[0],
             expires != NULL ? expires : "?", fd >= 0 ? ", is in " : "",
             fd >= 0 ? line->options[OPTION_OUT] : "");
    return ADMIN_OK;
}

/* Asks for a token; `arguments` is taken. */
static enum admin_code token_ask(const struct ctl_line *line, const char *verb, json_t *arguments)
{
    int fd;
    json_t *result;
    ctl_verb_option(line, arguments, "user", OPTION_USER);
    enum admin_code code = duration_set(line, OPTION_TTL, AUTH_TTL_MIN_S, arguments, "ttl_s");
    if (code == ADMIN_OK) {
        code = ctl_secret_make(line, &fd);
    }
    if (code != ADMIN_OK) {
        json_decref(arguments);
        return code;
    }
    code = ctl_ask(line, verb, arguments, &result);
    if (code != ADMIN_OK) {
        ctl_secret_drop(line, fd);
        return code;
    }
    ctl_print_warnings(result);
    code = token_print(line, fd, result);
    const json_t *previous = json_object_get(result, "previous");
    if (code == ADMIN_OK && previous != NULL && !ctl_has(line, OPTION_JSON)) {
        ctl_note(line, "the old token %s is valid until %s",
                 json_string_value(json_object_get(previous, "id")),
                 json_string_value(json_object_get(previous, "expires")));
    }
    json_decref(result);
    return code;
}

enum admin_code ctl_token_issue(const struct ctl_line *line)
{
    json_t *arguments = json_pack("{s:s}", "tenant", line->words[0]);
    ctl_verb_option(line, arguments, "name", OPTION_NAME);
    return token_ask(line, "token.issue", arguments);
}

enum admin_code ctl_token_rotate(const struct ctl_line *line)
{
    json_t *arguments = json_pack("{s:s}", "tenant", line->words[0]);
    enum admin_code code = duration_set(line, OPTION_GRACE, 0, arguments, "grace_s");
    if (code != ADMIN_OK) {
        json_decref(arguments);
        return code;
    }
    return token_ask(line, "token.rotate", arguments);
}
