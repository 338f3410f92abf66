/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's facts about tenants: the tenant of an application, and that tenant's terms. */
#ifndef SERVER_APPLICATIONS_SCHEDULING_TERMS_H
#define SERVER_APPLICATIONS_SCHEDULING_TERMS_H

#include <stdint.h>

struct control_application;
struct scheduler_terms;
struct tenant;

/* The tenant of an application, for the scheduler: its number in the store, so that no new session
 * is one of a new tenant. With auth = off there are no tenants: then each application is for
 * itself, and has no cap. */
uint64_t scheduling_tenant_of(const struct control_application *application);
struct scheduler_terms scheduling_terms_of(const struct control_application *application);
/* A tenant is here, or has other terms, or is throttled or no more. */
void scheduling_tenant_changed(struct tenant *tenant);

#endif
