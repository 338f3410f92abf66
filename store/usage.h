/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: what sessions have used, and sums of it; a part of store.h.
 *
 * A row is the state of one session on one GPU, with absolute figures. Writing it again changes
 * nothing, and no figure ever gets smaller: a writer that does not know whether a row was written
 * writes it again. Sums by day are kept with the rows, in the same transaction; what a row has
 * grown by belongs to the day of its `last`. */
#ifndef STORE_USAGE_H
#define STORE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "base/status.h"

#define STORE_NAME_MAX 64u
#define STORE_TEXT_MAX 255u

struct store;
struct store_list;

/* The figures of usage, once, in the order in which people see them:
 *| FIGURE(column, sum, json, unit, title, FORM, wide)
 *|   column       the member of struct store_figures, and the column of the database
 *|   sum          how figures are put together: sum, or max
 *|   json, unit   the member of JSON objects, and how many of ours one of its units is
 *|   title, FORM, wide   the column of gpuaasctl (ctl/ctl.h); HOURS in a title may be SECONDS
 * A new one also needs a column in a schema_N.def of its own, and its meaning in
 * docs/accounting.md.
 *
 * gpu_ns: for which the session kept any engine of the GPU busy; compute_ns, h2d_ns, d2h_ns: for
 * which each was. wall_ms: from its beginning. memory_peak: in bytes. memory_mib_s: memory of the
 * GPU times time, in MiB seconds. */
#define STORE_FIGURES(FIGURE)                                                                      \
    FIGURE(gpu_ns, sum, "gpu_time_ms", 1000000, "GPU HOURS", HOURS, false)                         \
    FIGURE(compute_ns, sum, "compute_time_ms", 1000000, "COMPUTE HOURS", HOURS, true)              \
    FIGURE(h2d_ns, sum, "h2d_time_ms", 1000000, "H2D HOURS", HOURS, true)                          \
    FIGURE(d2h_ns, sum, "d2h_time_ms", 1000000, "D2H HOURS", HOURS, true)                          \
    FIGURE(wall_ms, sum, "wall_time_ms", 1, "HOURS", HOURS, false)                                 \
    FIGURE(memory_peak, max, "memory_peak_bytes", 1, "PEAK MEMORY", BYTES, false)                  \
    FIGURE(memory_mib_s, sum, "memory_mib_seconds", 1, "MEMORY (MIB S)", COUNT, true)              \
    FIGURE(bytes_in, sum, "in_bytes", 1, "IN", BYTES, false)                                       \
    FIGURE(bytes_out, sum, "out_bytes", 1, "OUT", BYTES, false)                                    \
    FIGURE(launches, sum, "launches", 1, "LAUNCHES", COUNT, false)

struct store_figures {
#define FIGURE(column, ...) uint64_t column;
    STORE_FIGURES(FIGURE)
#undef FIGURE
};

struct store_usage {
    uint64_t tenant_number;          /* of struct store_tenant; 0: `tenant` names it */
    char tenant[STORE_NAME_MAX + 1]; /* only if there is no number */
    char node[STORE_NAME_MAX + 1];
    uint64_t epoch; /* of the node */
    char session[STORE_NAME_MAX + 1];
    char gpu[STORE_NAME_MAX + 1];
    char user[STORE_NAME_MAX + 1]; /* "": none. The first row of a session decides */
    enum isolation isolation;
    int64_t began, last;             /* `last`: the time of these figures */
    int64_t ended;                   /* 0: it runs. Once set, it stays */
    char reason[STORE_TEXT_MAX + 1]; /* of the end */
    struct store_figures figures;
    bool more; /* of a session that another row has begun: it counts there. The first row decides */
};

/* All or none. GA_NOT_FOUND: one is of a tenant that is not known, which why names; the others can
 * be written without it. (A removed tenant is known by its number.) */
GA_CHECKED enum ga_status store_usage_write(struct store *store, const struct store_usage *rows,
                                            size_t count);
/* As store_usage_write, but rows that can never be written, because their tenant is not known, are
 * left out: `why` is empty, or names one of them. */
GA_CHECKED enum ga_status store_usage_write_known(struct store *store,
                                                  const struct store_usage *rows, size_t count,
                                                  char *why, size_t why_size);

#define STORE_BY_TENANT 1u
#define STORE_BY_USER   2u
#define STORE_BY_NODE   4u
#define STORE_BY_GPU    8u
#define STORE_BY_DAY    16u

struct store_usage_query {
    const char *tenant, *user, *node, *gpu; /* NULL: all */
    int64_t from, to; /* whole days of UTC that have a part in from <= time < to; 0: no bound */
    unsigned by;      /* STORE_BY_...: a sum for each; 0: one sum */
    uint64_t top;     /* so many that have used most GPU time, most first; 0: all */
};

struct store_usage_sum {
    /* "": not asked for (`by`), or none */
    char tenant[STORE_NAME_MAX + 1], user[STORE_NAME_MAX + 1], node[STORE_NAME_MAX + 1],
        gpu[STORE_NAME_MAX + 1];
    bool removed;      /* the tenant has been */
    int64_t day;       /* its beginning; 0: not asked for */
    uint64_t sessions; /* that have begun; one that uses two GPUs counts on each */
    struct store_figures figures;
};

/* Ordered by tenant, user, node, GPU, day, unless `top` is set. GA_NOT_FOUND: there is no such
 * tenant. A list is read by store_usage_next, and ended by store_list_end (store.h). */
GA_CHECKED enum ga_status store_usage_list(struct store *store,
                                           const struct store_usage_query *query,
                                           struct store_list **out);
GA_CHECKED enum ga_status store_usage_next(struct store_list *list, struct store_usage_sum *out,
                                           bool *has);
/* All of them. */
GA_CHECKED enum ga_status
store_usage_each(struct store *store, const struct store_usage_query *query,
                 void (*each)(void *user, const struct store_usage_sum *sum), void *user);

enum store_period { STORE_DAY, STORE_MONTH };

/* The beginning of the day or month (UTC) that `now` is in, and of the next one. */
void store_period_bounds(enum store_period period, int64_t now, int64_t *from, int64_t *to);
/* The sum of the tenant (`user` NULL), or of one user, in the day or month of `now`. */
GA_CHECKED enum ga_status store_usage_period(struct store *store, uint64_t tenant_number,
                                             const char *user, enum store_period period,
                                             int64_t now, struct store_figures *out);

/* Forgets what was used on days (UTC) before that of `before`: sums, and rows of sessions that have
 * ended by then. It forgets as much as a short transaction may; *more: call again. */
GA_CHECKED enum ga_status store_usage_forget(struct store *store, int64_t before, bool *more);

/* The next epoch of a node, to be taken when its gpuaasd starts: 1, 2, ... Sessions of earlier ones
 * that still run, by their rows, end with what their last row says. */
GA_CHECKED enum ga_status store_epoch_next(struct store *store, const char *node, uint64_t *epoch);

#endif
