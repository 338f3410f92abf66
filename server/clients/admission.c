/* SPDX-License-Identifier: Apache-2.0 */
#include "server/clients/admission.h"

#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/access/access.h"
#include "server/access/audit.h"
#include "server/access/authentication.h"
#include "server/applications/drain.h"
#include "server/applications/tenant_applications.h"
#include "server/clients/client_application.h"
#include "server/clients/client_limits.h"
#include "server/clients/client_state.h"
#include "server/tenants/member.h"
#include "server/tenants/tenant.h"

static bool admission_no_memory(struct refusal *refusal)
{
    return refusal_set(refusal, REFUSAL_SERVER, CUDA_ERROR_OUT_OF_MEMORY, "no memory");
}

/* False: no memory. */
static bool member_take(struct control_application *application, struct tenant *tenant)
{
    const struct auth_grant *grant = application->grant;
    if (grant != NULL && *grant->user != 0) {
        application->member = member_find(tenant, grant->user, &grant->limits);
        return application->member != NULL;
    }
    return true;
}

/* One more application of a tenant. */
static bool tenant_takes(struct control_client *client, const struct tenant_terms *terms,
                         struct refusal *refusal)
{
    struct tenant *tenant = tenant_find(&client->room->applications->tenants, terms);
    if (tenant == NULL) {
        return admission_no_memory(refusal);
    }
    bool again = client_application_rejoin(client, tenant);
    if (!again && drain_refuses(client->room->applications, DRAIN_NODE, refusal)) {
        tenant_drop(tenant);
        return false;
    }
    if (!again && !member_take(client->application, tenant)) {
        tenant_drop(tenant);
        return admission_no_memory(refusal);
    }
    bool good = again || (tenant_admits(tenant, client->application, refusal) &&
                          audit_lets_in(&client->room->access->audit, refusal));
    if (good && !again && !control_application_admit(client->application, tenant)) {
        good = refusal_set(refusal, REFUSAL_REQUEST, CUDA_ERROR_NOT_PERMITTED,
                           "this program is connected already: is this server named twice?");
    }
    tenant_drop(tenant);
    return good;
}

/* Images that a tenant's programs have sent are the tenant's. */
static enum ga_status grant_take(struct control_application *application,
                                 const struct auth_grant *grant)
{
    application->grant = malloc(sizeof *grant);
    if (application->grant == NULL) {
        return GA_NO_MEMORY;
    }
    *application->grant = *grant;
    memcpy(application->user, grant->user, sizeof grant->user);
    memcpy(application->credential, grant->credential, sizeof grant->credential);
    application->owner = owner_of_tenant(grant->tenant.number);
    return GA_OK;
}

/* Whose it is. With auth = off everybody is the tenant "default". */
static bool terms_find(struct control_client *client, const char *token, struct tenant_terms *terms,
                       struct refusal *refusal)
{
    struct clients *clients = client->room;
    struct auth_grant grant;
    struct auth_refusal refused;
    if (!clients->conf->server.auth) {
        *terms = access_everybody(clients->access);
        return true;
    }
    enum ga_status status = authentication_ask(
        clients->access, &client->conn, control_client_address(client), token, &grant, &refused);
    if (status != GA_OK) {
        return refusal_set(refusal, REFUSAL_CREDENTIAL, CUDA_ERROR_NOT_PERMITTED, "%s",
                           refused.why);
    }
    *terms = access_terms(&grant.tenant);
    if (grant_take(client->application, &grant) != GA_OK) {
        return admission_no_memory(refusal);
    }
    return true;
}

static bool may_enter(struct control_client *client, const char *token, struct refusal *refusal)
{
    struct clients *clients = client->room;
    struct tenant_terms terms;
    if (!terms_find(client, token, &terms, refusal)) {
        return false;
    }
    if (!tenant_takes(client, &terms, refusal)) {
        return false;
    }
    if (!control_client_admit(client)) {
        return refusal_set(refusal, REFUSAL_CLIENTS, CUDA_ERROR_NO_DEVICE,
                           "it serves %u applications already ([server] clients)", clients->count);
    }
    return true;
}

bool admission_ask(struct control_client *client, const struct handshake_hello *hello,
                   uint64_t sequence)
{
    struct refusal refusal;
    if (!may_enter(client, hello->token, &refusal)) {
        control_client_refuse(client, sequence, &refusal);
        return false;
    }
    return true;
}
