/* SPDX-License-Identifier: Apache-2.0 */
/* The applications of a tenant: which may begin, and open a GPU; and what is looked after for them
 * as long as the tenant is here. */
#ifndef SERVER_APPLICATIONS_TENANT_APPLICATIONS_H
#define SERVER_APPLICATIONS_TENANT_APPLICATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/tenants/tenant.h"

struct control_application;
struct refusal;
struct status_sink;

/* For the table of tenants. */
extern const struct tenant_hooks tenant_application_hooks;

/* Whether one more application may begin. False, with `refusal`, which names the limit. */
bool tenant_admits(const struct tenant *tenant, const struct control_application *application,
                   struct refusal *refusal);
/* Whether an application of it may open this GPU, an index into the list of gpuaasd. The same.
 * `claims`: what others have claimed (claims.h) counts as if they used it. */
bool tenant_may_open(const struct control_application *application, uint32_t gpu, bool claims,
                     struct refusal *refusal);
/* A session of it begins: the application has opened its first device. */
void tenant_session_begin(struct control_application *application);
/* An application of it begins, and ends. */
void tenant_join(struct tenant *tenant, struct control_application *application);
void tenant_leave(struct control_application *application);

/* Tells the sink each tenant. */
void tenant_status(const struct tenant_table *table, const struct status_sink *sink);

#endif
