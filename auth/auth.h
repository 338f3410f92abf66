/* SPDX-License-Identifier: Apache-2.0 */
/* Authentication and authorization: admission, tokens, the certificates of our own authority, the
 * audit log.
 *
 * Nothing here touches a socket. The transport knows the identity that a connection has proved; the
 * connection may also show a token; auth_admit finds the tenant in the store. Secrets are wiped
 * when they are no longer needed; what is kept of them is a SHA-256. Times are seconds since 1970
 * (UTC), except those that end in _ns, which are of CLOCK_MONOTONIC. `why` is one line for
 * people. */
#ifndef AUTH_AUTH_H
#define AUTH_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/audit.h" /* IWYU pragma: export */
#include "auth/ca.h"    /* IWYU pragma: export */
#include "base/status.h"
#include "store/store.h"

#define AUTH_SOURCE_BYTES 16u
#define AUTH_HASH_BYTES   STORE_HASH_BYTES
#define AUTH_WHY_BYTES    300u

/* ---- admission */

enum auth_proof {
    AUTH_PROVES_NOTHING,
    AUTH_PROVES_KEY,  /* it has the private key of `certificate`, signed by an authority of ours */
    AUTH_PROVES_USER, /* it is a process of a user of this machine */
};

/* The claim of a connection: its proof, and what it has shown. Pointers are borrowed. */
struct auth_claim {
    enum auth_proof proof;
    const char *uri;            /* KEY: the URI of the certificate; "": none */
    const uint8_t *certificate; /* KEY: its SHA-256 */
    uint32_t uid, gid;          /* USER */
    int32_t pid;
    const char *token; /* NULL, "": none */
    uint8_t source[AUTH_SOURCE_BYTES];
    bool admin; /* wants to administrate, not to use GPUs */
};

enum auth_by { AUTH_BY_TOKEN, AUTH_BY_CERTIFICATE, AUTH_BY_UID, AUTH_BY_GID };

struct auth_grant {
    enum auth_by by;
    struct store_tenant tenant;        /* not of an administrator: without name */
    struct limits limits;              /* of the tenant and of the user: the stricter ones */
    char user[STORE_NAME_MAX + 1];     /* "": none is named; an administrator's name */
    char credential[STORE_ID_MAX + 1]; /* "": a local user */
    uint32_t number;                   /* of a local user: uid or gid */
    int64_t expires;                   /* 0: never */
    bool admin;
};

/* The reasons of refusals, for counters and the audit log. */
enum auth_reason {
    AUTH_NOTHING_SHOWN,
    AUTH_MALFORMED, /* no token, or no URI of ours */
    AUTH_UNKNOWN,   /* an id, or a local user, that the store does not know */
    AUTH_WRONG,     /* the id is known, the secret is another one */
    AUTH_EXPIRED,
    AUTH_REVOKED,
    AUTH_NOT_FOR_THIS, /* an administrator's for programs, or the other way round */
    AUTH_SUSPENDED,
    AUTH_PENALTY,     /* what this source has shown is wrong, as it was shortly before */
    AUTH_STORE_FAILS, /* nobody's fault but the store's */
    AUTH_REASON_COUNT,
};
const char *auth_reason_name(enum auth_reason reason);

struct auth_refusal {
    enum auth_reason reason;
    char why[AUTH_WHY_BYTES];    /* for the peer; does not say which half was wrong */
    char detail[AUTH_WHY_BYTES]; /* for the audit log: what was wrong; never a secret */
    /* The credential that was shown; "": none, or none by its form */
    char credential[STORE_ID_MAX + 1];
    uint64_t wait_ms; /* for so long, failures with it from this source have the reason PENALTY */
};

struct auth;

/* Borrows the store until auth_close; both belong to one thread. GA_NO_MEMORY. */
GA_CHECKED enum ga_status auth_open(struct store *store, struct auth **out);
void auth_close(struct auth *auth);
/* Uses another store from now on: the old one had to be closed (GA_LOST). Penalties stay. */
void auth_set_store(struct auth *auth, struct store *store);

/* A right secret is accepted, whatever has failed before at its source. The first of these that is
 * there decides, and the others are not looked at: the token, a certificate with a URI of ours, the
 * local user (uid, then gid). `grant` or `refusal` is set. GA_DENIED. GA_AGAIN, GA_LOST, ...: the
 * store fails, and `refusal` says so; the source is not punished. Note: a few point queries of the
 * store, some ten microseconds, and a hash. */
GA_CHECKED enum ga_status auth_admit(struct auth *auth, const struct auth_claim *claim, int64_t now,
                                     uint64_t now_ns, struct auth_grant *grant,
                                     struct auth_refusal *refusal);
/* Whether what was granted holds: tenant and limits in `grant` are made new (also `suspended`,
 * which the caller judges). GA_DENIED with `refusal`: its credential has been revoked, its tenant
 * or local user removed. That a credential has expired ends nothing that runs. */
GA_CHECKED enum ga_status auth_still(struct auth *auth, struct auth_grant *grant,
                                     struct auth_refusal *refusal);
/* How long the source counts as one that fails, in ms; 0: it does not. For code that spends time on
 * its encryption. */
uint64_t auth_penalty_ms(const struct auth *auth, const uint8_t source[AUTH_SOURCE_BYTES],
                         uint64_t now_ns);

/* ---- tokens: gpuaas_ID_SECRET. ID: 12 letters and digits. SECRET: 32 random bytes, base64url */

#define AUTH_TOKEN_BYTES 64u /* of the text, with its end */
/* How long tokens and certificates may live */
#define AUTH_TTL_MIN_S INT64_C(60)
#define AUTH_TTL_MAX_S (INT64_C(3653) * 86400)

/* Makes a token and enters it in the store; `text` is the only copy of the secret, to be wiped by
 * the caller (auth_wipe). `user` "": the tenant's own; `name`: for people. `credential` gets what
 * was entered. Statuses as of store_credential_put; GA_INVALID: `ttl_s` is not between a minute and
 * ten years. */
GA_CHECKED enum ga_status auth_token_issue(struct store *store, const char *tenant,
                                           const char *user, const char *name, int64_t ttl_s,
                                           int64_t now, char text[AUTH_TOKEN_BYTES],
                                           struct store_credential *credential, char *why,
                                           size_t why_size);
/* Whether that would be refused, with the same statuses; nothing is made. */
GA_CHECKED enum ga_status auth_token_may_issue(struct store *store, const char *tenant,
                                               const char *user, const char *name, int64_t ttl_s,
                                               int64_t now, char *why, size_t why_size);
/* Whether it is a token by its form. `hash`: SHA-256 of the secret. */
bool auth_token_read(const char *text, char id[STORE_ID_MAX + 1], uint8_t hash[AUTH_HASH_BYTES]);
/* Overwrites a secret. */
void auth_wipe(void *secret, size_t size);

/* ---- names in certificates: gpuaas://tenant/NAME/CREDENTIAL, gpuaas://admin/NAME/CREDENTIAL */

struct auth_uri {
    bool admin;
    char name[STORE_NAME_MAX + 1];
    char credential[STORE_ID_MAX + 1];
};

#define AUTH_URI_BYTES 128u

bool auth_uri_read(const char *text, struct auth_uri *uri);
void auth_uri_write(const struct auth_uri *uri, char text[AUTH_URI_BYTES]);

#endif
