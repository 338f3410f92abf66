/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session/rate.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "server/session/conn.h"
#include "server/session/contexts.h"

#define BURST_NS (GA_NS_PER_S / 10)

/* How many may come until the half of the burst is used up. */
static uint64_t free_until_half(const struct rate *rate, uint64_t now)
{
    const uint64_t half = now + BURST_NS / 2;
    return rate->due_ns < half ? (uint64_t)((double)(half - rate->due_ns) *
                                            (double)rate->per_second / (double)GA_NS_PER_S)
                               : 0;
}

uint64_t rate_count(struct rate *rate, uint64_t now_count, uint64_t now)
{
    uint64_t more = now_count - rate->counted;
    rate->counted = now_count;
    rate->free = UINT64_MAX;
    rate->due_ns = rate->due_ns > now ? rate->due_ns : now;
    if (rate->per_second != UINT64_MAX && rate->per_second != 0) {
        rate->due_ns += more / rate->per_second * GA_NS_PER_S +
                        (uint64_t)((double)(more % rate->per_second) * (double)GA_NS_PER_S /
                                   (double)rate->per_second);
        rate->free = free_until_half(rate, now);
    }
    return rate->due_ns > BURST_NS ? rate->due_ns - BURST_NS : 0;
}

static uint64_t figures_sum(const struct server_conn *conn, const enum figure *which,
                            unsigned count)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += atomic_load_explicit(&conn->ledger->figures->of[which[i]], memory_order_relaxed);
    }
    return sum;
}

static uint64_t count_of(const struct server_conn *conn, enum rate_kind kind)
{
    static const enum figure in[] = {FIGURE_FRAMES_IN, FIGURE_BULK_IN, FIGURE_SHARED_IN,
                                     FIGURE_RDMA_IN},
                             out[] = {FIGURE_FRAMES_OUT, FIGURE_BULK_OUT, FIGURE_SHARED_OUT,
                                      FIGURE_RDMA_OUT};
    return kind == RATE_CALLS ? conn->calls : figures_sum(conn, kind == RATE_IN ? in : out, 4);
}

/* From now on; nothing that was before counts. */
static void rates_take(struct server_conn *conn, uint32_t turn)
{
    static const enum limit limits[RATE_KINDS] = {LIMIT_CALL_RATE, LIMIT_BANDWIDTH_IN,
                                                  LIMIT_BANDWIDTH_OUT};
    struct conn_rates *rates = &conn->rates;
    rates->seen = turn;
    rates->any = false;
    for (unsigned kind = 0; kind < RATE_KINDS; kind++) {
        struct rate *rate = &rates->of[kind];
        rate->per_second = quota_limit_of(conn->ledger->quota, limits[kind]);
        rate->counted = count_of(conn, (enum rate_kind)kind);
        rate->free = 0;
        rates->any = rates->any || rate->per_second != LIMIT_NONE;
    }
    contexts_limit_kernels(conn);
}

static bool rates_are_free(const struct server_conn *conn)
{
    for (unsigned kind = 0; kind < RATE_KINDS; kind++) {
        const struct rate *rate = &conn->rates.of[kind];
        if (rate->free != UINT64_MAX &&
            count_of(conn, (enum rate_kind)kind) - rate->counted > rate->free) {
            return false;
        }
    }
    return true;
}

static void wait_until(struct server_conn *conn, uint64_t until)
{
    struct pollfd woken = {.fd = conn->wake_fd, .events = POLLIN};
    for (uint64_t now; (now = ga_clock_ns()) < until && !atomic_load(&conn->ended);) {
        conn_run_jobs(conn);
        conn_flush(conn);
        uint64_t left_ms = (until - now) / GA_NS_PER_MS + 1;
        if (poll(&woken, 1, left_ms < 1000 ? (int)left_ms : 1000) > 0) {
            eventfd_t count;
            (void)!eventfd_read(conn->wake_fd, &count);
        }
    }
}

void rate_wait(struct server_conn *conn)
{
    struct conn_rates *rates = &conn->rates;
    uint32_t turn = quota_turn(conn->ledger->quota);
    if (turn != rates->seen) {
        rates_take(conn, turn);
    }
    if (!rates->any || rates_are_free(conn)) {
        return;
    }
    uint64_t now = ga_clock_ns(), until = 0;
    for (unsigned kind = 0; kind < RATE_KINDS; kind++) {
        uint64_t due = rate_count(&rates->of[kind], count_of(conn, (enum rate_kind)kind), now);
        until = due > until ? due : until;
    }
    if (until > now) {
        completer_hand_over(&conn->completer);
        wait_until(conn, until);
    }
}
