/* SPDX-License-Identifier: Apache-2.0 */
/* A user of a tenant, as gpuaasd sees it: the limits of its applications together, within those of
 * the tenant. It is here as long as an application of it is. An application whose user is not known
 * has none, and only the tenant's limits hold for it. */
#ifndef SERVER_TENANTS_MEMBER_H
#define SERVER_TENANTS_MEMBER_H

#include "api/limits.h"
#include "server/tenants/lending.h"
#include "server/tenants/tenant.h"

struct member {
    struct ga_list link; /* of the tenant's */
    struct tenant *tenant;
    char name[TENANT_NAME_MAX];
    struct limits limits;           /* the stricter ones of the tenant's and its own */
    struct lending_account account; /* above it: the tenant's */
    uint32_t session_count;         /* of its applications that have opened a device */
    uint32_t movers, moving; /* of the tenant's, its own; at least 1 (lender_rates.h); its count */
    unsigned users;
};

/* NULL: it is not here. */
const struct member *member_known(const struct tenant *tenant, const char *name);
/* The one of this name, with a use for the caller; makes it if it is not here. These limits hold
 * from now on, for running applications as well. NULL: no memory. */
struct member *member_find(struct tenant *tenant, const char *name, const struct limits *limits);
void member_limit(struct member *member, const struct limits *limits);
void member_drop(struct member *member);

/* The limits that hold for each application of a tenant and its user (NULL: none is known). */
const struct limits *member_limits(const struct tenant *tenant, const struct member *member);
/* Whether this limit is the user's own. */
bool member_has_own(const struct tenant *tenant, const struct member *member, enum limit limit);
/* The user's own limits: bit n of the limit n. */
uint32_t member_own(const struct tenant *tenant, const struct member *member);
/* "tenant T" (`member` NULL) or "user U of tenant T", cut to the room that is there. */
void member_write(const struct tenant *tenant, const struct member *member, char *text,
                  size_t size);

#endif
