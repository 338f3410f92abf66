/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets and address ranges. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/app/ranges.h"
#include "server/backend/tickets.h"
#include "server/placement/placement.h"

#define SECOND UINT64_C(1000000000)

/* ---- tickets */

static struct channel_ticket ticket_of(uint8_t number, uint32_t device)
{
    struct channel_ticket ticket = {.kind = CHANNEL_TICKET, .device = device};
    memset(ticket.id, number, sizeof ticket.id);
    memset(ticket.key, 255 - number, sizeof ticket.key);
    return ticket;
}

static struct handshake_data_hello hello_of(uint8_t number, uint32_t device, uint32_t kind)
{
    struct handshake_data_hello hello = {.device = device, .kind = kind, .application = {5}};
    memset(hello.id, number, sizeof hello.id);
    memset(hello.key, 255 - number, sizeof hello.key);
    return hello;
}

static const char *use(struct ticket_table *table, struct handshake_data_hello hello, uint64_t now)
{
    const char *why = "good";
    (void)!tickets_use(table, &hello, now, &why);
    return why;
}

Test(tickets, each_kind_once)
{
    static struct ticket_table table = {.application = {5}};
    struct channel_ticket ticket = ticket_of(1, 3);
    cr_assert(tickets_add(&table, &ticket, 10 * SECOND, SECOND));
    cr_expect(tickets_any(&table, 2 * SECOND));
    cr_expect_str_eq(use(&table, hello_of(1, 3, HANDSHAKE_SIDE), SECOND), "good");
    cr_expect(tickets_any(&table, 2 * SECOND), "side does not use the data right up");
    cr_expect_str_eq(use(&table, hello_of(1, 3, HANDSHAKE_DATA), SECOND), "good");
    cr_expect_not(tickets_any(&table, 2 * SECOND));
    cr_expect_str_eq(use(&table, hello_of(1, 3, HANDSHAKE_DATA), SECOND),
                     "the ticket has been used");
    cr_expect_str_eq(use(&table, hello_of(1, 3, HANDSHAKE_SIDE), SECOND),
                     "the ticket has been used");
}

Test(tickets, say_which_gpu_serves_the_device)
{
    static struct ticket_table table = {.application = {5}};
    struct channel_ticket ticket = ticket_of(1, 3), other = ticket_of(2, 3);
    uint32_t gpu = 0;
    ticket.gpu = 7;
    cr_assert(tickets_add(&table, &ticket, 10 * SECOND, SECOND));
    cr_expect(tickets_has(&table, ticket.id));
    cr_expect_not(tickets_has(&table, other.id));
    cr_expect(tickets_gpu(&table, ticket.id, &gpu));
    cr_expect_eq(gpu, 7);
    cr_expect_not(tickets_gpu(&table, other.id, &gpu));
}

/* ---- placement */

Test(placement, each_device_is_the_gpu_of_its_number)
{
    const struct node_view node = {.gpu_count = 3};
    for (uint32_t device = 0; device < 3; device++) {
        cr_expect_eq(placement_pick(&node, device), device);
    }
    cr_expect_eq(placement_pick(&node, 3), PLACEMENT_NONE);
    cr_expect_eq(placement_pick(&node, UINT32_MAX), PLACEMENT_NONE);
    cr_expect_eq(placement_pick(&node, PLACEMENT_TAKEN), PLACEMENT_NONE);
}

/* Whether one who asks gets a GPU on which somebody else is. */
static bool beside(enum isolation asks, enum isolation is_there)
{
    struct node_view node = {.gpu_count = 100, .isolation = asks};
    node.others[1] = 1 << 6;
    node.kept[1] = is_there == ISOLATION_EXCLUSIVE ? 1 << 6 : 0;
    cr_expect_eq(placement_pick(&node, 69), 69, "another GPU is free");
    cr_expect_eq(placement_pick(&node, 70), placement_allows(&node, 70) ? 70 : PLACEMENT_TAKEN);
    return placement_allows(&node, 70);
}

Test(placement, exclusive_has_a_gpu_for_itself)
{
    cr_expect(beside(ISOLATION_APP, ISOLATION_APP));
    cr_expect_not(beside(ISOLATION_APP, ISOLATION_EXCLUSIVE));
    cr_expect_not(beside(ISOLATION_EXCLUSIVE, ISOLATION_APP));
    cr_expect_not(beside(ISOLATION_EXCLUSIVE, ISOLATION_EXCLUSIVE));
}

