/* SPDX-License-Identifier: Apache-2.0 */
/* The feedback engine (FE; Strings, SC14, III-C): what the request monitor has learnt of programs,
 * for decisions about their next sessions. Each (tenant, program, model of GPU) has a row, the sum
 * over its sessions; a session hands over what is new at least every `ledger_interval_s` and when
 * it ends. It is the scheduler feedback table (SFT) of the paper, and is lost when gpuaasd ends.
 *
 * A program chooses its name, so rows are bounded: a tenant that makes more loses the one of its
 * own that was not touched for longest; and if all are taken, the node's oldest goes.
 *
 * gpuaasd's loop only. */
#ifndef SERVER_USAGE_FEEDBACK_H
#define SERVER_USAGE_FEEDBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "server/usage/seat_use.h"

#define FEEDBACK_ROWS_MAX        2048u
#define FEEDBACK_TENANT_ROWS_MAX 128u
#define FEEDBACK_TENANT_BYTES    65u
#define FEEDBACK_PROGRAM_BYTES   65u

/* A tenant is known by its number in the store: by its name only if that is 0. */
struct feedback_key {
    uint64_t number;
    char tenant[FEEDBACK_TENANT_BYTES]; /* as it was called when it was last told */
    char program[FEEDBACK_PROGRAM_BYTES], model[CHANNEL_TEXT_MAX];
};

/* The figures of one session on one GPU, from its begin; or a sum of such. */
struct feedback_figures {
    uint64_t wall_ns, busy_ns[GPU_ENGINES], busy_any_ns, demand_ns;
    uint64_t works, copies[2], copied_bytes[2];
};

struct feedback_row {
    struct ga_list link; /* by when they were touched, the last one last */
    struct feedback_key key;
    uint64_t hash, sessions;
    struct feedback_figures sum;
};

struct feedback {
    struct ga_list rows; /* struct feedback_row */
    uint32_t count;
};

/* Whether the row is of this tenant. */
bool feedback_is_of(const struct feedback_row *row, uint64_t number, const char *tenant);

void feedback_init(struct feedback *feedback);
void feedback_fini(struct feedback *feedback);
/* Adds what a session has done since `*told`, which becomes `now`. `*told` is zeroed before the
 * first time; figures that have fallen count as they were. With no memory it is told later. */
void feedback_tell(struct feedback *feedback, const struct feedback_key *key,
                   struct feedback_figures *told, const struct feedback_figures *now);
/* As the request monitor has them; the session has had the GPU for `wall_ns`. */
struct feedback_figures feedback_figures_of(const struct seat_use *use, uint64_t wall_ns);

#endif
