/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/gpu_times.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/usage/seat_use.h"
#include "server/usage/usage.h"
#include "server/usage/usage_seat.h"

#define TURN_MS     50u
#define LOOK_NS     GA_NS_PER_MS         /* what is not older need not be read again */
#define PATIENCE_NS (300 * GA_NS_PER_MS) /* with those that do not look */
/* The clocks of GPU and machine are not nearer to each other (meter/meter_clock.c). */
#define CLOCKS_NS (2 * GA_NS_PER_MS)

/* The use of a GPU by a seat. */
struct times_row {
    struct time_share share;
    uint32_t gpu; /* in the list that clients see */
    enum gpu_phase phase;
    uint64_t known_ns; /* all until then has been told */
    uint64_t since_ns; /* it is used; */
    double given_ns;   /* so much of the GPU had been divided by then */
    struct times_engine {
        uint64_t busy_ns, read_ns; /* that it has told: in sum; in pieces */
        uint64_t last_ns;          /* the end of the last piece */
        uint64_t gap_ns;           /* the same, before some were lost */
        uint64_t assumed_ns;       /* until then something was assumed */
        uint64_t ahead_ns;         /* what was assumed and is not told */
    } engines[GPU_ENGINES];
};

/* struct figures_time, read. */
struct time_told {
    uint64_t from, what;
};

struct seat_times {
    struct ga_list link;
    const struct usage_seat *seat;
    uint64_t next; /* of its pieces */
    struct times_row *rows[FIGURES_GPUS];
};

/* ---- what a seat tells */

static uint64_t times_load(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_acquire);
}

/* NULL: it is not used, or nobody knows the GPU; or no memory. */
static struct times_row *times_row_of(struct seat_times *times, uint32_t number)
{
    const struct usage_seat *seat = times->seat;
    struct seat_use use;
    if (times->rows[number] == NULL && seat_use_gpu(seat, number, &use)) {
        struct times_row *row = calloc(1, sizeof *row);
        if (row != NULL) {
            row->gpu = use.gpu;
            row->since_ns = timers_now(seat->room->timers);
            row->given_ns = seat->room->times.shares[use.gpu].given_ns;
            times->rows[number] = row;
        }
    }
    return times->rows[number];
}

/* Before its pieces: those until `known_ns` are there then. */
static void times_rows_read(struct seat_times *times, uint64_t now)
{
    for (uint32_t i = 0; i < FIGURES_GPUS; i++) {
        const struct gpu_figures *figures = &times->seat->figures->gpus[i];
        struct times_row *row = times_row_of(times, i);
        if (row == NULL) {
            return;
        }
        uint32_t phase = atomic_load_explicit(&figures->phase, memory_order_acquire);
        uint64_t looked = times_load(&figures->looked_ns);
        row->phase = phase <= GPU_PHASE_D2H ? (enum gpu_phase)phase : GPU_PHASE_DFL;
        row->known_ns = row->phase == GPU_PHASE_DFL || looked > now ? now : looked;
        for (unsigned engine = 0; engine < GPU_ENGINES; engine++) {
            row->engines[engine].busy_ns = times_load(&figures->busy_ns[engine]);
        }
    }
}

/* Adds a piece of time in which the seat had work. False: no memory. */
static bool times_add(struct seat_times *times, struct times_row *row, struct time_piece piece)
{
    struct time_shares *shares = &times->seat->room->times.shares[row->gpu];
    struct times_engine *of = &row->engines[piece.engine];
    uint64_t length = piece.to_ns - piece.from_ns;
    uint64_t ahead = of->ahead_ns < length ? of->ahead_ns : length;
    piece.from_ns += ahead;
    if (time_shares_add(shares, &row->share, &piece) != GA_OK) {
        return false;
    }
    of->ahead_ns -= ahead;
    of->last_ns = piece.to_ns > of->last_ns ? piece.to_ns : of->last_ns;
    return true;
}

/* False: no memory. */
static bool piece_take(struct seat_times *times, const struct time_told *told, uint64_t now)
{
    struct times_row *row = times_row_of(times, figures_time_row(told->what));
    unsigned bits = figures_time_bits(told->what);
    struct time_piece piece = {.engine = figures_time_engine(told->what),
                               .from_ns = told->from,
                               .ends = (bits & FIGURES_TIME_ENDS) != 0,
                               .single = (bits & FIGURES_TIME_ONE) != 0};
    uint64_t length = figures_time_length(told->what), taken = times->seat->taken_ns;
    uint64_t most = now + CLOCKS_NS;
    if (row == NULL || piece.engine >= GPU_ENGINES || piece.from_ns > most) {
        return true;
    }
    piece.to_ns = length < most - piece.from_ns ? piece.from_ns + length : most;
    piece.from_ns = piece.from_ns < taken ? taken : piece.from_ns;
    if (piece.to_ns > piece.from_ns && !times_add(times, row, piece)) {
        return false;
    }
    row->engines[piece.engine].read_ns += length;
    return true;
}

