/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about our own certificate authority. Its key is in a folder of this machine and stays
 * there; gpuaasd learns of each certificate over the socket, and admits no other.
 *
 * Note: auth_cert_issue enters what it signs in a store. That one is in memory, with the tenant
 * alone; gpuaasd's own is asked afterwards, and if it refuses, the files go. A dry run signs, too,
 * and writes nothing. */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/moment.h"
#include "ctl/value.h"
#include "ctl/verb.h"

#define FOLDER_STANDARD "/var/lib/gpuaas/ca"

static const char *authority_folder(const struct ctl_line *line)
{
    return ctl_has(line, OPTION_CA) ? line->options[OPTION_CA] : FOLDER_STANDARD;
}

static enum admin_code authority_code(enum ga_status status, const char *why)
{
    switch (status) {
    case GA_OK:
        return ADMIN_OK;
    case GA_NOT_FOUND:
        return ctl_wrong(ADMIN_NOT_FOUND, "%s", why);
    case GA_CONFLICT:
        return ctl_wrong(ADMIN_CONFLICT, "%s", why);
    case GA_INVALID:
        return ctl_wrong(ADMIN_USAGE, "%s", why);
    default:
        return ctl_wrong(ADMIN_ERROR, "%s", why);
    }
}

static const struct ctl_column ca_columns[] = {
    {"name", "name", FORM_TEXT, false},
    {"folder", "folder", FORM_TEXT, false},
    {"begins", "begins", FORM_TIME, false},
    {"ends", "ends", FORM_TIME, false},
    {"fingerprint", "fingerprint", FORM_TEXT, false},
    {"earlier certificates", "earlier", FORM_COUNT, false},
};

static json_t *time_json(int64_t seconds)
{
    char text[GA_MOMENT_BYTES];
    (void)ga_moment_write(seconds, text); /* "": there is no such date */
    return json_string(text);
}

static void hash_text(const uint8_t *hash, char text[2 * STORE_HASH_BYTES + 1])
{
    for (unsigned i = 0; i < STORE_HASH_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", hash[i]);
    }
}

enum admin_code ctl_ca_show(const struct ctl_line *line)
{
    struct auth_ca_facts facts;
    char why[AUTH_WHY_BYTES] = "", hash[2 * STORE_HASH_BYTES + 1];
    enum admin_code code =
        authority_code(auth_ca_show(authority_folder(line), &facts, why, sizeof why), why);
    if (code != ADMIN_OK) {
        return code;
    }
    hash_text(facts.hash, hash);
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:o, s:s, s:i}", "name", facts.name, "folder",
                  authority_folder(line), "begins", time_json(facts.begins), "ends",
                  time_json(facts.ends), "fingerprint", hash, "earlier", (int)facts.earlier);
    code = ctl_print_object(line, "Authority", ca_columns, CTL_COUNT(ca_columns), object);
    json_decref(object);
    return code;
}

/* Whether the file could be made. */
static enum admin_code file_try(const char *path)
{
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", path);
    if (access(path, F_OK) == 0) {
        return ctl_wrong(ADMIN_CONFLICT, "%s is there already; name another file, or remove it",
                         path);
    }
    return access(dirname(copy), W_OK | X_OK) == 0
               ? ADMIN_OK
               : ctl_wrong(ADMIN_ERROR, "%s cannot be written: %s", path, strerror(errno));
}

/* A dry run: there must be none yet. */
static enum admin_code ca_init_try(const struct ctl_line *line, const char *name)
{
    struct auth_ca_facts facts;
    char why[AUTH_WHY_BYTES] = "";
    const char *folder = authority_folder(line);
    enum ga_status status = auth_ca_show(folder, &facts, why, sizeof why);
    if (status == GA_OK) {
        return ctl_wrong(ADMIN_CONFLICT,
                         "there is an authority in %s already; `gpuaasctl ca rotate` gives it a "
                         "new key",
                         folder);
    }
    enum admin_code code = status == GA_NOT_FOUND ? ADMIN_OK : authority_code(status, why);
    if (code == ADMIN_OK && access(folder, F_OK) != 0) {
        code = file_try(folder);
    }
    if (code == ADMIN_OK && ctl_has(line, OPTION_JSON)) {
        json_t *object = json_pack("{s:s, s:s, s:n, s:n, s:n, s:i}", "name", name, "folder", folder,
                                   "begins", "ends", "fingerprint", "earlier", 0);
        code = ctl_print_json("Authority", object);
        json_decref(object);
    } else if (code == ADMIN_OK) {
        ctl_note(line, "an authority %s would be made in %s (dry run: nothing is done)", name,
                 folder);
    }
    return code;
}

