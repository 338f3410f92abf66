/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets that are taken back before anybody has used them. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/backend/tickets.h"

#define SOON 1000

static struct ticket_table table;

static void add(uint8_t id, uint32_t gpu)
{
    const struct channel_ticket ticket = {.gpu = gpu, .device = gpu, .id = {id}, .key = {id}};
    cr_assert(tickets_add(&table, &ticket, SOON, 0));
}

static enum ga_status use(uint8_t id, uint32_t gpu, enum handshake_kind kind, const char **why)
{
    const struct handshake_data_hello hello = {
        .kind = kind, .device = gpu, .id = {id}, .key = {id}};
    return tickets_use(&table, &hello, 1, why);
}

Test(tickets, one_that_was_taken_back_is_worth_nothing)
{
    const char *why = "";
    add(1, 0);
    add(2, 1);
    cr_assert_not(tickets_void(&table, 0));
    cr_assert_eq(use(1, 0, HANDSHAKE_DATA, &why), GA_DENIED);
    cr_assert(strstr(why, "taken back") != NULL, "%s", why);
    cr_assert_eq(use(2, 1, HANDSHAKE_DATA, &why), GA_OK, "it is for another GPU");
    cr_assert_not(tickets_any(&table, 1), "nobody may come any more");
    add(3, 0);
    cr_assert_eq(use(3, 0, HANDSHAKE_DATA, &why), GA_OK, "it came afterwards");
}

Test(tickets, one_that_was_used_cannot_be_taken_back)
{
    const char *why = "";
    add(1, 0);
    add(2, 0);
    cr_assert_eq(use(1, 0, HANDSHAKE_DATA, &why), GA_OK);
    cr_assert(tickets_void(&table, 0));
    cr_assert_eq(use(1, 0, HANDSHAKE_SIDE, &why), GA_OK, "its side connection may come");
    cr_assert_eq(use(2, 0, HANDSHAKE_DATA, &why), GA_DENIED);
}

Test(tickets, all_that_nobody_has_used_can_be_taken_back)
{
    const char *why = "";
    add(1, 0);
    add(2, 1);
    add(3, 1);
    cr_assert_eq(use(2, 1, HANDSHAKE_DATA, &why), GA_OK);
    tickets_void_all(&table);
    cr_assert_not(tickets_any(&table, 1));
    cr_assert_eq(use(1, 0, HANDSHAKE_DATA, &why), GA_DENIED);
    cr_assert_eq(use(2, 1, HANDSHAKE_SIDE, &why), GA_OK, "its side connection may come");
    cr_assert_eq(use(3, 1, HANDSHAKE_DATA, &why), GA_DENIED);
}

Test(tickets, those_for_bulk_connections_are_of_no_gpu)
{
    struct channel_ticket made;
    cr_assert(tickets_make(&table, 0, &made, SOON, 0));
    cr_assert_not(tickets_void(&table, 0));
    const struct handshake_data_hello hello = {.kind = HANDSHAKE_BULK};
    struct handshake_data_hello bulk = hello;
    memcpy(bulk.id, made.id, sizeof bulk.id);
    memcpy(bulk.key, made.key, sizeof bulk.key);
    const char *why = "";
    cr_assert_eq(tickets_use(&table, &bulk, 1, &why), GA_OK);
}
