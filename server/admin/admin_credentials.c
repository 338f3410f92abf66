/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about tokens and certificates. The secret of a token is in one reply, and nowhere else.
 *
 * Certificates are signed by gpuaasctl, which has the key of the authority; gpuaasd learns of them
 * here, and admits none that it has not learnt of. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "auth/auth.h"
#include "server/admin/admin_store.h"
#include "server/gpuaasd/gpuaasd.h"

static const char *const kinds[] = {"token", "certificate"};
static const char *const scopes[] = {"tenant", "admin", "server"};

static json_t *credential_record(const struct store_credential *credential, int64_t now)
{
    json_t *record = json_object();
    const char *state = credential->revoked != 0     ? "revoked"
                        : credential->expires <= now ? "expired"
                                                     : "valid";
    char hash[2 * STORE_HASH_BYTES + 1];
    for (unsigned i = 0; i < STORE_HASH_BYTES; i++) {
        snprintf(hash + 2 * i, 3, "%02x", credential->hash[i]);
    }
    admin_set_text(record, "id", credential->id);
    admin_set_text(record, "kind", kinds[credential->kind]);
    admin_set_text(record, "scope", scopes[credential->scope]);
    admin_set_text(record, "tenant", credential->tenant);
    admin_set_text(record, "user", credential->user);
    admin_set_text(record, "name", credential->name);
    admin_set_text(record, "state", state);
    admin_set_text(record, "fingerprint",
                   credential->kind == STORE_CERTIFICATE ? hash : NULL); /* SHA-256 */
    admin_set_time(record, "created", credential->created);
    admin_set_time(record, "expires", credential->expires);
    admin_set_time(record, "used", credential->used);
    admin_set_time(record, "revoked", credential->revoked);
    return record;
}

/* ---- list */

struct credential_rows {
    struct admin_rows rows;
    int64_t now;
    const char *kind; /* NULL: all */
};

static void credential_row(void *user, const struct store_credential *credential)
{
    struct credential_rows *list = user;
    bool wanted = list->kind == NULL || strcmp(list->kind, kinds[credential->kind]) == 0;
    if (wanted && admin_rows_take(&list->rows)) {
        admin_rows_add(&list->rows, credential_record(credential, list->now));
    }
}

enum admin_code admin_verb_credentials(struct admin_call *call)
{
    struct store *store;
    struct store_tenant there;
    struct credential_rows list = {.now = time(NULL), .kind = admin_text(call, "kind")};
    const char *tenant = admin_text(call, "tenant");
    if (list.kind != NULL && strcmp(list.kind, kinds[STORE_TOKEN]) != 0 &&
        strcmp(list.kind, kinds[STORE_CERTIFICATE]) != 0) {
        return admin_fail(call, ADMIN_USAGE, "kind is %s or %s", kinds[STORE_TOKEN],
                          kinds[STORE_CERTIFICATE]);
    }
    enum admin_code code = admin_store_read(call, &store);
    if (code == ADMIN_OK && tenant != NULL) {
        code = admin_store_code(call, store, store_tenant_get(store, tenant, &there));
    }
    if (code == ADMIN_OK) {
        code = admin_rows_begin(call, &list.rows);
    }
    if (code == ADMIN_OK) {
        code = admin_store_code(call, store,
                                store_credential_each(store, tenant, credential_row, &list));
        code = admin_rows_end(call, &list.rows, code);
    }
    return code;
}

/* ---- tokens */

#define TTL_STANDARD_S (90 * 86400)

/* A dry run makes none, and refuses what would be refused. */
static enum admin_code token_try(struct admin_call *call, struct store *store, const char *tenant,
                                 const char *user, const char *name, uint64_t ttl_s)
{
    char why[AUTH_WHY_BYTES] = "";
    enum admin_code code =
        admin_status_code(call,
                          auth_token_may_issue(store, tenant, user, name, (int64_t)ttl_s,
                                               time(NULL), why, sizeof why),
                          why);
    if (code == ADMIN_OK) {
        admin_set_change(call, NULL, NULL);
        admin_set(call->result, "token", json_null());
    }
    return code;
}

