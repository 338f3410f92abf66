/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log as gpuaasd writes it (key audit_log): admissions, refusals, and changes by admins.
 * Without that key nothing is written, and nothing here does anything.
 *
 * Note: with audit_full = deny nobody new is let in while it cannot be written. Programs that run
 * are never touched; it is tried again every second. */
#ifndef SERVER_ACCESS_AUDIT_H
#define SERVER_ACCESS_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/auth.h"
#include "base/status.h"
#include "conf/conf.h"
#include "server/storage/flush.h"
#include "server/timers.h"

struct refusal;

struct audit {
    const struct conf *conf;
    struct auth_audit *log; /* NULL: none is written */
    char wrong[700];        /* why lines cannot be written; "": they can */
    uint64_t admins_refused;
    struct flush *flush;
    struct server_timers *timers;
    struct server_timer timer;
};

/* An error has been logged. */
GA_CHECKED enum ga_status audit_start(struct audit *audit);
void audit_end(struct audit *audit);

/* A connection is authenticated. `address`: its place. */
void audit_granted(struct audit *audit, const char *address, const struct auth_grant *grant);
/* Somebody was refused; a storm of these is not written line by line. */
void audit_refused(struct audit *audit, const char *address, const struct auth_refusal *refusal);
/* As audit_refused, for a connection that wanted to administer; also if it shows again what was
 * refused before. */
void audit_admin_refused(struct audit *audit, const char *address,
                         const struct auth_refusal *refusal);
/* Why lines cannot be written; NULL: they can, or none are wanted. */
const char *audit_wrong(const struct audit *audit);

/* A program that is authenticated. */
struct audit_program {
    const uint8_t *id; /* 16 bytes, of its application */
    const char *tenant, *user, *label, *address, *transport;
};
/* Whether a program may be let in. False, with `refusal`: not while nothing can be written. */
GA_CHECKED bool audit_lets_in(const struct audit *audit, struct refusal *refusal);
/* Its session has begun. False, with `refusal`: it must not, since that cannot be written. */
GA_CHECKED bool audit_opens(struct audit *audit, const struct audit_program *program,
                            struct refusal *refusal);
/* The program was refused; a storm of these is not written line by line. */
void audit_turned_away(struct audit *audit, const struct audit_program *program,
                       const struct refusal *refusal);
/* Its session has ended, after so long. */
void audit_closes(struct audit *audit, const struct audit_program *program, uint64_t lived_ns,
                  const char *reason);

/* An admin's request, done or tried. Texts may be NULL: there is none. */
struct audit_change {
    const char *who, *verb, *arguments, *before, *after, *error;
    const char *credential, *address; /* of an admin over the network */
    int64_t pid;                      /* of the others */
};
/* The line is on the disk when the flush of the storage says so; the answer waits for that. */
void audit_changed(struct audit *audit, const struct audit_change *change);
/* Somebody who may not administer has tried to (`who` and `error` at least); a storm of these is
 * not written line by line. */
void audit_no_admin(struct audit *audit, const struct audit_change *change);

#endif
