/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of all kinds are found, and only those that are there. */
#include <criterion/criterion.h>

#include "base/number_map.h"

#define COUNT 5000u

static uint64_t number_of(unsigned i)
{
    return i % 2 != 0 ? i : (uint64_t)i << 40;
}

Test(number_map, add_find_remove)
{
    static struct ga_number_map map;
    static struct ga_number_node nodes[COUNT];
    cr_assert_null(ga_number_map_find(&map, 7));
    for (unsigned i = 0; i < COUNT; i++) {
        ga_number_map_add(&map, &nodes[i], number_of(i));
    }
    for (unsigned i = 0; i < COUNT; i += 3) {
        ga_number_map_remove(&map, &nodes[i]);
        ga_number_map_remove(&map, &nodes[i]); /* nothing happens */
    }
    for (unsigned i = 0; i < COUNT; i++) {
        struct ga_number_node *due = i % 3 == 0 ? NULL : &nodes[i];
        cr_assert_eq(ga_number_map_find(&map, number_of(i)), due);
    }
}

Test(number_map, the_last_of_a_number)
{
    static struct ga_number_map map;
    static struct ga_number_node nodes[2];
    ga_number_map_add(&map, &nodes[0], 5);
    ga_number_map_add(&map, &nodes[1], 5);
    cr_assert_eq(ga_number_map_find(&map, 5), &nodes[1]);
    ga_number_map_remove(&map, &nodes[1]);
    cr_assert_eq(ga_number_map_find(&map, 5), &nodes[0]);
}
