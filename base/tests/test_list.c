/* SPDX-License-Identifier: Apache-2.0 */
/* The list keeps order and survives removal while walking. */
#include <criterion/criterion.h>

#include "base/list.h"

struct item {
    int value;
    struct ga_list link;
};

Test(list, order_and_removal_while_walking)
{
    struct ga_list list;
    ga_list_init(&list);
    struct item items[4];
    for (int i = 0; i < 4; i++) {
        items[i].value = i;
        ga_list_append(&list, &items[i].link);
    }
    int seen = 0;
    ga_list_each (at, following, &list) {
        struct item *item = ga_container(at, struct item, link);
        cr_assert_eq(item->value, seen);
        seen++;
        ga_list_remove(at);
        ga_list_remove(at);
    }
    cr_assert_eq(seen, 4);
    cr_assert(ga_list_empty(&list));
}
