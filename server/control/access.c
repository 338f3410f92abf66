/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/access.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/control/application.h"
#include "server/control/audit.h"
#include "server/control/claims.h"
#include "server/control/control.h"
#include "server/control/dismiss.h"
#include "server/storage/storage.h"
#include "server/tenants/member.h"
#include "server/tenants/tenant.h"

/* TLS handshakes with sources that fail: so many at once, and then one each so often. */
#define SLOW_BURST    64u
#define SLOW_EVERY_NS (25 * GA_NS_PER_MS)

/* ---- the store */

static void access_turn(uv_timer_t *timer);
static void access_ends_ask(struct control *control);

enum ga_status access_open(struct control *control)
{
    if (auth_open(control->storage.store, &control->auth) != GA_OK) {
        ga_error("no memory, or this machine has no randomness");
        return GA_NO_MEMORY;
    }
    control->access_timer.data = control;
    (void)uv_timer_init(&control->loop, &control->access_timer);
    uv_unref((uv_handle_t *)&control->access_timer);
    (void)uv_timer_start(&control->access_timer, access_turn, ACCESS_TURN_MS, ACCESS_TURN_MS);
    access_ends_ask(control);
    return GA_OK;
}

void access_close(struct control *control)
{
    if (control->access_timer.data != NULL) {
        uv_close((uv_handle_t *)&control->access_timer, NULL);
    }
    auth_close(control->auth);
    control->auth = NULL;
}

/* The store as it is now: it may have been opened anew. */
static enum ga_status access_store(struct control *control, struct store **store, char *why,
                                   size_t why_size)
{
    GA_TRY(storage_get(&control->storage, store, why, why_size));
    auth_set_store(control->auth, *store);
    return GA_OK;
}

static void store_failed(struct control *control, const char *why)
{
    if (storage_tell(&control->storage, STORAGE_UNREADABLE, why)) {
        ga_error("[server] store: %s; programs that run go on%s", why,
                 control->conf->server.auth ? ", nobody new is let in" : "");
    }
}

/* ---- admitted applications */

struct tenant_terms access_terms(const struct store_tenant *tenant)
{
    struct tenant_terms terms = {.number = tenant->number,
                                 .generation = tenant->generation,
                                 .limits = tenant->limits,
                                 .isolation = tenant->isolation,
                                 .exhausted = tenant->exhausted};
    _Static_assert(sizeof terms.name == sizeof tenant->name, "the same names");
    memcpy(terms.name, tenant->name, sizeof terms.name);
    memcpy(terms.gpu_types, tenant->gpu_types, sizeof terms.gpu_types);
    return terms;
}

struct tenant_terms access_everybody(struct control *control)
{
    char why[300];
    struct store *store;
    struct store_tenant tenant;
    enum ga_status status = storage_get(&control->storage, &store, why, sizeof why);
    if (status == GA_OK) {
        status = store_tenant_get(store, TENANT_DEFAULT, &tenant);
        storage_note(&control->storage, status);
    }
    return status == GA_OK ? access_terms(&tenant) : tenant_default();
}

/* GA_OK: what there is to be done is done. Others: the store fails. That its tenant is suspended
 * ends nothing that runs: an admin may end it, too (tenant.suspend). A ticket begins nothing then
 * (and client_open.c gives none). */
static enum ga_status application_look(struct control_application *application)
{
    struct auth_refusal refusal;
    struct auth_grant *grant = application->grant;
    enum ga_status status = auth_still(application->control->auth, grant, &refusal);
    if (status == GA_DENIED) {
        dismiss_application(application, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED, refusal.why);
        return GA_OK;
    }
    if (status != GA_OK) {
        return status;
    }
    const struct tenant_terms terms = access_terms(&grant->tenant);
    memcpy(application->tenant->terms.name, terms.name, sizeof terms.name); /* it may be renamed */
    tenant_renew(&application->control->tenants, &terms);
    if (application->member != NULL) {
        member_limit(application->member, &grant->limits);
    }
    if (grant->tenant.suspended && !application->session) {
        claims_take_back(application);
    }
    return GA_OK;
}

/* Those whose right may have changed. */
static enum ga_status applications_look(struct control *control)
{
    enum ga_status status = GA_OK;
    ga_list_each (at, next, &control->applications) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (application->grant != NULL && status == GA_OK) {
            status = application_look(application);
        }
    }
    return status;
}

