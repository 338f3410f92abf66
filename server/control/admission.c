/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/admission.h"

#include <stdio.h>

#include "api/cuda_names.h"
#include "server/control/client_limits.h"
#include "server/control/client_state.h"
#include "server/control/control.h"
#include "server/control/drain.h"
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
    bool good = again || tenant_admits(tenant, refusal->why, sizeof refusal->why);
    if (good && !again && !control_application_admit(client->application, tenant)) {
        good = false;
        snprintf(refusal->why, sizeof refusal->why,
                 "this program is connected already: is this server named twice?");
    }
    tenant_drop(tenant);
    return good || admission_refuse(refusal, CUDA_ERROR_NOT_PERMITTED);
}

/* As yet everybody is the tenant "default". */
static bool may_enter(struct control_client *client, struct refusal *refusal)
{
    struct control *control = client->control;
    const struct tenant_terms terms = tenant_default();
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
    (void)hello;
    if (!may_enter(client, &refusal)) {
        control_client_refuse(client, sequence, refusal.result, refusal.why);
        return false;
    }
    return true;
}
