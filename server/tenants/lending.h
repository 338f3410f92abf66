/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of lending. A tenant's limits are an account; each of its seats has a share of it,
 * which gpuaasd has lent to the backend process. The process charges its calls to its share and
 * needs nobody for that; when the share is used up, it asks for more.
 *
 * An account may lie under another one, as a user's under its tenant's.
 *
 * It holds at any time that the shares add up to what the account has lent, and that lending makes
 * no sum larger than a limit. The total exceeds a limit only after the limit was lowered, or after
 * lending_charge. Pure. */
#ifndef SERVER_TENANTS_LENDING_H
#define SERVER_TENANTS_LENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "base/status.h"
#include "server/channel.h"

struct lending_account {
    struct lending_account *above;     /* what is lent is lent of this one, too; NULL */
    uint64_t most[CHANNEL_LENT_KINDS]; /* LIMIT_NONE: no limit */
    uint64_t most_each;                /* of device memory, on each GPU */
    uint64_t lent[CHANNEL_LENT_KINDS]; /* of device memory: on all GPUs together */
    uint32_t gpu_count;
    uint64_t *lent_on; /* of each GPU */
};

struct lending_share {
    uint64_t lent[CHANNEL_LENT_KINDS];
    uint64_t *lent_on;
};

/* GA_NO_MEMORY. */
GA_CHECKED enum ga_status lending_account_init(struct lending_account *account, uint32_t gpu_count);
void lending_account_fini(struct lending_account *account);
GA_CHECKED enum ga_status lending_share_init(struct lending_share *share, uint32_t gpu_count);

/* The limits that hold from now on; what is lent stays lent. */
void lending_limit(struct lending_account *account, const struct limits *limits);
/* Whether nothing limits this kind: a share of it is lent in pieces that no application uses up. */
bool lending_is_boundless(const struct lending_account *account, enum channel_lent kind);
/* How much may be lent now, of this account and of those above it. `gpu` is an index into the list
 * that clients see, and matters for device memory alone. */
uint64_t lending_room(const struct lending_account *account, enum channel_lent kind, uint32_t gpu);
/* The highest account that has less room than is wanted; NULL: all have so much. */
const struct lending_account *lending_lacks(const struct lending_account *account,
                                            enum channel_lent kind, uint32_t gpu, uint64_t wanted);
/* Lends at least `wanted`, in whole grains where the room allows it. 0: there is less room. */
uint64_t lending_lend(struct lending_account *account, struct lending_share *share,
                      enum channel_lent kind, uint32_t gpu, uint64_t wanted);
/* Device memory that the share has from now on, whatever the limits say. */
void lending_charge(struct lending_account *account, struct lending_share *share, uint32_t gpu,
                    uint64_t bytes);
/* Takes back what the process returns. A process that returns more than it has returns all. */
void lending_return(struct lending_account *account, struct lending_share *share,
                    enum channel_lent kind, uint32_t gpu, uint64_t amount);
/* The process is no more: all that it had comes back, and the share is freed. Once. */
void lending_end(struct lending_account *account, struct lending_share *share);

#endif
