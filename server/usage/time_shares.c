/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/time_shares.h"

#include <math.h>
#include <stdlib.h>

#define SERIAL_MAX 64u /* that have work at a time; more are not told apart */

struct time_share_piece {
    struct time_share *share;
    struct time_piece piece;
    uint64_t since_ns; /* since when it has had that work */
};

/* A part of the time that is divided now. */
struct time_share_part {
    struct time_share *share;
    enum gpu_engine engine;
    uint64_t done_ns; /* when its work was done; UINT64_MAX: not yet */
    uint64_t since_ns;
    bool single;
    size_t place; /* among those that have work */
};

/* A begin or an end. */
struct edge {
    uint64_t at;
    struct time_share_part *part;
    bool ends;
};

/* The work of an engine. */
struct engine {
    size_t count, single; /* of those that have work for it, and that have a single one */
    struct time_share_part **with_work;
    /* The part of its time, and of the GPU by it, that a seat with work all along would have got,
     * whenever it was divided evenly. */
    double even_ns, even_gpu_ns;
};

struct division {
    bool serial;
    uint64_t at;
    double given_ns;
    struct time_share_part *parts;
    struct edge *edges;
    size_t count; /* of edges; parts are half as many */
    struct engine engines[GPU_ENGINES];
};

void time_shares_init(struct time_shares *shares, uint64_t now_ns)
{
    *shares = (struct time_shares){.divided_ns = now_ns};
}

void time_shares_fini(struct time_shares *shares)
{
    free(shares->pieces);
}

/* ---- pieces */

/* Since when it has had that work: pieces one behind the other are of one. */
static uint64_t work_since(struct time_share *share, const struct time_piece *piece)
{
    uint64_t *since = &share->since_ns[piece->engine], *until = &share->until_ns[piece->engine];
    *since = piece->from_ns == *until ? *since : piece->from_ns;
    *until = piece->ends ? 0 : piece->to_ns;
    return *since;
}

enum ga_status time_shares_add(struct time_shares *shares, struct time_share *share,
                               const struct time_piece *piece)
{
    struct time_share_piece added = {.share = share, .piece = *piece};
    if (piece->to_ns <= piece->from_ns) {
        return GA_OK;
    }
    if (shares->count == shares->room) {
        size_t room = shares->room != 0 ? 2 * shares->room : 64;
        struct time_share_piece *pieces = realloc(shares->pieces, room * sizeof *pieces);
        if (pieces == NULL) {
            return GA_NO_MEMORY;
        }
        shares->pieces = pieces;
        shares->room = room;
    }
    added.since_ns = work_since(share, piece);
    uint64_t *late_ns = &share->late_ns[piece->engine];
    uint64_t from_ns = shares->divided_ns > *late_ns ? shares->divided_ns : *late_ns;
    if (piece->from_ns < from_ns) {
        added.piece.to_ns += from_ns - piece->from_ns;
        added.piece.from_ns = from_ns;
        *late_ns = added.piece.to_ns;
    }
    shares->pieces[shares->count++] = added;
    return GA_OK;
}

void time_shares_forget(struct time_shares *shares, const struct time_share *share)
{
    size_t kept = 0;
    for (size_t i = 0; i < shares->count; i++) {
        if (shares->pieces[i].share != share) {
            shares->pieces[kept++] = shares->pieces[i];
        }
    }
    shares->count = kept;
}

/* ---- dividing */

static void division_free(struct division *division)
{
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        free(division->engines[i].with_work);
    }
    free(division->parts);
    free(division->edges);
}

static bool division_make(struct division *division, size_t pieces)
{
    division->parts = calloc(pieces, sizeof *division->parts);
    division->edges = calloc(2 * pieces, sizeof *division->edges);
    bool made = division->parts != NULL && division->edges != NULL;
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        division->engines[i].with_work = calloc(pieces, sizeof(struct time_share_part *));
        made = made && division->engines[i].with_work != NULL;
    }
    return made;
}

static void part_take(struct division *division, const struct time_share_piece *from, uint64_t to)
{
    struct time_share_part *part = &division->parts[division->count / 2];
    const struct time_piece *piece = &from->piece;
    *part = (struct time_share_part){.share = from->share,
                                     .engine = piece->engine,
                                     .done_ns = piece->ends ? piece->to_ns : UINT64_MAX,
                                     .since_ns = from->since_ns,
                                     .single = piece->single};
    division->edges[division->count++] = (struct edge){piece->from_ns, part, false};
    division->edges[division->count++] = (struct edge){to, part, true};
    from->share->had_ns[piece->engine] += to - piece->from_ns;
}

/* Takes the pieces before `until`; the rest stays. */
static void parts_take(struct division *division, struct time_shares *shares, uint64_t until)
{
    size_t kept = 0;
    for (size_t i = 0; i < shares->count; i++) {
        struct time_share_piece piece = shares->pieces[i];
        if (piece.piece.from_ns < until) {
            uint64_t to = piece.piece.to_ns < until ? piece.piece.to_ns : until;
            part_take(division, &piece, to);
            piece.piece.from_ns = to;
        }
        if (piece.piece.from_ns < piece.piece.to_ns) {
            shares->pieces[kept++] = piece;
        }
    }
    shares->count = kept;
}

