/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/control/access.h"
#include "server/control/audit.h"
#include "server/control/client_limits.h"
#include "server/control/client_state.h"
#include "server/control/control.h"
#include "server/control/drain.h"
#include "server/control/member.h"
#include "server/control/tenant.h"

struct refusal {
    int32_t result; /* CUresult */
    char why[300];
};

static bool admission_refuse(struct refusal *refusal, int32_t result)
{
    refusal->result = result;
    return false;
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
    struct tenant *tenant = tenant_find(client->control, terms);
    if (tenant == NULL) {
        snprintf(refusal->why, sizeof refusal->why, "no memory");
        return admission_refuse(refusal, CUDA_ERROR_OUT_OF_MEMORY);
    }
    bool again = control_client_rejoin(client, tenant);
    if (!again && drain_refuses(client->control, DRAIN_NODE, refusal->why, sizeof refusal->why)) {
        tenant_drop(tenant);
        return admission_refuse(refusal, CUDA_ERROR_NO_DEVICE);
    }
    if (!again && !member_take(client->application, tenant)) {
        tenant_drop(tenant);
        snprintf(refusal->why, sizeof refusal->why, "no memory");
        return admission_refuse(refusal, CUDA_ERROR_OUT_OF_MEMORY);
    }
    bool good =
        again || tenant_admits(tenant, client->application, refusal->why, sizeof refusal->why);
    if (good && !again) {
        good = audit_lets_in(client->control, refusal->why, sizeof refusal->why);
    }
    if (good && !again && !control_application_admit(client->application, tenant)) {
        good = false;
        snprintf(refusal->why, sizeof refusal->why,
                 "this program is connected already: is this server named twice?");
    }
    tenant_drop(tenant);
    return good || admission_refuse(refusal, CUDA_ERROR_NOT_PERMITTED);
}

/* What a tenant's programs have sent is the tenant's. */
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
    struct control *control = client->control;
    struct auth_grant grant;
    struct auth_refusal refused;
    if (!control->conf->server.auth) {
        *terms = access_everybody(control);
        return true;
    }
    enum ga_status status =
        access_ask(control, &client->conn, control_client_address(client), token, &grant, &refused);
    if (status != GA_OK) {
        snprintf(refusal->why, sizeof refusal->why, "%s", refused.why);
        return admission_refuse(refusal, CUDA_ERROR_NOT_PERMITTED);
    }
    *terms = access_terms(&grant.tenant);
    if (grant_take(client->application, &grant) != GA_OK) {
        snprintf(refusal->why, sizeof refusal->why, "no memory");
        return admission_refuse(refusal, CUDA_ERROR_OUT_OF_MEMORY);
    }
    return true;
}

static bool may_enter(struct control_client *client, const char *token, struct refusal *refusal)
{
    struct control *control = client->control;
    struct tenant_terms terms;
    if (!terms_find(client, token, &terms, refusal)) {
        return false;
    }
    if (!tenant_takes(client, &terms, refusal)) {
        return false;
    }
    if (!control_client_admit(client)) {
        snprintf(refusal->why, sizeof refusal->why,
                 "it serves %u applications already ([server] clients)", control->client_count);
        return admission_refuse(refusal, CUDA_ERROR_NO_DEVICE);
    }
    return true;
}

bool admission_ask(struct control_client *client, const struct handshake_hello *hello,
                   uint64_t sequence)
{
    struct refusal refusal;
    if (!may_enter(client, hello->token, &refusal)) {
        control_client_refuse(client, sequence, refusal.result, refusal.why);
        return false;
    }
    return true;
}
