/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant as gpuaasd sees it: one with applications here now, and their limits together.
 *
 * What a reader would get wrong: a tenant is here only as long as an application of it is, or a
 * backend process of such a one; what is kept of tenants is kept elsewhere. Figures of backend
 * processes are strangers' numbers: they decide nothing but what their own tenant is told. */
#ifndef SERVER_TENANTS_TENANT_H
#define SERVER_TENANTS_TENANT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "base/list.h"
#include "base/status.h"
#include "server/tenants/lender.h"
#include "server/timers.h"

#define TENANT_NAME_MAX 65u       /* with the NUL */
#define TENANT_DEFAULT  "default" /* of all programs while there is no authentication */

struct devices;
struct member;
struct tenant;
struct tenant_table;
struct usage;

/* The terms of a tenant. */
struct tenant_terms {
    char name[TENANT_NAME_MAX];
    uint64_t number;     /* in the store; 0: it is not there */
    uint64_t generation; /* rises with each change of the others */
    struct limits limits;
    char gpu_types[LIMITS_TYPES_MAX]; /* "": any */
    enum isolation isolation;
    enum exhausted exhausted;
};

struct tenant {
    struct ga_list link; /* of the table */
    struct tenant_table *table;
    uint32_t number; /* no other one has had it */
    struct tenant_terms terms;
    struct ga_list members;      /* struct member: users whose applications are here */
    struct ga_list applications; /* struct control_application that are admitted, by `fellow` */
    uint32_t application_count;  /* of those that are no observers */
    uint32_t session_count;      /* of those, that have opened a device */
    struct lender lender;
    uint64_t gpu_time_ns; /* when its GPU time was looked at (gpu_time.h) */
    bool throttled;       /* it is used up, and its programs go on with a part of each GPU */
    unsigned users;
};

/* Calls to rooms above for tenants. */
struct tenant_hooks {
    /* The tenant is here now. */
    void (*begin)(struct tenant *tenant);
    /* The terms of the tenant have changed. */
    void (*changed)(struct tenant *tenant);
    /* Looks after its programs, ten times a second. Whether it must look again. */
    bool (*turn)(struct tenant *tenant, uint64_t now);
};

struct tenant_table {
    const struct tenant_hooks *hooks; /* NULL: there are none */
    const struct devices *devices;    /* GPUs of this node; their list is there when one comes */
    struct usage *usage;
    struct ga_list all; /* struct tenant */
    uint32_t last_number;
    struct server_timers *timers;
    struct server_timer timer; /* while a backend process waits for what it wants */
};

/* All is borrowed. */
void tenant_table_init(struct tenant_table *table, struct server_timers *timers,
                       const struct devices *devices, struct usage *usage,
                       const struct tenant_hooks *hooks);
/* When the loop has ended, before its last turn. */
void tenant_table_fini(struct tenant_table *table);

/* The terms of the tenant "default", which has no limits. */
struct tenant_terms tenant_default(void);
/* The tenant of these terms (tenant_known), with a use of it for the caller; makes it if it is not
 * here. Terms of a newer generation than the known ones hold from now on, for running applications
 * as well. NULL: no memory. */
struct tenant *tenant_find(struct tenant_table *table, const struct tenant_terms *terms);
/* As tenant_find, for a tenant whose terms have changed; nothing happens if it is not here. */
void tenant_renew(struct tenant_table *table, const struct tenant_terms *terms);
/* By the number in the store, since a name may be another tenant's later; by name if one of the two
 * has no number. NULL: not here. */
struct tenant *tenant_known(const struct tenant_table *table, uint64_t number, const char *name);
/* Begins and ends a use; with the last one it is not here any more. */
void tenant_keep(struct tenant *tenant);
void tenant_drop(struct tenant *tenant);

/* A backend process of an application of it waits: for the lender, which must be asked again. */
void tenant_wait(struct tenant *tenant);

#endif
