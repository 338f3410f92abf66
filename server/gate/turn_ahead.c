/* SPDX-License-Identifier: Apache-2.0 */
#include "server/gate/turn_ahead.h"

#include "base/clock.h"

/* The least expected time: a batch has an end also if works take no time. */
#define EXPECTED_NS_MIN (8 * GA_NS_PER_US)
#define EXPECTED_NS_MAX (4 * GA_NS_PER_S)
/* One odd batch does not change what is expected by more than this factor. */
#define CHANGE_MAX   4.0
#define BOUNDLESS_NS (UINT64_MAX / 2)

void turn_ahead_init(struct turn_ahead *ahead)
{
    *ahead = (struct turn_ahead){0};
    for (unsigned i = 0; i < TURN_AHEAD_KINDS; i++) {
        ahead->expected_ns[i] = TURN_AHEAD_UNKNOWN;
    }
}

static uint32_t within_bounds(double ns)
{
    return (uint32_t)(ns < EXPECTED_NS_MIN   ? EXPECTED_NS_MIN
                      : ns > EXPECTED_NS_MAX ? EXPECTED_NS_MAX
                                             : ns);
}

/* The expected time of works of known kinds, and the number of others. */
static double works_sum(const struct turn_ahead *ahead, const uint32_t *works, uint64_t *unknown)
{
    double known_ns = 0;
    for (unsigned i = 0; i < TURN_AHEAD_KINDS; i++) {
        if (ahead->expected_ns[i] == TURN_AHEAD_UNKNOWN) {
            *unknown += works[i];
        } else {
            known_ns += (double)works[i] * ahead->expected_ns[i];
        }
    }
    return known_ns;
}

/* These works took so long: those of new kinds what is left, else all of them more or less than was
 * expected, half of which is believed. */
static void ahead_learn(struct turn_ahead *ahead, const uint32_t *works, double took_ns)
{
    uint64_t unknown = 0;
    double known_ns = works_sum(ahead, works, &unknown);
    double rest_ns = unknown != 0 ? (took_ns - known_ns) / (double)unknown : 0;
    double change = known_ns != 0 ? took_ns / known_ns : 1;
    change = ((change < CHANGE_MAX ? change : CHANGE_MAX) + 1) / 2;
    for (unsigned i = 0; i < TURN_AHEAD_KINDS; i++) {
        if (works[i] == 0) {
            continue;
        }
        if (ahead->expected_ns[i] == TURN_AHEAD_UNKNOWN) {
            ahead->expected_ns[i] = within_bounds(rest_ns);
        } else if (unknown == 0) {
            ahead->expected_ns[i] = within_bounds(change * ahead->expected_ns[i]);
        }
    }
}

static void batch_fill(struct turn_ahead *ahead, unsigned kind, uint64_t room_ns)
{
    uint64_t expected_ns = ahead->expected_ns[kind];
    ahead->left_ns = expected_ns < room_ns ? room_ns - expected_ns : 0;
    ahead->works[ahead->side][kind]++;
}

bool turn_ahead_may_begin(const struct turn_ahead *ahead, unsigned kind, uint64_t horizon_ns,
                          const bool in_flight[2])
{
    bool is_long = ahead->expected_ns[kind] > horizon_ns;
    return !in_flight[1 - ahead->side] && (!is_long || !in_flight[ahead->side]);
}

void turn_ahead_begin(struct turn_ahead *ahead, unsigned kind, uint64_t horizon_ns,
                      const bool in_flight[2], uint64_t busy_ns)
{
    uint32_t done[TURN_AHEAD_KINDS];
    for (unsigned i = 0; i < TURN_AHEAD_KINDS; i++) {
        done[i] = 0;
        for (unsigned side = 0; side < 2; side++) {
            done[i] += in_flight[side] ? 0 : ahead->works[side][i];
            ahead->works[side][i] = in_flight[side] ? ahead->works[side][i] : 0;
        }
    }
    ahead_learn(ahead, done, (double)(busy_ns - ahead->busy_ns));
    ahead->busy_ns = busy_ns;
    ahead->side = 1 - ahead->side;
    batch_fill(ahead, kind, horizon_ns / 2);
}

void turn_ahead_end(struct turn_ahead *ahead)
{
    ahead->left_ns = 0;
}

void turn_ahead_go_on(struct turn_ahead *ahead, unsigned kind, uint64_t horizon_ns)
{
    if (ahead->expected_ns[kind] == TURN_AHEAD_UNKNOWN) {
        ahead->expected_ns[kind] = within_bounds((double)horizon_ns / 8);
    }
    batch_fill(ahead, kind, horizon_ns / 2);
}

void turn_ahead_free(struct turn_ahead *ahead, unsigned kind)
{
    batch_fill(ahead, kind, BOUNDLESS_NS);
}