/* ---- tickets again */

/* The question of a TLS connection before it has said which of the two it is. */
Test(tickets, keys_are_told_as_long_as_they_are_good)
{
    static struct ticket_table table = {.application = {5}};
    struct channel_ticket ticket = ticket_of(1, 3), other = ticket_of(2, 3);
    const char *why = "";
    cr_assert(tickets_add(&table, &ticket, 10 * SECOND, SECOND));
    const uint8_t *key = tickets_key(&table, ticket.id, SECOND, &why);
    cr_assert_not_null(key);
    cr_expect_eq(memcmp(key, ticket.key, sizeof ticket.key), 0);
    cr_expect_null(tickets_key(&table, other.id, SECOND, &why));
    cr_expect_str_eq(why, "this ticket is not known here");
    cr_expect_str_eq(use(&table, hello_of(1, 3, HANDSHAKE_DATA), SECOND), "good");
    cr_expect_not_null(tickets_key(&table, ticket.id, SECOND, &why), "side is to come");
    cr_expect_null(tickets_key(&table, ticket.id, 10 * SECOND, &why));
    cr_expect_str_eq(why, "the ticket has expired");
    cr_expect_str_eq(use(&table, hello_of(1, 3, HANDSHAKE_SIDE), SECOND), "good");
    cr_expect_null(tickets_key(&table, ticket.id, SECOND, &why));
    cr_expect_str_eq(why, "the ticket has been used");
}

Test(tickets, wrong_ones_use_nothing_up)
{
    static struct ticket_table table = {.application = {5}};
    struct channel_ticket ticket = ticket_of(1, 3);
    cr_assert(tickets_add(&table, &ticket, 10 * SECOND, 0));
    for (unsigned i = 0; i < 32; i++) {
        struct handshake_data_hello wrong = hello_of(1, 3, HANDSHAKE_DATA);
        wrong.key[i] ^= 0x10;
        cr_expect_str_eq(use(&table, wrong, SECOND), "this ticket is not known here");
    }
    struct handshake_data_hello wrong = hello_of(1, 3, HANDSHAKE_DATA);
    wrong.application[0] = 6;
    cr_expect_str_neq(use(&table, wrong, SECOND), "good");
    cr_expect_str_neq(use(&table, hello_of(1, 4, HANDSHAKE_DATA), SECOND), "good");
    cr_expect_str_neq(use(&table, hello_of(2, 3, HANDSHAKE_DATA), SECOND), "good");
    cr_expect_str_eq(use(&table, hello_of(1, 3, HANDSHAKE_DATA), 10 * SECOND),
                     "the ticket has expired");
    cr_expect_str_eq(use(&table, hello_of(1, 3, HANDSHAKE_DATA), 10 * SECOND - 1), "good");
}

Test(tickets, expired_ones_make_room)
{
    static struct ticket_table table;
    struct channel_ticket ticket = ticket_of(1, 0);
    for (unsigned i = 0; i < TICKETS_MAX; i++) {
        cr_assert(tickets_add(&table, &ticket, 10 * SECOND, 0));
    }
    cr_expect_not(tickets_add(&table, &ticket, 10 * SECOND, 0));
    cr_expect(tickets_add(&table, &ticket, 20 * SECOND, 10 * SECOND));
    cr_expect_eq(table.count, 1);
    cr_expect_eq(table.arrived, TICKETS_MAX + 2);
}

/* A ticket that was moved up leaves its bytes behind: they are no ticket. */
Test(tickets, nothing_is_behind_the_last_one)
{
    static struct ticket_table table = {.application = {5}};
    struct channel_ticket first = ticket_of(1, 0), second = ticket_of(2, 0),
                          third = ticket_of(3, 0);
    const char *why;
    cr_assert(tickets_add(&table, &first, 10 * SECOND, 0));
    cr_assert(tickets_add(&table, &first, 10 * SECOND, 0));
    cr_assert(tickets_add(&table, &second, 30 * SECOND, 0));
    cr_assert(tickets_add(&table, &third, 30 * SECOND, 11 * SECOND));
    cr_assert_eq(table.count, 2);
    cr_expect_str_eq(use(&table, hello_of(2, 0, HANDSHAKE_DATA), 12 * SECOND), "good");
    cr_expect_str_eq(use(&table, hello_of(2, 0, HANDSHAKE_SIDE), 12 * SECOND), "good");
    cr_expect_str_eq(use(&table, hello_of(3, 0, HANDSHAKE_DATA), 12 * SECOND), "good");
    cr_expect_not(tickets_any(&table, 12 * SECOND));
    cr_expect_str_eq(use(&table, hello_of(2, 0, HANDSHAKE_DATA), 12 * SECOND),
                     "the ticket has been used");
    cr_expect_not_null(tickets_key(&table, third.id, 12 * SECOND, &why));
    cr_expect_null(tickets_key(&table, first.id, 12 * SECOND, &why));
}

