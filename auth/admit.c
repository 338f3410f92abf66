/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: the decision whether a connection may use the server.
 *
 * Note: a refused connection gets the same text whatever was wrong, unless the secret was right:
 * then the text says that it has expired, or was revoked. A wrong secret takes the same time
 * wherever it is wrong (tests/token_cost.py counts). An unknown id takes less, by the row that the
 * database does not read, some microseconds: a connection that can measure them learns that an id,
 * 62 random bits, is that of a token which exists or existed. */
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auth/penalty.h"
#include "auth/token.h"
#include "base/moment.h"

#define ADMIT_ASK "ask the administrator of the server for a token (GPUAAS_TOKEN_FILE)"

struct auth {
    struct store *store;
    struct penalties sources; /* that have failed */
    struct penalties pairs;   /* of a source and a credential with which it has failed */
};

const char *auth_reason_name(enum auth_reason reason)
{
    static const char *const names[] = {
        [AUTH_NOTHING_SHOWN] = "nothing-shown",
        [AUTH_MALFORMED] = "malformed",
        [AUTH_UNKNOWN] = "unknown",
        [AUTH_WRONG] = "wrong",
        [AUTH_EXPIRED] = "expired",
        [AUTH_REVOKED] = "revoked",
        [AUTH_NOT_FOR_THIS] = "not-for-this",
        [AUTH_SUSPENDED] = "suspended",
        [AUTH_PENALTY] = "penalty",
        [AUTH_STORE_FAILS] = "store-fails",
    };
    return names[reason];
}

enum ga_status auth_open(struct store *store, struct auth **out)
{
    struct auth *auth = malloc(sizeof *auth);
    if (auth == NULL || !penalty_init(&auth->sources) || !penalty_init(&auth->pairs)) {
        free(auth);
        return GA_NO_MEMORY;
    }
    auth->store = store;
    *out = auth;
    return GA_OK;
}

void auth_close(struct auth *auth)
{
    free(auth);
}

void auth_set_store(struct auth *auth, struct store *store)
{
    auth->store = store;
}

uint64_t auth_penalty_ms(const struct auth *auth, const uint8_t source[AUTH_SOURCE_BYTES],
                         uint64_t now_ns)
{
    uint8_t key[PENALTY_KEY_BYTES];
    penalty_key(source, "", key);
    return penalty_left_ms(&auth->sources, key, now_ns);
}

static enum ga_status admit_refuse(struct auth_refusal *refusal, enum auth_reason reason,
                                   const char *detail, ...) __attribute__((format(printf, 3, 4)));

static enum ga_status admit_refuse(struct auth_refusal *refusal, enum auth_reason reason,
                                   const char *detail, ...)
{
    va_list args;
    va_start(args, detail);
    vsnprintf(refusal->detail, sizeof refusal->detail, detail, args);
    va_end(args);
    refusal->reason = reason;
    snprintf(refusal->why, sizeof refusal->why, "%s",
             reason == AUTH_NOTHING_SHOWN
                 ? "the server asks who you are, and nothing was shown: " ADMIT_ASK
                   " or a certificate"
                 : "the server does not accept the token or certificate that was shown: " ADMIT_ASK
                   " or a certificate that is valid");
    return GA_DENIED;
}

/* A connection that has the secret of a credential is told its state: that says nothing to
 * others. */
static enum ga_status admit_ended(struct auth_refusal *refusal, enum auth_reason reason,
                                  const struct store_credential *found)
{
    char when[GA_MOMENT_BYTES];
    ga_moment_for_people(reason == AUTH_EXPIRED ? found->expires : found->revoked, when);
    (void)admit_refuse(refusal, reason, "credential %s (%s) %s at %s", found->id, found->tenant,
                       reason == AUTH_EXPIRED ? "expired" : "was revoked", when);
    snprintf(refusal->why, sizeof refusal->why,
             "the %s %s %s at %s: ask the administrator of the server for a new one",
             found->kind == STORE_TOKEN ? "token" : "certificate", found->id,
             reason == AUTH_EXPIRED ? "has expired" : "was revoked by its administrator", when);
    return GA_DENIED;
}

