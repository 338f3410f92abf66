/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges against a plain array. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "client/alloc/ranges.h"

#define PIECES 512

Test(ranges, like_an_array)
{
    static struct client_range pieces[PIECES];
    static struct client_range *owner[PIECES * 4];
    struct client_ranges map = {0};
    unsigned seed = 3;
    for (int step = 0; step < 40000; step++) {
        struct client_range *piece = &pieces[rand_r(&seed) % PIECES];
        if (piece->bytes != 0) {
            client_ranges_remove(&map, piece);
            for (uint64_t i = 0; i < piece->bytes; i++) {
                owner[piece->start + i] = NULL;
            }
            piece->bytes = 0;
        } else {
            uint64_t start = (uint64_t)rand_r(&seed) % (PIECES * 4 - 8), bytes = 1 + start % 7;
            bool free_there = true;
            for (uint64_t i = 0; i < bytes; i++) {
                free_there &= owner[start + i] == NULL;
            }
            *piece = (struct client_range){.start = start, .bytes = bytes};
            cr_assert_eq(client_ranges_insert(&map, piece), free_there);
            for (uint64_t i = 0; i < bytes && free_there; i++) {
                owner[start + i] = piece;
            }
            piece->bytes = free_there ? bytes : 0;
        }
        uint64_t at = (uint64_t)rand_r(&seed) % (PIECES * 4), from = at;
        cr_assert_eq(client_ranges_find(&map, at), owner[at]);
        while (from < PIECES * 4 && owner[from] == NULL) {
            from++;
        }
        cr_assert_eq(client_ranges_from(&map, at), from < PIECES * 4 ? owner[from] : NULL);
    }
}

Test(ranges, refuses_what_is_none)
{
    struct client_ranges map = {0};
    struct client_range empty = {.start = 5}, wraps = {.start = UINT64_MAX - 3, .bytes = 8};
    cr_assert_not(client_ranges_insert(&map, &empty));
    cr_assert_not(client_ranges_insert(&map, &wraps));
    cr_assert_null(client_ranges_find(&map, 5));
}