/* ---- ranges */

static enum ga_status add(struct range_table *table, uint64_t base, uint64_t bytes)
{
    const struct range range = {.base = base, .bytes = bytes, .mapped = true};
    return range_table_add(table, &range);
}

Test(ranges, holds_what_lies_in_one_range)
{
    struct range_table table = {0};
    cr_assert_eq(add(&table, 0x3000, 0x1000), GA_OK);
    cr_assert_eq(add(&table, 0x1000, 0x1000), GA_OK);
    cr_assert_eq(add(&table, 0x2000, 0x1000), GA_OK); /* touches both, overlaps none */
    cr_expect(range_table_holds(&table, 0x1000, 0x1000));
    cr_expect(range_table_holds(&table, 0x1fff, 1));
    cr_expect(range_table_holds(&table, 0x3fff, 1));
    cr_expect_not(range_table_holds(&table, 0xfff, 1));
    cr_expect_not(range_table_holds(&table, 0x4000, 1));
    cr_expect_not(range_table_holds(&table, 0x1fff, 2), "two allocations are not one");
    cr_expect_not(range_table_holds(&table, 0x1000, UINT64_MAX));
    cr_expect_not(range_table_holds(&table, UINT64_MAX, 2));
    cr_expect(range_table_holds(&table, 0x9999, 0));
    range_table_fini(&table);
}

Test(ranges, there_are_so_many_and_no_more)
{
    struct range_table table = {0};
    for (uint64_t i = 0; i < RANGES_MAX; i++) {
        cr_assert_eq(add(&table, (i + 1) << 21, 1u << 21), GA_OK);
    }
    cr_assert_eq(add(&table, UINT64_C(1) << 46, 1u << 21), GA_NO_MEMORY);
    range_table_remove(&table, 1u << 21);
    cr_assert_eq(add(&table, UINT64_C(1) << 46, 1u << 21), GA_OK);
    range_table_fini(&table);
}

Test(ranges, overlaps_and_rubbish_are_refused)
{
    struct range_table table = {0};
    cr_assert_eq(add(&table, 0x2000, 0x1000), GA_OK);
    const struct {
        uint64_t base, bytes;
    } wrong[] = {{0x2000, 0x1000}, {0x1fff, 2},          {0x2fff, 1}, {0x1000, 0x3000},
                 {0x2800, 1},      {0x5000, UINT64_MAX}, {0x5000, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(add(&table, wrong[i].base, wrong[i].bytes), GA_INVALID, "%zu", i);
    }
    cr_expect_eq(table.count, 1);
    range_table_fini(&table);
}

/* Against a plain map of pages. */
Test(ranges, agree_with_a_page_map)
{
    enum { PAGES = 64 };
    struct range_table table = {0};
    unsigned owner[PAGES] = {0}, seed = 7;
    for (unsigned step = 1; step < 20000; step++) {
        seed = seed * 1103515245u + 12345u;
        unsigned first = (seed >> 8) % PAGES, count = 1 + (seed >> 16) % 6;
        bool fits = first + count <= PAGES, taken = false, one = fits && owner[first] != 0;
        for (unsigned i = first; i < first + count && fits; i++) {
            taken = taken || owner[i] != 0;
            one = one && owner[i] == owner[first];
        }
        cr_assert(!fits || range_table_holds(&table, first * 0x1000, count * 0x1000) == one);
        if (fits && (seed & 3) != 0) {
            cr_assert_eq(add(&table, first * 0x1000, count * 0x1000) == GA_OK, !taken);
            for (unsigned i = first; i < first + count && !taken; i++) {
                owner[i] = step;
            }
        } else if (range_table_at(&table, first * 0x1000) != NULL) {
            unsigned gone = owner[first];
            range_table_remove(&table, first * 0x1000);
            for (unsigned i = 0; i < PAGES; i++) {
                owner[i] = owner[i] == gone ? 0 : owner[i];
            }
        }
    }
    range_table_fini(&table);
}