enum admin_code ctl_ca_init(const struct ctl_line *line)
{
    char why[AUTH_WHY_BYTES] = "";
    const char *name = ctl_has(line, OPTION_NAME) ? line->options[OPTION_NAME] : "gpuaas";
    if (ctl_has(line, OPTION_DRY_RUN)) {
        return ca_init_try(line, name);
    }
    enum admin_code code = authority_code(
        auth_ca_init(authority_folder(line), name, time(NULL), why, sizeof why), why);
    return code == ADMIN_OK ? ctl_ca_show(line) : code;
}

enum admin_code ctl_ca_rotate(const struct ctl_line *line)
{
    char why[AUTH_WHY_BYTES] = "";
    if (ctl_has(line, OPTION_DRY_RUN)) {
        enum admin_code shown = ctl_ca_show(line);
        if (shown == ADMIN_OK) {
            ctl_note(line, "this authority would get a new key (dry run: nothing is done)");
        }
        return shown;
    }
    enum admin_code code = ctl_confirm(
        line,
        "make a new key of the authority in %s; servers and programs then need its new ca.pem",
        authority_folder(line));
    if (code == ADMIN_OK) {
        code = authority_code(auth_ca_rotate(authority_folder(line), time(NULL), why, sizeof why),
                              why);
    }
    return code == ADMIN_OK ? ctl_ca_show(line) : code;
}

/* ---- certificates */

/* Where the certificate and its key go: PREFIX.crt and PREFIX.key. */
struct files {
    char cert[4096], key[4096];
};

static enum admin_code files_name(const struct ctl_line *line, struct files *files)
{
    const char *prefix = ctl_has(line, OPTION_OUT) ? line->options[OPTION_OUT] : line->words[0];
    if (prefix == NULL || strlen(prefix) + 5 > sizeof files->cert ||
        (!ctl_has(line, OPTION_OUT) && strchr(prefix, '/') != NULL)) {
        return ctl_wrong(ADMIN_USAGE, "give --out PREFIX for the files PREFIX.crt and PREFIX.key");
    }
    snprintf(files->cert, sizeof files->cert, "%.4000s.crt", prefix);
    snprintf(files->key, sizeof files->key, "%.4000s.key", prefix);
    return ADMIN_OK;
}

/* A store in memory that has the tenant and its user, so that certificates of them can be made. */
static enum ga_status scratch_store(const struct auth_cert_request *request, struct store **out,
                                    char *why, size_t why_size)
{
    struct store_tenant tenant;
    struct store_user user = {.generation = 0};
    GA_TRY(store_open(":memory:", out, why, why_size));
    enum ga_status status = GA_OK;
    if (request->scope == STORE_OF_TENANT) {
        store_tenant_init(&tenant, request->tenant);
        status = strcmp(request->tenant, STORE_DEFAULT_TENANT) == 0
                     ? GA_OK
                     : store_tenant_put(*out, &tenant, STORE_NEW);
        if (status == GA_OK && request->user[0] != 0) {
            snprintf(user.tenant, sizeof user.tenant, "%s", request->tenant);
            snprintf(user.name, sizeof user.name, "%s", request->user);
            limits_clear(&user.limits);
            status = store_user_put(*out, &user, STORE_NEW);
        }
    }
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store_why(*out));
        store_close(*out);
    }
    return status;
}

static json_t *entry_of(const struct store_credential *credential)
{
    static const char *const scopes[] = {"tenant", "admin", "server"};
    char hash[2 * STORE_HASH_BYTES + 1];
    hash_text(credential->hash, hash);
    return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:s}", "id", credential->id, "scope",
                     scopes[credential->scope], "fingerprint", hash, "expires_s",
                     (json_int_t)credential->expires, "tenant", credential->tenant, "user",
                     credential->user, "name", credential->name);
}