/* The store cannot say. Not the fault of the peer. */
static enum ga_status store_fails(struct auth *auth, enum ga_status status,
                                  struct auth_refusal *refusal)
{
    refusal->reason = AUTH_STORE_FAILS;
    snprintf(refusal->detail, sizeof refusal->detail, "%.*s", (int)sizeof refusal->detail - 1,
             store_why(auth->store));
    snprintf(refusal->why, sizeof refusal->why,
             "the server cannot look up who you are at the moment; its log says why");
    return status == GA_NOT_FOUND ? GA_LOST : status;
}

/* Tenant and limits of a grant that has the tenant's number and the user. GA_NOT_FOUND: there is no
 * such tenant or user (any more). */
static enum ga_status admit_fill(struct auth *auth, uint64_t number, struct auth_grant *grant,
                                 bool *suspended, const char **reason)
{
    static _Thread_local struct store_user user;
    GA_TRY(store_tenant_get_number(auth->store, number, &grant->tenant));
    grant->limits = grant->tenant.limits;
    *suspended = grant->tenant.suspended;
    *reason = grant->tenant.reason;
    if (*grant->user == 0) {
        return GA_OK;
    }
    GA_TRY(store_user_get(auth->store, grant->tenant.name, grant->user, &user));
    limits_stricter(&grant->tenant.limits, &user.limits, &grant->limits);
    if (user.suspended && !*suspended) {
        *suspended = true;
        *reason = user.reason;
    }
    return GA_OK;
}

/* The last steps of all ways of authentication; the identity is known now. */
static enum ga_status grant_tenant(struct auth *auth, uint64_t number, struct auth_grant *grant,
                                   struct auth_refusal *refusal)
{
    bool suspended;
    const char *reason;
    enum ga_status status = admit_fill(auth, number, grant, &suspended, &reason);
    if (status == GA_NOT_FOUND) {
        return admit_refuse(refusal, AUTH_REVOKED, "%s", store_why(auth->store));
    }
    if (status != GA_OK) {
        return store_fails(auth, status, refusal);
    }
    if (suspended) {
        admit_refuse(refusal, AUTH_SUSPENDED, "tenant %s%s%s is suspended", grant->tenant.name,
                     *grant->user != 0 ? ", user " : "", grant->user);
        snprintf(refusal->why, sizeof refusal->why, "tenant %s is suspended%s%.128s",
                 grant->tenant.name, *reason != 0 ? ": " : "", reason);
        return GA_DENIED;
    }
    return GA_OK;
}

/* Finds the credential `id`, whose hash must be `hash`. */
static enum ga_status admit_check(struct auth *auth, const char *id, const uint8_t *hash,
                                  enum store_kind kind, int64_t now, struct store_credential *found,
                                  struct auth_refusal *refusal)
{
    static const struct store_credential nothing;
    enum ga_status status = store_credential_get(auth->store, id, found);
    if (status != GA_OK && status != GA_NOT_FOUND) {
        return store_fails(auth, status, refusal);
    }
    const struct store_credential *with = status == GA_OK ? found : &nothing;
    bool equal = CRYPTO_memcmp(with->hash, hash, sizeof with->hash) == 0;
    if (status == GA_NOT_FOUND) {
        return admit_refuse(refusal, AUTH_UNKNOWN, "credential %s is not known", id);
    }
    if (!equal || found->kind != kind) {
        return admit_refuse(refusal, AUTH_WRONG, "credential %s (%s): the secret is wrong", id,
                            found->tenant);
    }
    if (found->revoked != 0 || found->expires <= now) {
        return admit_ended(refusal, found->revoked != 0 ? AUTH_REVOKED : AUTH_EXPIRED, found);
    }
    return GA_OK;
}

static enum ga_status admit_credential(struct auth *auth, const struct auth_claim *claim,
                                       const char *id, const uint8_t *hash, enum store_kind kind,
                                       int64_t now, struct auth_grant *grant,
                                       struct auth_refusal *refusal)
{
    struct store_credential found;
    GA_TRY(admit_check(auth, id, hash, kind, now, &found, refusal));
    if (found.scope != (claim->admin ? STORE_OF_ADMIN : STORE_OF_TENANT)) {
        return admit_refuse(refusal, AUTH_NOT_FOR_THIS, "credential %s is not for %s", id,
                            claim->admin ? "administrators" : "programs");
    }
    grant->by = kind == STORE_TOKEN ? AUTH_BY_TOKEN : AUTH_BY_CERTIFICATE;
    grant->expires = found.expires;
    memcpy(grant->credential, found.id, sizeof grant->credential);
    if (claim->admin) {
        grant->admin = true;
        snprintf(grant->user, sizeof grant->user, "%.*s", (int)sizeof grant->user - 1, found.name);
    } else {
        memcpy(grant->user, found.user, sizeof grant->user);
        GA_TRY(grant_tenant(auth, found.tenant_number, grant, refusal));
    }
    enum ga_status noted = store_credential_used(auth->store, id, now);
    (void)noted; /* a note for people; it must keep nobody out */
    return GA_OK;
}