static void gap_begin(struct seat_times *times)
{
    for (uint32_t i = 0; i < FIGURES_GPUS && times->rows[i] != NULL; i++) {
        for (unsigned engine = 0; engine < GPU_ENGINES; engine++) {
            times->rows[i]->engines[engine].gap_ns = times->rows[i]->engines[engine].last_ns;
        }
    }
}

/* Those that were overwritten before they were read lay between the last that were read and those
 * that are there. */
static void gap_fill(struct seat_times *times, uint64_t now)
{
    for (uint32_t i = 0; i < FIGURES_GPUS && times->rows[i] != NULL; i++) {
        for (unsigned engine = 0; engine < GPU_ENGINES; engine++) {
            struct times_engine *of = &times->rows[i]->engines[engine];
            uint64_t taken = times->seat->taken_ns, from = of->gap_ns > taken ? of->gap_ns : taken;
            uint64_t lost = of->busy_ns > of->read_ns ? of->busy_ns - of->read_ns : 0;
            uint64_t most = now > from ? now - from : 0;
            const struct time_piece piece = {.engine = (enum gpu_engine)engine,
                                             .from_ns = from,
                                             .to_ns = from + (lost < most ? lost : most)};
            if (lost == 0 || times_add(times, times->rows[i], piece)) {
                of->read_ns += lost;
            }
        }
    }
}

static struct time_told told_read(const struct figures_time *at)
{
    return (struct time_told){times_load(&at->from), times_load(&at->what)};
}

/* As many as there can be at a time, and no more: a stranger tells how many there are. */
static void times_pieces_read(struct seat_times *times, uint64_t now)
{
    const struct figures_times *ring = times->seat->times;
    uint64_t count = times_load(&ring->count);
    bool lost = count - times->next >= FIGURES_TIMES; /* it may be writing there */
    if (lost) {
        gap_begin(times);
        times->next = count - FIGURES_TIMES / 2;
    }
    while (times->next != count) {
        const struct time_told told = told_read(&ring->of[times->next % FIGURES_TIMES]);
        if (times_load(&ring->count) - times->next >= FIGURES_TIMES) {
            break; /* it is lost, as is seen the next time */
        }
        if (!piece_take(times, &told, now)) {
            return; /* the next time */
        }
        times->next++;
    }
    if (lost) {
        gap_fill(times, now);
    }
}

/* Nobody waits until the process has reported: it is assumed to go on as before. One that ends is
 * assumed to do its next work, too; it is unknown whether others have begun with theirs. */
static void row_assume(struct seat_times *times, uint32_t number, uint64_t until, bool ends)
{
    struct times_row *row = times->rows[number];
    for (unsigned engine = 0; engine < GPU_ENGINES; engine++) {
        struct times_engine *of = &row->engines[engine];
        uint64_t from = times_load(&times->seat->figures->gpus[number].runs_ns[engine]);
        bool maybe = (from & FIGURES_RUNS_MAYBE) != 0;
        bool runs = from != 0 && (ends || !maybe);
        from = from < of->assumed_ns ? of->assumed_ns : from;
        from = from < times->seat->taken_ns ? times->seat->taken_ns : from;
        if (!runs || from >= until) {
            continue;
        }
        uint64_t ahead = of->ahead_ns;
        of->ahead_ns = 0;
        const struct time_piece piece = {
            .engine = (enum gpu_engine)engine, .from_ns = from, .to_ns = until, .single = true};
        if (times_add(times, row, piece)) {
            of->ahead_ns = ahead + (until - from);
            of->assumed_ns = until;
        } else {
            of->ahead_ns = ahead;
        }
    }
}

/* ---- dividing */

/* Software GPUs that interrupt no kernel do one after the other. All others give each context with
 * work slices of time. */
static bool gpu_is_serial(const struct conf_gpu *gpu)
{
    return gpu->driver == CONF_DRIVER_SOFT && gpu->soft.timing && gpu->soft.context_slice_ns == 0;
}

/* The part that it got lately is assumed to be the part that it gets now. */
static void row_tell(const struct seat_times *times, const struct times_row *row)
{
    const struct usage_seat *seat = times->seat;
    seat->ops->shared(seat, row->gpu, &row->share);
}

/* Time is divided at `until` of each GPU without those that have not looked for too long. */
static void times_assume(struct gpu_times *all, const struct seat_times *ending,
                         const uint64_t until[])
{
    ga_list_each (at, next, &all->seats) {
        struct seat_times *times = ga_container(at, struct seat_times, link);
        for (uint32_t i = 0; i < FIGURES_GPUS && times->rows[i] != NULL; i++) {
            const struct times_row *row = times->rows[i];
            if (row->known_ns < until[row->gpu]) {
                row_assume(times, i, until[row->gpu], times == ending);
            }
        }
    }
}

/* It goes: what it has told too late to be divided counts, too, as far as the GPU has had so much
 * time since it uses it. */