/* Says where the certificate is, or would be. */
static void cert_note(const struct ctl_line *line, const struct store_credential *credential,
                      const struct files *files, const char *more)
{
    if (ctl_has(line, OPTION_DRY_RUN)) {
        ctl_note(line, "a certificate would be in %s, its key in %s%s (dry run: nothing is done)",
                 files->cert, files->key, more);
    } else {
        ctl_note(line, "certificate %s is in %s, its key in %s%s", credential->id, files->cert,
                 files->key, more);
    }
}

static enum admin_code cert_make(const struct ctl_line *line,
                                 const struct auth_cert_request *request, const struct files *files)
{
    struct store *store;
    struct store_credential credential;
    char why[600] = "";
    json_t *result;
    enum admin_code code = authority_code(scratch_store(request, &store, why, sizeof why), why);
    if (code != ADMIN_OK) {
        return code;
    }
    bool dry = ctl_has(line, OPTION_DRY_RUN);
    code = authority_code(auth_cert_issue(authority_folder(line), store, request, time(NULL),
                                          dry ? NULL : files->cert, files->key, &credential, why,
                                          sizeof why),
                          why);
    store_close(store);
    if (code == ADMIN_OK && dry) {
        code = file_try(files->cert);
        code = code == ADMIN_OK ? file_try(files->key) : code;
    }
    if (code != ADMIN_OK) {
        return code;
    }
    if (request->scope == STORE_OF_SERVER && !ctl_socket_is_there(line)) {
        /* It admits nobody, and the first server needs one before it can start. */
        cert_note(line, &credential, files,
                  "; gpuaasd does not run yet, so its list does not have it");
        return ADMIN_OK;
    }
    code = ctl_ask(line, "cert.enter", entry_of(&credential), &result);
    if (code != ADMIN_OK && !dry) { /* gpuaasd does not know it: it admits nobody */
        (void)unlink(files->cert);
        (void)unlink(files->key);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    (void)json_object_set_new(result, "certificate", json_string(files->cert));
    (void)json_object_set_new(result, "key", json_string(files->key));
    if (ctl_has(line, OPTION_JSON)) {
        code = ctl_print_json("Certificate", result);
    } else {
        cert_note(line, &credential, files, "");
    }
    json_decref(result);
    return code;
}

static enum admin_code cert_issue(const struct ctl_line *line, struct auth_cert_request *request)
{
    struct files files;
    uint64_t seconds = (uint64_t)AUTH_CERT_DAYS * 86400;
    enum admin_code code =
        ctl_option_duration(line, OPTION_TTL, AUTH_TTL_MIN_S, AUTH_TTL_MAX_S, &seconds);
    if (code != ADMIN_OK) {
        return code;
    }
    request->ttl_s = (int64_t)seconds;
    request->user = ctl_has(line, OPTION_USER) ? line->options[OPTION_USER] : "";
    request->tenant = request->tenant != NULL ? request->tenant : "";
    request->name = request->name != NULL        ? request->name
                    : ctl_has(line, OPTION_NAME) ? line->options[OPTION_NAME]
                                                 : "";
    code = files_name(line, &files);
    return code == ADMIN_OK ? cert_make(line, request, &files) : code;
}

enum admin_code ctl_cert_issue(const struct ctl_line *line)
{
    struct auth_cert_request request = {.scope = STORE_OF_TENANT, .tenant = line->words[0]};
    return cert_issue(line, &request);
}

enum admin_code ctl_cert_issue_admin(const struct ctl_line *line)
{
    struct auth_cert_request request = {.scope = STORE_OF_ADMIN, .name = line->words[0]};
    return cert_issue(line, &request);
}

enum admin_code ctl_cert_issue_server(const struct ctl_line *line)
{
    struct auth_cert_request request = {.scope = STORE_OF_SERVER,
                                        .name = line->words[0],
                                        .names = (const char *const *)line->words,
                                        .name_count = line->word_count};
    return cert_issue(line, &request);
}
