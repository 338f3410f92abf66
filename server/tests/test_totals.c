/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/totals.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "store/store.h"

static struct totals totals;

static void totals_teardown(void)
{
    totals_fini(&totals);
}

TestSuite(totals, .fini = totals_teardown);

Test(totals, never_get_smaller)
{
    uint64_t now[TOTALS_FIGURES] = {[TOTALS_GPU_NS] = 10}, told[TOTALS_FIGURES] = {0};
    totals_use(&totals, "lab", 1, 2, now, told);
    totals_use(&totals, "lab", 1, 2, now, told);
    cr_assert_eq(totals_of(&totals, "lab")->gpus[1][TOTALS_GPU_NS], 10);
    now[TOTALS_GPU_NS] = 5; /* a stranger's number */
    totals_use(&totals, "lab", 1, 2, now, told);
    cr_assert_eq(totals_of(&totals, "lab")->gpus[1][TOTALS_GPU_NS], 10);
    now[TOTALS_GPU_NS] = 15;
    totals_use(&totals, "lab", 1, 2, now, told);
    cr_assert_eq(totals_of(&totals, "lab")->gpus[1][TOTALS_GPU_NS], 15);
    cr_assert_eq(totals_of(&totals, "lab")->gpus[0][TOTALS_GPU_NS], 0);
    totals_use(&totals, "lab", 2, 2, now, told); /* there is no such GPU */
}

Test(totals, very_many_tenants_have_common_ones)
{
    char name[20];
    for (unsigned i = 0; i < TOTALS_TENANTS_MAX + 1000; i++) {
        snprintf(name, sizeof name, "t%u", i);
        totals_session(&totals, name);
        totals_refused(&totals, name, LIMIT_GPUS);
    }
    cr_assert_eq(totals.count, TOTALS_TENANTS_MAX + 1);
    cr_assert_str_eq(totals.each[0].name, TOTALS_OTHERS);
    cr_assert_eq(totals.each[0].sessions, 1000);
    cr_assert_eq(totals.each[0].refused[LIMIT_GPUS], 1000);
    cr_assert_eq(totals_of(&totals, "t7")->sessions, 1);
    cr_assert_not(store_name_is_valid(TOTALS_OTHERS), "no tenant has that name");
}
