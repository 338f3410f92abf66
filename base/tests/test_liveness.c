/* SPDX-License-Identifier: Apache-2.0 */
/* Liveness, with time given by the test. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/liveness.h"

#define S GA_NS_PER_S

/* Looks every `step` for `seconds`; counts pings. True: dead before the end. */
static bool dies_within(struct ga_liveness *liveness, uint64_t *now, uint64_t seconds,
                        uint64_t step, unsigned *pings)
{
    for (uint64_t until = *now + seconds * S; *now < until;) {
        *now += step;
        enum ga_liveness_answer answer = ga_liveness_look(liveness, *now);
        if (answer == GA_LIVENESS_DEAD) {
            return true;
        }
        *pings += answer == GA_LIVENESS_PING;
    }
    return false;
}

Test(liveness, silence_is_pinged_then_dead)
{
    struct ga_liveness liveness;
    uint64_t now = 1000 * S;
    unsigned pings = 0;
    ga_liveness_init(&liveness, 30 * S, now);
    cr_assert_not(dies_within(&liveness, &now, 30, S / 2, &pings));
    cr_assert_eq(pings, 15);
    cr_assert(dies_within(&liveness, &now, 1, S / 2, &pings));
}

Test(liveness, whoever_answers_lives)
{
    struct ga_liveness liveness;
    uint64_t now = 5 * S;
    unsigned pings = 0;
    ga_liveness_init(&liveness, 30 * S, now);
    for (int i = 0; i < 100; i++) {
        cr_assert_not(dies_within(&liveness, &now, 29, S / 2, &pings));
        ga_liveness_heard(&liveness);
    }
    cr_assert(dies_within(&liveness, &now, 31, S / 2, &pings));
}

Test(liveness, nobody_is_pinged_who_speaks)
{
    struct ga_liveness liveness;
    uint64_t now = 0;
    ga_liveness_init(&liveness, 30 * S, now);
    for (int i = 0; i < 1000; i++) {
        now += S;
        ga_liveness_heard(&liveness);
        cr_assert_eq(ga_liveness_look(&liveness, now), GA_LIVENESS_FINE);
    }
}

Test(liveness, our_own_absence_is_not_the_peers)
{
    struct ga_liveness liveness;
    uint64_t now = 0;
    unsigned pings = 0;
    ga_liveness_init(&liveness, 30 * S, now);
    now += 3600 * S; /* stopped for an hour */
    cr_assert_eq(ga_liveness_look(&liveness, now), GA_LIVENESS_PING);
    cr_assert_not(dies_within(&liveness, &now, 25, S, &pings));
    cr_assert(dies_within(&liveness, &now, 6, S, &pings));
}
