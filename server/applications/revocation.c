/* SPDX-License-Identifier: Apache-2.0 */
#include "server/applications/revocation.h"

#include <string.h>

#include "api/cuda_names.h"
#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/applications/claims_line.h"
#include "server/applications/terminate.h"
#include "server/tenants/member.h"
#include "server/tenants/tenant.h"

/* GA_OK: what there is to be done is done. Others: the store fails. That its tenant is suspended
 * ends nothing that runs: an admin may end it, too (tenant.suspend). A ticket begins nothing then
 * (and client_open.c gives none). */
static enum ga_status application_look(struct control_application *application)
{
    struct auth_refusal refusal;
    struct applications *room = application->room;
    struct auth_grant *grant = application->grant;
    enum ga_status status = auth_still(room->access->auth, grant, &refusal);
    if (status == GA_DENIED) {
        terminate_application(application, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED,
                              refusal.why);
        return GA_OK;
    }
    if (status != GA_OK) {
        return status;
    }
    const struct tenant_terms terms = access_terms(&grant->tenant);
    memcpy(application->tenant->terms.name, terms.name, sizeof terms.name); /* it may be renamed */
    tenant_renew(&room->tenants, &terms);
    if (application->member != NULL) {
        member_limit(application->member, &grant->limits);
    }
    if (grant->tenant.suspended && !application->session) {
        claims_take_back(application);
    }
    return GA_OK;
}

enum ga_status revocation_look(struct access_watcher *watcher)
{
    struct applications *room = ga_container(watcher, struct applications, watcher);
    enum ga_status status = GA_OK;
    ga_list_each (at, next, &room->all) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (application->grant != NULL && status == GA_OK) {
            status = application_look(application);
        }
    }
    return status;
}