static enum ga_status admit_token(struct auth *auth, const struct auth_claim *claim, int64_t now,
                                  struct auth_grant *grant, struct auth_refusal *refusal)
{
    char id[STORE_ID_MAX + 1];
    uint8_t hash[AUTH_HASH_BYTES];
    if (!auth_token_read(claim->token, id, hash)) {
        return admit_refuse(refusal, AUTH_MALFORMED, "what was shown is no token");
    }
    snprintf(refusal->credential, sizeof refusal->credential, "%s", id);
    enum ga_status status =
        admit_credential(auth, claim, id, hash, STORE_TOKEN, now, grant, refusal);
    auth_wipe(hash, sizeof hash);
    return status;
}

static enum ga_status admit_certificate(struct auth *auth, const struct auth_claim *claim,
                                        int64_t now, struct auth_grant *grant,
                                        struct auth_refusal *refusal)
{
    struct auth_uri uri;
    if (!auth_uri_read(claim->uri, &uri)) {
        return admit_refuse(refusal, AUTH_MALFORMED, "the certificate's URI is none of ours");
    }
    snprintf(refusal->credential, sizeof refusal->credential, "%s", uri.credential);
    if (uri.admin != claim->admin) {
        return admit_refuse(refusal, AUTH_NOT_FOR_THIS, "certificate %s is not for %s",
                            uri.credential, claim->admin ? "administrators" : "programs");
    }
    return admit_credential(auth, claim, uri.credential, claim->certificate, STORE_CERTIFICATE, now,
                            grant, refusal);
}

static enum ga_status admit_local(struct auth *auth, const struct auth_claim *claim,
                                  struct auth_grant *grant, struct auth_refusal *refusal)
{
    struct store_local local;
    enum ga_status status = store_local_get(auth->store, STORE_UID, claim->uid, &local);
    if (status == GA_NOT_FOUND) {
        status = store_local_get(auth->store, STORE_GID, claim->gid, &local);
    }
    if (status == GA_NOT_FOUND) {
        admit_refuse(refusal, AUTH_UNKNOWN, "uid %u and gid %u (pid %d) belong to no tenant",
                     claim->uid, claim->gid, claim->pid);
        snprintf(refusal->why, sizeof refusal->why,
                 "user %u of this machine belongs to no tenant: " ADMIT_ASK
                 " or a place in its map of local users",
                 claim->uid);
        return GA_DENIED;
    }
    if (status != GA_OK) {
        return store_fails(auth, status, refusal);
    }
    grant->by = local.kind == STORE_UID ? AUTH_BY_UID : AUTH_BY_GID;
    grant->number = local.number;
    memcpy(grant->user, local.user, sizeof grant->user);
    return grant_tenant(auth, local.tenant_number, grant, refusal);
}

static enum ga_status admit(struct auth *auth, const struct auth_claim *claim, int64_t now,
                            struct auth_grant *grant, struct auth_refusal *refusal)
{
    if (claim->token != NULL && *claim->token != 0) {
        return admit_token(auth, claim, now, grant, refusal);
    }
    if (claim->proof == AUTH_PROVES_KEY && *claim->uri != 0) {
        return admit_certificate(auth, claim, now, grant, refusal);
    }
    if (claim->proof == AUTH_PROVES_USER && !claim->admin) {
        return admit_local(auth, claim, grant, refusal);
    }
    return admit_refuse(refusal, AUTH_NOTHING_SHOWN, "neither a token nor a certificate of ours");
}