enum admin_code admin_verb_token_issue(struct admin_call *call)
{
    struct store *store;
    struct store_credential credential;
    const char *tenant = admin_text(call, "tenant"), *user = admin_text(call, "user");
    const char *name = admin_text(call, "name");
    char token[AUTH_TOKEN_BYTES], why[AUTH_WHY_BYTES] = "";
    uint64_t ttl_s = admin_number(call, "ttl_s", TTL_STANDARD_S);
    enum admin_code code = admin_store_get(call, &store);
    if (code != ADMIN_OK) {
        return code;
    }
    if (call->dry_run) {
        return token_try(call, store, tenant, user != NULL ? user : "", name != NULL ? name : "",
                         ttl_s);
    }
    enum ga_status status =
        auth_token_issue(store, tenant, user != NULL ? user : "", name != NULL ? name : "",
                         (int64_t)ttl_s, time(NULL), token, &credential, why, sizeof why);
    if (status != GA_OK) {
        storage_note(&call->gpuaasd->storage, status);
        return admin_status_code(call, status, why);
    }
    admin_set_change(call, NULL, credential_record(&credential, time(NULL)));
    admin_set_text(call->result, "token", token);
    auth_wipe(token, sizeof token);
    return ADMIN_OK;
}

/* The valid token that was made first. */
struct oldest {
    int64_t now;
    const char *user;
    struct store_credential found; /* without id: there is none */
};

static void oldest_take(void *user, const struct store_credential *credential)
{
    struct oldest *oldest = user;
    if (oldest->found.id[0] == 0 && credential->kind == STORE_TOKEN && credential->revoked == 0 &&
        credential->expires > oldest->now && strcmp(credential->user, oldest->user) == 0) {
        oldest->found = *credential;
    }
}

static enum admin_code token_oldest(struct admin_call *call, struct store *store,
                                    const char *tenant, struct oldest *oldest)
{
    enum admin_code code =
        admin_store_code(call, store, store_credential_each(store, tenant, oldest_take, oldest));
    if (code == ADMIN_OK && oldest->found.id[0] == 0) {
        return admin_fail(call, ADMIN_NOT_FOUND,
                          "%s%s%s has no valid token that another one could take the place of: "
                          "gpuaasctl token issue",
                          tenant, oldest->user[0] != 0 ? "/" : "", oldest->user);
    }
    return code;
}

/* The next token of a tenant or user, for what the old one is for. That one stays valid to its end,
 * or for `grace_s`. */
