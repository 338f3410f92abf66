/* SPDX-License-Identifier: Apache-2.0 */
/* The table of memory that an application may name: bounds on both sides. */
#include <criterion/criterion.h>

#include "server/app/ranges.h"

static struct range_table table;

static void stop(void)
{
    range_table_fini(&table);
}

TestSuite(ranges, .fini = stop);

static enum ga_status add(uint64_t base, uint64_t bytes)
{
    const struct range range = {.base = base, .bytes = bytes, .mapped = true};
    return range_table_add(&table, &range);
}

Test(ranges, none_overlaps_another)
{
    cr_assert_eq(add(100, 50), GA_OK);
    cr_assert_eq(add(200, 50), GA_OK);
    cr_assert_eq(add(150, 50), GA_OK, "it fits in between");
    cr_assert_eq(add(99, 1), GA_OK);
    cr_assert_eq(add(250, 1), GA_OK);
    cr_assert_eq(add(90, 10), GA_INVALID);
    cr_assert_eq(add(90, 9), GA_OK);
    cr_assert_eq(add(100, 1), GA_INVALID);
    cr_assert_eq(add(149, 1), GA_INVALID);
    cr_assert_eq(add(240, 100), GA_INVALID);
    cr_assert_eq(add(1000, 0), GA_INVALID);
    cr_assert_eq(add(UINT64_MAX - 9, 10), GA_INVALID, "it wraps around");
    cr_assert_eq(add(UINT64_MAX - 10, 10), GA_OK);
    cr_assert_eq(table.count, 7);
    for (size_t i = 1; i < table.count; i++) {
        cr_assert_lt(table.items[i - 1].base, table.items[i].base);
    }
}

Test(ranges, many_are_kept_in_order)
{
    for (uint64_t i = 0; i < 1000; i++) {
        cr_assert_eq(add((i * 7919) % 1000 * 10 + 5, 10), GA_OK);
    }
    cr_assert_eq(table.count, 1000);
    for (uint64_t i = 0; i < 1000; i++) {
        cr_assert_eq(table.items[i].base, i * 10 + 5);
        cr_assert_eq(range_table_find(&table, i * 10 + 14), &table.items[i]);
    }
    range_table_remove(&table, 55);
    range_table_remove(&table, 66); /* none begins there */
    cr_assert_eq(table.count, 999);
    cr_assert_null(range_table_find(&table, 60));
    cr_assert_eq(range_table_find(&table, 65)->base, 65);
}

Test(ranges, what_lies_in_one_is_found_to_its_last_byte)
{
    cr_assert_eq(add(100, 50), GA_OK);
    cr_assert_null(range_table_find(&table, 99));
    cr_assert_not_null(range_table_find(&table, 100));
    cr_assert_not_null(range_table_find(&table, 149));
    cr_assert_null(range_table_find(&table, 150));
    cr_assert_not_null(range_table_at(&table, 100));
    cr_assert_null(range_table_at(&table, 101));
    cr_assert(range_table_holds(&table, 100, 50) && range_table_holds(&table, 149, 1));
    cr_assert_not(range_table_holds(&table, 100, 51) || range_table_holds(&table, 99, 2));
    cr_assert_not(range_table_holds(&table, 149, 2) || range_table_holds(&table, 150, 1));
    cr_assert(range_table_holds(&table, 7, 0));
}

Test(ranges, one_touches_what_has_any_of_its_bytes)
{
    cr_assert_eq(add(100, 50), GA_OK);
    cr_assert_eq(add(200, 50), GA_OK);
    cr_assert(range_table_touches(&table, 90, 11) && range_table_touches(&table, 149, 1));
    cr_assert(range_table_touches(&table, 150, 51) && range_table_touches(&table, 90, 1000));
    cr_assert_not(range_table_touches(&table, 90, 10) || range_table_touches(&table, 150, 50));
    cr_assert_not(range_table_touches(&table, 250, 1000));
}

Test(ranges, mappings_that_the_program_has_made_side_by_side_are_one)
{
    struct server_physical *of = (struct server_physical *)(uintptr_t)&table;
    const struct range made[] = {{.base = 100, .bytes = 50, .mapped = true, .of = of},
                                 {.base = 150, .bytes = 50, .mapped = true, .of = of},
                                 {.base = 200, .bytes = 50, .mapped = true},
                                 {.base = 300, .bytes = 50, .mapped = true, .of = of}};
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(range_table_add(&table, &made[i]), GA_OK);
    }
    cr_assert(range_table_holds(&table, 100, 100) && range_table_holds(&table, 149, 51));
    cr_assert_not(range_table_holds(&table, 100, 101), "the third is not the program's");
    cr_assert_not(range_table_holds(&table, 200, 51));
    cr_assert_not(range_table_holds(&table, 300, 51));
    cr_assert(range_table_whole(&table, 100, 150));
    cr_assert(range_table_whole(&table, 150, 50) && range_table_whole(&table, 100, 0));
    cr_assert_not(range_table_whole(&table, 100, 149) || range_table_whole(&table, 100, 151));
    cr_assert_not(range_table_whole(&table, 101, 49));
    table.items[1].allocated = true;
    cr_assert_not(range_table_whole(&table, 100, 100));
    table.items[1].allocated = false;
    table.items[1].mapped = false;
    cr_assert_not(range_table_whole(&table, 100, 100));
}

Test(ranges, one_is_shared_by_its_base)
{
    cr_assert_eq(add(100, 50), GA_OK);
    range_table_share(&table, 110);
    range_table_share(&table, 90);
    cr_assert_not(table.items[0].shared);
    range_table_share(&table, 100);
    cr_assert(table.items[0].shared);
}
