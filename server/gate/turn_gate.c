/* SPDX-License-Identifier: Apache-2.0 */
#include "server/gate/turn_gate.h"

#include <inttypes.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/app/app.h"
#include "server/app/carrier.h"
#include "server/gate/turn_ahead.h"
#include "server/meter/meter.h"
#include "server/meter/meter_gpu.h"

/* Looks in a horizon whether a batch is done, but not more often than it could matter. */
#define LOOKS       16u
#define LOOK_NS_MIN (50 * GA_NS_PER_US)
#define LOOK_NS_MAX GA_NS_PER_MS
/* Work of which none has been done for so long is not waited for, unless it is known to run. */
#define STILL_NS (100 * GA_NS_PER_MS)

static uint64_t grant_read(const struct turn_gate *gate)
{
    return atomic_load_explicit(&gate->grant->word, memory_order_acquire);
}

static uint64_t horizon_ns(const struct turn_gate *gate)
{
    return atomic_load_explicit(&gate->grant->horizon_ns, memory_order_relaxed);
}

static uint64_t look_ns(const struct turn_gate *gate)
{
    uint64_t ns = horizon_ns(gate) / LOOKS;
    return ns < LOOK_NS_MIN ? LOOK_NS_MIN : ns > LOOK_NS_MAX ? LOOK_NS_MAX : ns;
}

/* The turn goes on, for all that is known here. */
static bool is_timely(const struct turn_gate *gate, uint64_t grant, uint64_t now)
{
    return (grant_what(grant) & (GRANT_ALONE | GRANT_FREE)) != 0 ||
           now < atomic_load_explicit(&gate->grant->until_ns, memory_order_relaxed);
}