enum admin_code admin_verb_token_rotate(struct admin_call *call)
{
    struct store *store;
    struct store_credential made, before;
    const char *tenant = admin_text(call, "tenant"), *user = admin_text(call, "user");
    struct oldest oldest = {.now = time(NULL), .user = user != NULL ? user : ""};
    char token[AUTH_TOKEN_BYTES], why[AUTH_WHY_BYTES] = "";
    uint64_t grace_s = admin_number(call, "grace_s", UINT32_MAX);
    uint64_t ttl_s = admin_number(call, "ttl_s", TTL_STANDARD_S);
    enum admin_code code = admin_store_get(call, &store);
    if (code == ADMIN_OK) {
        code = token_oldest(call, store, tenant, &oldest);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    before = oldest.found;
    admin_set(call->result, "previous", credential_record(&before, oldest.now));
    if (call->dry_run) {
        return token_try(call, store, tenant, oldest.user, before.name, ttl_s);
    }
    enum ga_status status =
        auth_token_issue(store, tenant, oldest.user, before.name, (int64_t)ttl_s, oldest.now, token,
                         &made, why, sizeof why);
    if (status != GA_OK) {
        storage_note(&call->gpuaasd->storage, status);
        return admin_status_code(call, status, why);
    }
    if (grace_s < UINT32_MAX) {
        status = store_credential_shorten(store, before.id, oldest.now + (int64_t)grace_s);
        status = status == GA_OK ? store_credential_get(store, before.id, &before) : status;
    }
    if (status != GA_OK) { /* the new one is there, and is shown once */
        admin_warn(call, "the old token %s stays valid to its end: %s", before.id,
                   store_why(store));
    }
    admin_set(call->result, "previous", credential_record(&before, oldest.now));
    admin_set_change(call, NULL, credential_record(&made, oldest.now));
    admin_set_text(call->result, "token", token);
    auth_wipe(token, sizeof token);
    return ADMIN_OK;
}

/* ---- certificates */

static bool hash_read(const char *text, uint8_t hash[STORE_HASH_BYTES])
{
    if (strlen(text) != 2 * STORE_HASH_BYTES ||
        strspn(text, "0123456789abcdef") != 2 * STORE_HASH_BYTES) {
        return false;
    }
    for (unsigned i = 0; i < STORE_HASH_BYTES; i++) {
        unsigned byte;
        (void)!sscanf(text + 2 * i, "%2x", &byte);
        hash[i] = (uint8_t)byte;
    }
    return true;
}

static bool text_take(const char *text, char *to, size_t size)
{
    if (text != NULL && strlen(text) >= size) {
        return false;
    }
    snprintf(to, size, "%s", text != NULL ? text : "");
    return true;
}

/* Enters a certificate that gpuaasctl has signed, before it is given to anybody. */
enum admin_code admin_verb_cert_enter(struct admin_call *call)
{
    struct store *store;
    struct store_credential credential = {.kind = STORE_CERTIFICATE, .created = time(NULL)};
    const char *scope = admin_text(call, "scope");
    enum admin_code code = admin_store_get(call, &store);
    if (code != ADMIN_OK) {
        return code;
    }
    unsigned at = 0;
    while (at < 3 && strcmp(scopes[at], scope) != 0) {
        at++;
    }
    credential.scope = (enum store_scope)at;
    credential.expires = (int64_t)admin_number(call, "expires_s", 0);
    if (at == 3 || !hash_read(admin_text(call, "fingerprint"), credential.hash) ||
        !text_take(admin_text(call, "id"), credential.id, sizeof credential.id) ||
        !text_take(admin_text(call, "tenant"), credential.tenant, sizeof credential.tenant) ||
        !text_take(admin_text(call, "user"), credential.user, sizeof credential.user) ||
        !text_take(admin_text(call, "name"), credential.name, sizeof credential.name) ||
        credential.id[0] == 0 || (credential.scope == STORE_OF_TENANT) != !!credential.tenant[0]) {
        return admin_fail(call, ADMIN_USAGE,
                          "a certificate has an id, a scope (tenant, admin or server), a "
                          "fingerprint (SHA-256 in hexadecimal) and, if it is of a tenant, its "
                          "name");
    }
    if (credential.scope == STORE_OF_ADMIN && admin_is_remote(call->peer)) {
        return admin_fail(call, ADMIN_DENIED,
                          "administrators are made on the machine of gpuaasd alone, over its "
                          "admin socket");
    }
    if (call->dry_run) {
        code = admin_store_code(call, store, store_credential_may_put(store, &credential));
    } else {
        code = admin_store_code(call, store, store_credential_put(store, &credential));
    }
    if (code == ADMIN_OK && !call->dry_run) {
        code =
            admin_store_code(call, store, store_credential_get(store, credential.id, &credential));
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, NULL, credential_record(&credential, time(NULL)));
    }
    return code;
}

/* ---- both */

enum admin_code admin_verb_credential_revoke(struct admin_call *call)
{
    struct store *store;
    struct store_credential before, after;
    int64_t now = time(NULL);
    const char *kind = admin_text(call, "kind");
    enum admin_code code = admin_store_get(call, &store);
    if (code == ADMIN_OK) {
        code = admin_store_code(call, store,
                                store_credential_get(store, admin_text(call, "id"), &before));
    }
    if (code != ADMIN_OK) {
        return code;
    }
    if (kind != NULL && strcmp(kind, kinds[before.kind]) != 0) {
        return admin_fail(call, ADMIN_USAGE, "%s is a %s: gpuaasctl %s revoke", before.id,
                          kinds[before.kind], before.kind == STORE_TOKEN ? "token" : "cert");
    }
    after = before;
    after.revoked = before.revoked != 0 ? before.revoked : now;
    if (!call->dry_run) {
        code = admin_store_code(call, store, store_credential_revoke(store, before.id, now));
    }
    if (code == ADMIN_OK) {
        admin_set_change(call, credential_record(&before, now), credential_record(&after, now));
    }
    return code;
}