void access_look(struct control *control)
{
    uint64_t changes = control->changes;
    char why[400];
    struct store *store;
    enum ga_status status = access_store(control, &store, why, sizeof why);
    if (status == GA_OK) {
        status = store_changes(store, &changes);
        if (status == GA_OK && changes != control->changes) {
            status = applications_look(control);
        }
        snprintf(why, sizeof why, "%s", status != GA_OK ? store_why(store) : "");
        storage_note(&control->storage, status);
    }
    if (status == GA_OK) {
        control->changes = changes;
        (void)storage_tell(&control->storage, STORAGE_UNREADABLE, NULL);
    } else {
        store_failed(control, why);
    }
}

/* Only if somebody may read that. */
static void access_ends_ask(struct control *control)
{
    if (control->conf->server.http[0] != 0) {
        credential_ends_ask(control);
    }
}

static void access_turn(uv_timer_t *timer)
{
    struct control *control = timer->data;
    access_look(control);
    storage_look(&control->storage);
    certificates_look(control);
    access_ends_ask(control);
}

/* ---- admission */

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

static enum ga_status access_decide(struct control *control, const struct transport_conn *conn,
                                    const char *address, const char *token, bool admin,
                                    struct auth_grant *grant, struct auth_refusal *refusal)
{
    const struct transport_identity identity = transport_identify(conn);
    bool certified = identity.proof == TRANSPORT_PROVES_KEY && identity.uri[0] != 0;
    struct auth_claim claim = claim_of(&identity, admin && certified ? NULL : token);
    claim.admin = admin;
    transport_source(conn, claim.source);
    char why[400];
    struct store *store;
    enum ga_status status = access_store(control, &store, why, sizeof why);
    if (status == GA_OK) {
        status = auth_admit(control->auth, &claim, time(NULL), ga_clock_ns(), grant, refusal);
        snprintf(why, sizeof why, "%s", store_why(store));
        storage_note(&control->storage, status);
    } else {
        *refusal = (struct auth_refusal){
            .reason = AUTH_STORE_FAILS,
            .why = "the server cannot look up who you are at the moment; its log says why"};
        snprintf(refusal->detail, sizeof refusal->detail, "%.*s", (int)sizeof refusal->detail - 1,
                 why);
    }
    if (status == GA_OK) {
        audit_granted(control, address, grant);
    } else {
        if (admin) {
            audit_admin_refused(control, address, refusal);
        } else {
            audit_refused(control, address, refusal);
        }
        control->refusals[refusal->reason]++;
        ga_info_of(address, "not admitted (%s): %s", auth_reason_name(refusal->reason),
                   refusal->detail);
    }
    if (status != GA_OK && status != GA_DENIED) {
        store_failed(control, why);
    }
    return status;
}

enum ga_status access_ask(struct control *control, const struct transport_conn *conn,
                          const char *address, const char *token, struct auth_grant *grant,
                          struct auth_refusal *refusal)
{
    return access_decide(control, conn, address, token, false, grant, refusal);
}

enum ga_status access_ask_admin(struct control *control, const struct transport_conn *conn,
                                const char *address, const char *token, struct auth_grant *grant,
                                struct auth_refusal *refusal)
{
    return access_decide(control, conn, address, token, true, grant, refusal);
}

bool access_admin_still(struct control *control, struct auth_grant *grant)
{
    char why[400];
    struct store *store;
    struct auth_refusal refusal;
    return (grant->expires == 0 || grant->expires > time(NULL)) &&
           access_store(control, &store, why, sizeof why) == GA_OK &&
           auth_still(control->auth, grant, &refusal) == GA_OK;
}

bool access_is_slow(const struct control *control, const struct transport_conn *conn)
{
    uint8_t source[TRANSPORT_SOURCE_BYTES];
    if (!control->conf->server.auth) {
        return false;
    }
    transport_source(conn, source);
    return auth_penalty_ms(control->auth, source, ga_clock_ns()) != 0;
}

uint64_t access_slow_wait_ns(struct control *control)
{
    uint64_t now_ns = ga_clock_ns(), ahead_ns = (SLOW_BURST - 1) * SLOW_EVERY_NS;
    uint64_t used_ns = control->slow_ns < now_ns ? now_ns : control->slow_ns;
    if (used_ns - now_ns > ahead_ns) {
        return used_ns - now_ns - ahead_ns;
    }
    control->slow_ns = used_ns + SLOW_EVERY_NS;
    return 0;
}
