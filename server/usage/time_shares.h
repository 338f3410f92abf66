/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the time of a GPU is when several use it at a time. Each has told when it has had work for
 * which engine; nobody can tell whose work the engine did then. At each instant the time of an
 * engine is divided evenly among those that have work for it. That of the GPU is divided evenly
 * among the engines that work, and of each among those that have work for it. All of them together
 * get as much as at least one of them has had work, and never more time than there was.
 *
 * Engines that do one work after the other are another matter: where everybody has had a single
 * work at a time, what is done first is what the engine does.
 *
 * Pieces of time come in any order, and some come late: what lies before the time that is divided
 * already counts from there on, and moves what else it has had there.
 *
 * Pure: no clock. */
#ifndef SERVER_USAGE_TIME_SHARES_H
#define SERVER_USAGE_TIME_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "server/figures.h"

struct time_share_part;
struct time_share_piece;

/* In which somebody has had work for an engine. */
struct time_piece {
    enum gpu_engine engine;
    uint64_t from_ns, to_ns;
    bool ends;   /* with it that work is done */
    bool single; /* it is a single one */
};

/* The division of a GPU's time. */
struct time_shares {
    bool serial;         /* its engines do one work after the other */
    uint64_t divided_ns; /* all before is divided */
    double given_ns;     /* so much of the GPU in all */
    struct time_share_piece *pieces;
    size_t count, room;
};

/* The share of a seat that uses it. All zeros at first. */
struct time_share {
    double engine_ns[GPU_ENGINES]; /* of each engine */
    double gpu_ns;
    uint64_t had_ns[GPU_ENGINES]; /* for so long it has had work for each, of what is divided */
    uint64_t since_ns[GPU_ENGINES], until_ns[GPU_ENGINES]; /* the last pieces in a row */
    uint64_t late_ns[GPU_ENGINES];             /* until then it is taken by what came late */
    struct time_share_part *part[GPU_ENGINES]; /* of time_shares_divide alone */
    uint32_t at_a_time[GPU_ENGINES];
};

void time_shares_init(struct time_shares *shares, uint64_t now_ns);
void time_shares_fini(struct time_shares *shares);
/* `share` must stay until all of that is divided, or forgotten. GA_NO_MEMORY: it is not noted. */
GA_CHECKED enum ga_status time_shares_add(struct time_shares *shares, struct time_share *share,
                                          const struct time_piece *piece);
/* Divides the time until then. GA_NO_MEMORY: later. */
GA_CHECKED enum ga_status time_shares_divide(struct time_shares *shares, uint64_t until_ns);
/* The undivided time counts at once, up to so much of the GPU: the seat goes, and some of the time
 * came late. Nobody else gets less. */
void time_shares_settle(struct time_shares *shares, struct time_share *share, double most_ns);
/* Forgets what is not divided of it. */
void time_shares_forget(struct time_shares *shares, const struct time_share *share);

#endif