static void times_settle(struct seat_times *ending, uint64_t now)
{
    for (uint32_t i = 0; i < FIGURES_GPUS && ending->rows[i] != NULL; i++) {
        struct times_row *row = ending->rows[i];
        struct time_shares *shares = &ending->seat->room->times.shares[row->gpu];
        double left_ns = (double)(now - row->since_ns) - (shares->given_ns - row->given_ns);
        time_shares_settle(shares, &row->share, fmax(0, left_ns));
    }
}

/* `ending`: nobody waits for what others say about its GPUs. */
static void times_divide(struct usage *usage, struct seat_times *ending, uint64_t now)
{
    uint64_t until[CONF_GPUS_MAX];
    struct gpu_times *all = &usage->times;
    uint32_t gpus = usage->processes->devices.visible_count;
    for (uint32_t i = 0; i < gpus; i++) {
        until[i] = now;
    }
    ga_list_each (at, next, &all->seats) {
        const struct seat_times *times = ga_container(at, struct seat_times, link);
        for (uint32_t i = 0; i < FIGURES_GPUS && times->rows[i] != NULL; i++) {
            const struct times_row *row = times->rows[i];
            until[row->gpu] = row->known_ns < until[row->gpu] ? row->known_ns : until[row->gpu];
        }
    }
    for (uint32_t i = 0; i < gpus; i++) {
        until[i] = until[i] < now - PATIENCE_NS ? now - PATIENCE_NS : until[i];
    }
    for (uint32_t i = 0; ending != NULL && i < FIGURES_GPUS && ending->rows[i] != NULL; i++) {
        until[ending->rows[i]->gpu] = now;
    }
    times_assume(all, ending, until);
    for (uint32_t i = 0; i < gpus; i++) {
        all->shares[i].serial = gpu_is_serial(devices_visible(&usage->processes->devices, i)->gpu);
        (void)!time_shares_divide(&all->shares[i], until[i]); /* else the next time */
    }
    if (ending != NULL) {
        times_settle(ending, now);
    }
}

static void times_turn(struct usage *usage, struct seat_times *ending)
{
    struct gpu_times *all = &usage->times;
    uint64_t now = timers_now(usage->timers);
    all->looked_ns = now;
    ga_list_each (at, next, &all->seats) {
        struct seat_times *times = ga_container(at, struct seat_times, link);
        if (*times->seat->ready) { /* before, the figures are another application's */
            times_rows_read(times, now);
            times_pieces_read(times, now);
        }
    }
    times_divide(usage, ending, now);
    ga_list_each (at, next, &all->seats) {
        const struct seat_times *times = ga_container(at, struct seat_times, link);
        for (uint32_t i = 0; i < FIGURES_GPUS && times->rows[i] != NULL; i++) {
            row_tell(times, times->rows[i]);
        }
    }
}

void gpu_times_look(struct usage *usage)
{
    if (timers_now(usage->timers) - usage->times.looked_ns > LOOK_NS) {
        times_turn(usage, NULL);
    }
}

static void times_due(struct server_timer *timer)
{
    gpu_times_look(ga_container(timer, struct usage, times.timer));
}

bool gpu_times_of(const struct usage_seat *seat, uint32_t row, struct gpu_times_use *use)
{
    const struct times_row *of = seat->seat_times != NULL ? seat->seat_times->rows[row] : NULL;
    if (of != NULL) {
        *use = (struct gpu_times_use){.share = &of->share, .phase = of->phase};
    }
    return of != NULL;
}

/* ---- seats come and go */

void gpu_times_seat_taken(struct usage_seat *seat)
{
    struct gpu_times *all = &seat->room->times;
    struct seat_times *times = calloc(1, sizeof *times);
    seat->seat_times = times;
    if (times == NULL) {
        return;
    }
    times->seat = seat;
    times->next = times_load(&seat->times->count);
    if (ga_list_empty(&all->seats)) {
        timers_start(seat->room->timers, &all->timer, times_due, TURN_MS, TURN_MS);
    }
    ga_list_append(&all->seats, &times->link);
}

void gpu_times_seat_ends(struct usage_seat *seat)
{
    if (seat->seat_times != NULL) {
        times_turn(seat->room, seat->seat_times);
    }
}

void gpu_times_seat_ended(struct usage_seat *seat)
{
    struct gpu_times *all = &seat->room->times;
    struct seat_times *times = seat->seat_times;
    seat->seat_times = NULL;
    if (times == NULL) {
        return;
    }
    for (uint32_t i = 0; i < FIGURES_GPUS && times->rows[i] != NULL; i++) {
        time_shares_forget(&all->shares[times->rows[i]->gpu], &times->rows[i]->share);
        free(times->rows[i]);
    }
    ga_list_remove(&times->link);
    free(times);
    if (ga_list_empty(&all->seats)) {
        timers_stop(seat->room->timers, &all->timer);
    }
}

void gpu_times_init(struct usage *usage)
{
    ga_list_init(&usage->times.seats);
}

void gpu_times_fini(struct usage *usage)
{
    for (uint32_t i = 0; i < CONF_GPUS_MAX; i++) {
        time_shares_fini(&usage->times.shares[i]);
    }
    timers_stop(usage->timers, &usage->times.timer);
}
