/* SPDX-License-Identifier: Apache-2.0 */
/* The use of tenants, and their refusals, since gpuaasd has begun: for /metrics, whose counters
 * must never get smaller, also when the last program of a tenant has gone.
 *
 * Note: the figures are those of accounts (account.h); without these (ledger_interval_s = 0) they
 * are 0. A label is the name that a tenant has at that time. */
#ifndef SERVER_USAGE_TOTALS_H
#define SERVER_USAGE_TOTALS_H

#include <stdint.h>

#include "api/limits.h"

/* Tenants that have their own series; what further ones use is counted together. */
#define TOTALS_TENANTS_MAX 500u
/* Their name, which is none of a tenant's. */
#define TOTALS_OTHERS "_others"

enum totals_figure {
    TOTALS_GPU_NS, /* any engine */
    TOTALS_COMPUTE_NS,
    TOTALS_H2D_NS,
    TOTALS_D2H_NS,
    TOTALS_BYTES_IN,
    TOTALS_BYTES_OUT,
    TOTALS_LAUNCHES,
    TOTALS_WAITED_NS, /* for turns */
    TOTALS_FIGURES
};

struct totals_tenant {
    char name[65];
    uint64_t sessions; /* that have begun */
    uint64_t refused[LIMIT_COUNT];
    uint64_t (*gpus)[TOTALS_FIGURES]; /* by the index in the list that clients see; NULL: none */
};

struct totals {
    struct totals_tenant *each; /* the first one is that of the others */
    uint32_t count, room;
};

/* The tenant's, or that of the others if there are too many, or no memory. NULL: not even that. */
struct totals_tenant *totals_of(struct totals *totals, const char *tenant);
void totals_fini(struct totals *totals);

/* Adds the use of one seat so far on the GPU, of so many; `told` is its use the last time. */
void totals_use(struct totals *totals, const char *tenant, uint32_t gpu, uint32_t gpus,
                const uint64_t now[TOTALS_FIGURES], uint64_t told[TOTALS_FIGURES]);
void totals_session(struct totals *totals, const char *tenant);
void totals_refused(struct totals *totals, const char *tenant, enum limit limit);

#endif
