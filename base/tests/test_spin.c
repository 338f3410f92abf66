/* SPDX-License-Identifier: Apache-2.0 */
/* Spinning in vain becomes rare; one success makes it the rule again. */
#include <criterion/criterion.h>

#include "base/spin.h"

static unsigned tries(struct ga_spin *spin, unsigned waits, bool came)
{
    unsigned count = 0;
    for (unsigned i = 0; i < waits; i++) {
        if (ga_spin_begin(spin) != 0) {
            count++;
            ga_spin_end(spin, came);
        }
    }
    return count;
}

Test(spin, in_vain_it_becomes_rare)
{
    struct ga_spin spin = {0};
    cr_assert_eq(tries(&spin, 100, true), 100, "who gets answers in time always spins");
    cr_assert_leq(tries(&spin, 1000, false), 10);
    cr_assert_leq(tries(&spin, 100000, false), 100000 / GA_SPIN_PAUSE + 1);
    cr_assert_geq(tries(&spin, 10 * GA_SPIN_PAUSE, false), 9, "but never stops trying");
}

Test(spin, one_success_makes_it_the_rule)
{
    struct ga_spin spin = {0};
    (void)tries(&spin, 100000, false);
    unsigned waits = 0;
    while (ga_spin_begin(&spin) == 0) {
        waits++;
    }
    cr_assert_leq(waits, GA_SPIN_PAUSE);
    ga_spin_end(&spin, true);
    cr_assert_eq(tries(&spin, 100, true), 100);
}
