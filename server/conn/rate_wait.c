/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conn/rate_wait.h"

#include "base/clock.h"
#include "server/conn/conn.h"
#include "server/objects/contexts.h"

#define LOOK_NS (GA_NS_PER_S / 20) /* who waits looks so often whether the limits have changed */

static uint64_t count_of(const struct server_conn *conn, enum rate_kind kind)
{
    return kind == RATE_CALLS ? conn->calls : figures_in(conn->app->ledger->figures);
}

static void rates_take(struct server_app *app, uint32_t turn)
{
    static const enum limit limits[RATE_KINDS] = {LIMIT_CALL_RATE, LIMIT_BANDWIDTH_IN};
    struct app_rates *rates = &app->rates;
    uint64_t now = ga_clock_ns();
    rates->seen = turn;
    rates->any = false;
    for (unsigned kind = 0; kind < RATE_KINDS; kind++) {
        struct rate *rate = &rates->of[kind];
        rate_change(rate, quota_limit_of(app->ledger->quota, limits[kind]),
                    count_of(conn_of(app), (enum rate_kind)kind), now);
        rates->any = rates->any || rate->per_second != LIMIT_NONE;
    }
    contexts_limit_kernels(app);
}

/* False: too many have come since the last look at the clock. */
static bool rates_are_free(struct server_conn *conn)
{
    for (unsigned kind = 0; kind < RATE_KINDS; kind++) {
        const struct rate *rate = &conn->app->rates.of[kind];
        uint64_t more = count_of(conn, (enum rate_kind)kind) - rate->counted;
        if (rate->free != UINT64_MAX && more > rate->free) {
            return false;
        }
        conn->app->rates.left[kind] = rate->free != UINT64_MAX ? rate->free - more : UINT64_MAX;
    }
    return true;
}

/* Not longer than the limits are the same: whatever they are then, the next call waits for. */
static void wait_until(struct server_conn *conn, uint64_t until)
{
    const struct quota *quota = conn->app->ledger->quota;
    for (uint64_t now; (now = ga_clock_ns()) < until &&
                       quota_turn(quota) == conn->app->rates.seen && !atomic_load(&conn->ended);) {
        ledger_rate_waits(conn->app->ledger);
        conn_pause(conn, until - now < LOOK_NS ? until - now : LOOK_NS);
    }
}

bool rate_wait(struct server_conn *conn)
{
    struct app_rates *rates = &conn->app->rates;
    uint32_t turn = quota_turn(conn->app->ledger->quota);
    if (turn != rates->seen) {
        rates_take(conn->app, turn);
    }
    if (!rates->any || rates_are_free(conn)) {
        return false;
    }
    uint64_t now = ga_clock_ns(), until = 0;
    for (unsigned kind = 0; kind < RATE_KINDS; kind++) {
        struct rate *rate = &rates->of[kind];
        uint64_t due = rate_count(rate, count_of(conn, (enum rate_kind)kind), now);
        until = due > until ? due : until;
        rates->left[kind] = rate->free;
    }
    if (until > now) {
        completer_hand_over(&conn->completer);
        wait_until(conn, until);
    }
    return until > now;
}

bool rate_wait_out(struct server_conn *conn)
{
    uint64_t early_ns;
    bool waited = false;
    while ((early_ns = send_queue_early_ns(&conn->out)) != 0 && !atomic_load(&conn->ended)) {
        conn_pause(conn, early_ns);
        waited = true;
    }
    return waited;
}
