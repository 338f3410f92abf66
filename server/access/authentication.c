/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/authentication.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/access/access.h"

/* TLS handshakes with sources that fail: so many at once, and then one each so often. */
#define SLOW_BURST    64u
#define SLOW_EVERY_NS (25 * GA_NS_PER_MS)

static struct auth_claim claim_of(const struct transport_identity *identity, const char *token)
{
    return (struct auth_claim){.proof = identity->proof == TRANSPORT_PROVES_KEY ? AUTH_PROVES_KEY
                                        : identity->proof == TRANSPORT_PROVES_USER
                                            ? AUTH_PROVES_USER
                                            : AUTH_PROVES_NOTHING,
                               .uri = identity->uri,
                               .certificate = identity->certificate,
                               .uid = identity->uid,
                               .gid = identity->gid,
                               .pid = identity->pid,
                               .token = token};
}

static enum ga_status authentication_decide(struct access *access,
                                            const struct transport_conn *conn, const char *address,
                                            const char *token, bool admin, struct auth_grant *grant,
                                            struct auth_refusal *refusal)
{
    const struct transport_identity identity = transport_identify(conn);
    bool certified = identity.proof == TRANSPORT_PROVES_KEY && identity.uri[0] != 0;
    struct auth_claim claim = claim_of(&identity, admin && certified ? NULL : token);
    claim.admin = admin;
    transport_source(conn, claim.source);
    char why[400];
    struct store *store;
    enum ga_status status = access_store(access, &store, why, sizeof why);
    if (status == GA_OK) {
        status = auth_admit(access->auth, &claim, timers_wall_s(access->timers),
                            timers_now(access->timers), grant, refusal);
        snprintf(why, sizeof why, "%s", store_why(store));
        storage_note(access->storage, status);
    } else {
        *refusal = (struct auth_refusal){
            .reason = AUTH_STORE_FAILS,
            .why = "the server cannot look up who you are at the moment; its log says why"};
        snprintf(refusal->detail, sizeof refusal->detail, "%.*s", (int)sizeof refusal->detail - 1,
                 why);
    }
    if (status == GA_OK) {
        audit_granted(&access->audit, address, grant);
    } else {
        if (admin) {
            audit_admin_refused(&access->audit, address, refusal);
        } else {
            audit_refused(&access->audit, address, refusal);
        }
        access->refusals[refusal->reason]++;
        ga_info_of(address, "not admitted (%s): %s", auth_reason_name(refusal->reason),
                   refusal->detail);
    }
    if (status != GA_OK && status != GA_DENIED) {
        access_store_failed(access, why);
    }
    return status;
}

enum ga_status authentication_ask(struct access *access, const struct transport_conn *conn,
                                  const char *address, const char *token, struct auth_grant *grant,
                                  struct auth_refusal *refusal)
{
    return authentication_decide(access, conn, address, token, false, grant, refusal);
}

enum ga_status authentication_ask_admin(struct access *access, const struct transport_conn *conn,
                                        const char *address, const char *token,
                                        struct auth_grant *grant, struct auth_refusal *refusal)
{
    return authentication_decide(access, conn, address, token, true, grant, refusal);
}

bool authentication_holds(struct access *access, struct auth_grant *grant)
{
    char why[400];
    struct store *store;
    struct auth_refusal refusal;
    return (grant->expires == 0 || grant->expires > timers_wall_s(access->timers)) &&
           access_store(access, &store, why, sizeof why) == GA_OK &&
           auth_still(access->auth, grant, &refusal) == GA_OK;
}

bool authentication_is_slow(const struct access *access, const struct transport_conn *conn)
{
    uint8_t source[TRANSPORT_SOURCE_BYTES];
    if (!access->conf->server.auth) {
        return false;
    }
    transport_source(conn, source);
    return auth_penalty_ms(access->auth, source, timers_now(access->timers)) != 0;
}

uint64_t authentication_slow_wait_ns(struct access *access)
{
    uint64_t now_ns = timers_now(access->timers), ahead_ns = (SLOW_BURST - 1) * SLOW_EVERY_NS;
    uint64_t used_ns = access->slow_ns < now_ns ? now_ns : access->slow_ns;
    if (used_ns - now_ns > ahead_ns) {
        return used_ns - now_ns - ahead_ns;
    }
    access->slow_ns = used_ns + SLOW_EVERY_NS;
    return 0;
}
