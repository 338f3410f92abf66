/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant for admins: what the store has of it, and what it uses here now. */
#ifndef SERVER_ADMIN_ADMIN_TENANTS_H
#define SERVER_ADMIN_ADMIN_TENANTS_H

#include "server/admin/admin_store.h"

struct admin_tenant_use {
    uint64_t sessions, gpu_mem_bytes;
    uint64_t gpu_time_day_ms, gpu_time_month_ms;
    uint64_t credentials; /* that are valid */
};

/* The record alone. */
json_t *admin_tenant_record(const struct store_tenant *tenant);
/* Looks at the sessions of this node, and in the store. */
enum admin_code admin_tenant_use_of(struct admin_call *call, struct store *store,
                                    const struct store_tenant *tenant,
                                    struct admin_tenant_use *use);

/* Warns of what `who` has more than these limits allow: it is kept, and no more is given. */
void admin_limits_warn(struct admin_call *call, const char *who, const struct limits *limits,
                       const struct admin_tenant_use *use);

#endif
