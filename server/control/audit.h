/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log as gpuaasd writes it (key audit_log): admissions, refusals, and changes by admins.
 * Without that key nothing is written, and nothing here does anything.
 *
 * Note: with audit_full = deny nobody new is let in while it cannot be written. Programs that run
 * are never touched; it is tried again every second. */
#ifndef SERVER_CONTROL_AUDIT_H
#define SERVER_CONTROL_AUDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "auth/auth.h"
#include "base/status.h"

struct control;
struct control_application;
struct refusal;

/* An error has been logged. */
GA_CHECKED enum ga_status audit_start(struct control *control);
void audit_end(struct control *control);

/* A connection is authenticated. `address`: its place. */
void audit_granted(struct control *control, const char *address, const struct auth_grant *grant);
/* Somebody was refused; a storm of these is not written line by line. */
void audit_refused(struct control *control, const char *address,
                   const struct auth_refusal *refusal);
/* As audit_refused, for a connection that wanted to administer; also if it shows again what was
 * refused before. */
void audit_admin_refused(struct control *control, const char *address,
                         const struct auth_refusal *refusal);
/* Why lines cannot be written; NULL: they can, or none are wanted. */
const char *audit_wrong(const struct control *control);
/* Whether a program may be let in. False, with `refusal`: not while nothing can be written. */
GA_CHECKED bool audit_lets_in(const struct control *control, struct refusal *refusal);
/* The session of an application has begun. False, with `refusal`: it must not, since that cannot be
 * written. */
GA_CHECKED bool audit_opens(const struct control_application *application, struct refusal *refusal);
/* An authenticated program was refused; a storm of these is not written line by line. */
void audit_turned_away(const struct control_application *application,
                       const struct refusal *refusal);
/* The application has ended. */
void audit_closes(const struct control_application *application);

/* An admin's request, done or tried. Texts may be NULL: there is none. */
struct audit_change {
    const char *who, *verb, *arguments, *before, *after, *error;
    const char *credential, *address; /* of an admin over the network */
    int64_t pid;                      /* of the others */
};
/* The line is on the disk when this returns, if it can be. */
void audit_changed(struct control *control, const struct audit_change *change);
/* Somebody who may not administer has tried to (`who` and `error` at least); a storm of these is
 * not written line by line. */
void audit_no_admin(struct control *control, const struct audit_change *change);

#endif