static void turn_tell(struct turn_gate *gate, enum gpu_phase wanted)
{
    uint64_t word = grant_word(gate->returned, wanted);
    if (word != gate->told) {
        gate->told = word;
        atomic_store_explicit(&gate->request->word, word, memory_order_release);
        (void)!send(gate->base.bell->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* full: it rings */
    }
}

/* A line for whoever measures a policy (perf/sched). */
static void turn_record_end(const struct turn_gate *gate)
{
    ga_info_each(NULL,
                 "turn on GPU %u: from %" PRIu64 ", until %" PRIu64 " at most, "
                 "returned at %" PRIu64,
                 gate->ordinal, atomic_load_explicit(&gate->grant->since_ns, memory_order_relaxed),
                 atomic_load_explicit(&gate->grant->until_ns, memory_order_relaxed), ga_clock_ns());
}

static void turn_return(struct turn_gate *gate, const struct server_app *app, uint64_t grant,
                        enum gpu_phase wanted)
{
    if (app->meter.records) {
        turn_record_end(gate);
    }
    (void)GA_FAILPOINT("backend: before a turn is returned");
    gate->returned = grant_turn(grant);
    gate->open = 0;
    gate->idle_ns = 0;
    turn_tell(gate, wanted);
    (void)GA_FAILPOINT("backend: turn returned");
}

/* ---- work in flight */

/* Ends the open batches and looks which are done. NULL: nothing can be measured. */
static struct meter_gpu *gpu_look(const struct turn_gate *gate, struct server_app *app)
{
    if (app->meter.open != 0) {
        meter_rest_all(app);
    }
    meter_look(app);
    return meter_gpu_find(app, gate->ordinal);
}

/* Whether the work in flight may wait for what others have to do, by what the program has called.
 */
static bool awaits_others(struct server_app *app)
{
    return app->carrier->awaits_program(app) || app->sessions[2] != NULL;
}

/* Whether none of the work in flight has been done for a while: it may wait for what others have to
 * do, or for a later call of this program, even if nobody can know (a kernel may look at memory
 * until another stream has written there). */
static bool stands_still(struct turn_gate *gate, struct server_app *app,
                         const struct meter_gpu *gpu, uint64_t now)
{
    if (gate->in_flight != meter_gpu_outstanding(gpu)) {
        gate->in_flight = meter_gpu_outstanding(gpu);
        gate->moved_ns = now;
    }
    return now - gate->moved_ns > (awaits_others(app) ? horizon_ns(gate) : STILL_NS);
}

/* Work that runs is waited for, too, but not for ever: a kernel may wait for other programs. */
static bool keeps_turn(const struct turn_gate *gate, struct server_app *app,
                       const struct meter_gpu *gpu, uint64_t now)
{
    uint64_t until = atomic_load_explicit(&gate->grant->until_ns, memory_order_relaxed);
    uint64_t patience = atomic_load_explicit(&gate->grant->patience_ns, memory_order_relaxed);
    return (now < until || now - until < patience) && !awaits_others(app) && meter_runs(app, gpu);
}

/* Whether one more may be submitted: this batch is not full, or the one before it is done. */
static bool batch_takes(struct turn_gate *gate, struct server_app *app, unsigned kind, uint64_t now)
{
    struct turn_ahead *ahead = &gate->ahead;
    if (!turn_ahead_fits(ahead, kind)) {
        struct meter_gpu *gpu = gpu_look(gate, app);
        const bool in_flight[2] = {gpu != NULL && gpu->outstanding[0] != 0,
                                   gpu != NULL && gpu->outstanding[1] != 0};
        bool may = gpu != NULL && turn_ahead_may_begin(ahead, kind, horizon_ns(gate), in_flight);
        if (may) {
            turn_ahead_begin(ahead, kind, horizon_ns(gate), in_flight, gpu->any.length);
            gpu->side = ahead->side;
        } else if (gpu == NULL || stands_still(gate, app, gpu, now)) {
            turn_ahead_go_on(ahead, kind, horizon_ns(gate));
        } else {
            return false;
        }
    }
    gate->in_flight = UINT32_MAX; /* something new is */
    return true;
}

/* Whether the turn need not wait for work in flight. */
static bool work_is_over(struct turn_gate *gate, struct server_app *app, uint64_t now)
{
    const struct meter_gpu *gpu = gpu_look(gate, app);
    if (gate->open != 0) { /* until now nobody has waited, and nobody has looked */
        gate->open = 0;
        gate->in_flight = UINT32_MAX;
    }
    if (gpu == NULL || meter_gpu_outstanding(gpu) == 0 ||
        (stands_still(gate, app, gpu, now) && !keeps_turn(gate, app, gpu, now))) {
        return true;
    }
    atomic_store_explicit(&gate->request->looked_ns, now, memory_order_relaxed);
    return false;
}

/* ---- the gate */

/* With a turn, for this phase and by the clock. Whether a work may go through. */
static bool turn_passes(struct turn_gate *gate, struct server_app *app, unsigned kind,
                        uint64_t grant, uint64_t now)
{
    if ((grant_what(grant) & GRANT_FREE) != 0) {
        turn_ahead_free(&gate->ahead, kind);
        gate->open = grant;
        return true;
    }
    if (gate->ahead.left_ns > horizon_ns(gate)) { /* it was free before */
        turn_ahead_end(&gate->ahead);
    }
    if (!batch_takes(gate, app, kind, now)) {
        return false;
    }
    gate->open = (grant_what(grant) & GRANT_ALONE) != 0 ? grant : 0;
    return true;
}

/* One look. True: the work may go through. Else `*wait_ns`: until the next look, 0: at once;
 * UINT64_MAX: until the bell rings. */
static bool turn_look(struct turn_gate *gate, struct server_app *app, enum gpu_phase phase,
                      unsigned kind, uint64_t *wait_ns)
{
    uint64_t grant = grant_read(gate), now = ga_clock_ns();
    *wait_ns = 0;
    if (grant_turn(grant) <= gate->returned) {
        turn_tell(gate, phase);
        (void)GA_FAILPOINT("backend: turn wanted");
        *wait_ns = UINT64_MAX;
    } else if ((grant_what(grant) >> phase & 1) == 0) {
        turn_return(gate, app, grant, phase);
    } else if (is_timely(gate, grant, now)) {
        if (turn_passes(gate, app, kind, grant, now)) {
            return true;
        }
        *wait_ns = look_ns(gate);
    } else if (work_is_over(gate, app, now)) {
        turn_return(gate, app, grant, phase);
    } else {
        *wait_ns = look_ns(gate);
    }
    return false;
}

/* The line of a turn that begins. */
static void turn_record(const struct turn_gate *gate, uint64_t wanted_ns)
{
    ga_info_each(NULL,
                 "turn on GPU %u: wanted at %" PRIu64 ", granted at %" PRIu64 ", begun at %" PRIu64,
                 gate->ordinal, wanted_ns,
                 atomic_load_explicit(&gate->grant->since_ns, memory_order_relaxed), ga_clock_ns());
}

static enum ga_status turn_wait(struct turn_gate *gate, struct server_app *app,
                                enum api_engine engine, unsigned kind)
{
    enum gpu_phase phase = gpu_phase_of(api_gpu_engine(engine));
    uint64_t wait_ns, wanted_ns = app->meter.records ? ga_clock_ns() : 0;
    bool waited = false;
    gate->idle_ns = 0;
    while (!turn_look(gate, app, phase, kind, &wait_ns)) {
        waited = waited || wait_ns != 0;
        gate->waits = wait_ns != 0;
        enum ga_status status = app->carrier->pause(app, wait_ns);
        gate->waits = false;
        GA_TRY(status);
    }
    if (waited && wanted_ns != 0) {
        turn_record(gate, wanted_ns);
    }
    (void)GA_FAILPOINT("backend: in a turn");
    return GA_OK;
}

static enum ga_status turn_enter(struct gate *base, struct server_app *app, enum api_engine engine,
                                 uint64_t what)
{
    struct turn_gate *gate = ga_container(base, struct turn_gate, base);
    unsigned kind = turn_ahead_kind(engine, what);
    if (grant_read(gate) == gate->open && turn_ahead_fits(&gate->ahead, kind)) {
        return GA_OK;
    }
    return turn_wait(gate, app, engine, kind);
}

/* While others wait, it looks closely when its work is done, and then does not keep its turn for
 * long. */
static uint64_t turn_rest(struct gate *base, struct server_app *app)
{
    struct turn_gate *gate = ga_container(base, struct turn_gate, base);
    uint64_t grant = grant_read(gate), now = ga_clock_ns();
    if (gate->waits || grant_turn(grant) <= gate->returned ||
        (grant_what(grant) & (GRANT_ALONE | GRANT_FREE)) != 0) {
        return UINT64_MAX;
    }
    if (!work_is_over(gate, app, now)) {
        gate->idle_ns = 0;
        return look_ns(gate);
    }
    gate->idle_ns = gate->idle_ns != 0 ? gate->idle_ns : now;
    uint64_t idle_ns = now - gate->idle_ns;
    uint64_t hold_ns = atomic_load_explicit(&gate->grant->hold_ns, memory_order_relaxed);
    if (idle_ns >= hold_ns || !is_timely(gate, grant, now)) {
        turn_ahead_end(&gate->ahead);
        turn_return(gate, app, grant, GPU_PHASE_DFL);
        return UINT64_MAX;
    }
    return hold_ns - idle_ns;
}

void turn_gate_init(struct turn_gate *gate, struct grant_request *request,
                    const struct grant *grant, const struct gate_bell *bell, uint32_t ordinal)
{
    uint64_t told = atomic_load_explicit(&request->word, memory_order_relaxed);
    *gate = (struct turn_gate){.base = {.enter = turn_enter, .rest = turn_rest, .bell = bell},
                               .grant = grant,
                               .request = request,
                               .ordinal = ordinal,
                               .returned = grant_turn(told),
                               .told = told};
    turn_ahead_init(&gate->ahead);
}