/* Notes a failure. The same credential again is no new guess. */
static void admit_failed(struct auth *auth, const uint8_t source[AUTH_SOURCE_BYTES],
                         uint64_t now_ns, struct auth_refusal *refusal)
{
    uint8_t key[PENALTY_KEY_BYTES];
    penalty_key(source, "", key);
    (void)penalty_add(&auth->sources, key, now_ns);
    penalty_key(source, refusal->credential, key);
    if (penalty_left_ms(&auth->pairs, key, now_ns) != 0) {
        refusal->reason = AUTH_PENALTY;
    }
    refusal->wait_ms = penalty_add(&auth->pairs, key, now_ns);
}

static void admit_succeeded(struct auth *auth, const uint8_t source[AUTH_SOURCE_BYTES],
                            const char *credential)
{
    uint8_t key[PENALTY_KEY_BYTES];
    penalty_key(source, "", key);
    penalty_forget(&auth->sources, key);
    penalty_key(source, credential, key);
    penalty_forget(&auth->pairs, key);
}

/* A connection that shows nothing guesses nothing; the others are authenticated. */
static bool is_a_guess(enum auth_reason reason)
{
    return reason != AUTH_NOTHING_SHOWN && reason != AUTH_SUSPENDED && reason != AUTH_EXPIRED &&
           reason != AUTH_REVOKED && reason != AUTH_NOT_FOR_THIS;
}

enum ga_status auth_admit(struct auth *auth, const struct auth_claim *claim, int64_t now,
                          uint64_t now_ns, struct auth_grant *grant, struct auth_refusal *refusal)
{
    struct auth_grant granted = {0};
    struct auth_refusal refused = {0};
    enum ga_status status = admit(auth, claim, now, &granted, &refused);
    if (status == GA_OK) {
        admit_succeeded(auth, claim->source, granted.credential);
        *grant = granted;
        return GA_OK;
    }
    bool shown = (claim->token != NULL && *claim->token != 0) || claim->proof == AUTH_PROVES_KEY;
    if (status == GA_DENIED && shown && is_a_guess(refused.reason)) {
        admit_failed(auth, claim->source, now_ns, &refused);
    }
    *refusal = refused;
    return status;
}

/* Whether the credential or the local user of a grant is still what it was. */
static enum ga_status still_his(struct auth *auth, const struct auth_grant *grant, uint64_t *number,
                                struct auth_refusal *refusal)
{
    enum ga_status status;
    struct store_credential credential = {0};
    struct store_local local = {0};
    bool gone;
    if (*grant->credential != 0) {
        status = store_credential_get(auth->store, grant->credential, &credential);
        gone = credential.revoked != 0;
        *number = credential.tenant_number;
    } else {
        status = store_local_get(auth->store, grant->by == AUTH_BY_GID ? STORE_GID : STORE_UID,
                                 grant->number, &local);
        gone = strcmp(local.user, grant->user) != 0 || local.tenant_number != grant->tenant.number;
        *number = local.tenant_number;
    }
    if (status != GA_OK && status != GA_NOT_FOUND) {
        return store_fails(auth, status, refusal);
    }
    if (status == GA_NOT_FOUND || gone) {
        admit_refuse(refusal, AUTH_REVOKED, "%s %s was revoked",
                     *grant->credential != 0 ? "credential" : "the place of a local user of",
                     *grant->credential != 0 ? grant->credential : grant->tenant.name);
        snprintf(refusal->why, sizeof refusal->why,
                 "the right to use this server was revoked by its administrator");
        return GA_DENIED;
    }
    return GA_OK;
}

enum ga_status auth_still(struct auth *auth, struct auth_grant *grant, struct auth_refusal *refusal)
{
    struct auth_grant renewed = *grant;
    struct auth_refusal refused = {0};
    uint64_t number;
    bool suspended;
    const char *reason;
    enum ga_status status = still_his(auth, grant, &number, &refused);
    if (status == GA_OK && !grant->admin) {
        status = admit_fill(auth, number, &renewed, &suspended, &reason);
        if (status == GA_NOT_FOUND) {
            status = admit_refuse(&refused, AUTH_REVOKED, "%s", store_why(auth->store));
            snprintf(refused.why, sizeof refused.why,
                     "the right to use this server was revoked by its administrator");
        } else if (status != GA_OK) {
            store_fails(auth, status, &refused);
        } else {
            renewed.tenant.suspended = suspended;
            memmove(renewed.tenant.reason, reason, strlen(reason) + 1);
        }
    }
    if (status == GA_OK) {
        *grant = renewed;
    } else {
        *refusal = refused;
    }
    return status;
}
