/* SPDX-License-Identifier: Apache-2.0 */
/* What the scheduler is told of tenants: whose an application is, and what is agreed on with its
 * tenant; and what it says of a seat. */
#ifndef SERVER_CONTROL_SCHEDULING_TERMS_H
#define SERVER_CONTROL_SCHEDULING_TERMS_H

#include <stdbool.h>
#include <stdint.h>

struct control_application;
struct scheduler_session;
struct scheduler_terms;
struct seat;
struct tenant;

/* Whose an application is, for the scheduler: its tenant's number in the store, so that no new
 * session is one of a new tenant. With auth = off nobody says whose he is: then each is for itself,
 * and has no cap. */
uint64_t scheduling_tenant_of(const struct control_application *application);
struct scheduler_terms scheduling_terms_of(const struct control_application *application);
/* A tenant is here, or has other terms, or is throttled or no more. */
void scheduling_tenant_changed(struct tenant *tenant);

/* What the scheduler knows of a seat on a GPU of the list that clients see. False: it takes no
 * turns there. */
bool scheduling_look(const struct seat *seat, uint32_t gpu, struct scheduler_session *session);

#endif