static int edges_compare(const void *one, const void *other)
{
    uint64_t a = ((const struct edge *)one)->at, b = ((const struct edge *)other)->at;
    return a < b ? -1 : a > b;
}

static bool is_done_before(const struct time_share_part *one, const struct time_share_part *other)
{
    return one->done_ns < other->done_ns ||
           (one->done_ns == other->done_ns && one->since_ns < other->since_ns);
}

/* Whose work the engine does, if it does one after the other. */
static struct time_share *share_served(const struct engine *engine)
{
    const struct time_share_part *first = engine->with_work[0];
    for (size_t i = 1; i < engine->count; i++) {
        const struct time_share_part *part = engine->with_work[i];
        first = is_done_before(part, first) ? part : first;
    }
    return first->share;
}

static void division_go_on(struct division *division, uint64_t to)
{
    double ns = (double)(to - division->at);
    unsigned working = 0;
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        working += division->engines[i].count != 0;
    }
    division->given_ns += working != 0 ? ns : 0;
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        struct engine *engine = &division->engines[i];
        bool ordered = division->serial && engine->single == engine->count;
        if (ordered && engine->count > 1 && engine->count <= SERIAL_MAX && ns > 0) {
            struct time_share *share = share_served(engine);
            share->engine_ns[i] += ns;
            share->gpu_ns += ns / working;
        } else if (engine->count != 0) {
            double each = ns / (double)engine->count;
            engine->even_ns += each;
            engine->even_gpu_ns += each / working;
        }
    }
    division->at = to;
}

/* Somebody has work for the engine, or has none any more. */
static void part_begin(struct engine *engine, struct time_share_part *part)
{
    struct time_share *share = part->share;
    share->part[part->engine] = part;
    share->engine_ns[part->engine] -= engine->even_ns;
    share->gpu_ns -= engine->even_gpu_ns;
    engine->single += part->single;
    part->place = engine->count;
    engine->with_work[engine->count++] = part;
}

static void part_end(struct engine *engine, const struct time_share_part *part)
{
    struct time_share *share = part->share;
    struct time_share_part *last = engine->with_work[--engine->count];
    share->engine_ns[part->engine] += engine->even_ns;
    share->gpu_ns += engine->even_gpu_ns;
    engine->single -= part->single;
    engine->with_work[part->place] = last;
    last->place = part->place;
}

/* A seat that reports work twice at a time has had it once. */
static void edge_pass(struct division *division, const struct edge *edge)
{
    struct time_share_part *part = edge->part;
    struct engine *engine = &division->engines[part->engine];
    uint32_t *at_a_time = &part->share->at_a_time[part->engine];
    if (!edge->ends && (*at_a_time)++ == 0) {
        part_begin(engine, part);
    } else if (edge->ends && --*at_a_time == 0) {
        part_end(engine, part->share->part[part->engine]);
    }
}

enum ga_status time_shares_divide(struct time_shares *shares, uint64_t until_ns)
{
    struct division division = {.serial = shares->serial, .at = shares->divided_ns};
    if (until_ns <= shares->divided_ns) {
        return GA_OK;
    }
    if (shares->count != 0) {
        if (!division_make(&division, shares->count)) {
            division_free(&division);
            return GA_NO_MEMORY;
        }
        parts_take(&division, shares, until_ns);
        if (division.count != 0) {
            qsort(division.edges, division.count, sizeof *division.edges, edges_compare);
        }
        for (size_t i = 0; i < division.count; i++) {
            division_go_on(&division, division.edges[i].at);
            edge_pass(&division, &division.edges[i]);
        }
        shares->given_ns += division.given_ns;
        division_free(&division);
    }
    shares->divided_ns = until_ns;
    return GA_OK;
}

void time_shares_settle(struct time_shares *shares, struct time_share *share, double most_ns)
{
    struct time_shares own = {.divided_ns = shares->divided_ns};
    struct time_share so_far = *share;
    own.pieces = calloc(shares->count + 1, sizeof *own.pieces);
    for (size_t i = 0; i < shares->count && own.pieces != NULL; i++) {
        if (shares->pieces[i].share == share) {
            own.pieces[own.count++] = shares->pieces[i];
        }
    }
    own.room = own.count;
    time_shares_forget(shares, share);
    if (own.count != 0 && time_shares_divide(&own, UINT64_MAX) == GA_OK) {
        share->gpu_ns = fmin(share->gpu_ns, so_far.gpu_ns + most_ns);
        for (unsigned i = 0; i < GPU_ENGINES; i++) {
            share->engine_ns[i] = fmin(share->engine_ns[i], so_far.engine_ns[i] + most_ns);
        }
        shares->given_ns += share->gpu_ns - so_far.gpu_ns;
    }
    time_shares_fini(&own);
}
