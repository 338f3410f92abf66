/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes: its edges, every combination of facts against the same rules said in another
 * way, and ARCHITECTURE.md, row by row. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "client/call/copy_route.h"

#define KIB      UINT64_C(1024)
#define IN_PLACE (1u << CLIENT_ROUTE_SHARED | 1u << CLIENT_ROUTE_ONE_SIDED)

static void expect(struct client_copy_facts facts, enum client_copy_route route)
{
    cr_expect_eq(client_copy_route(&facts), route, "%d, not %d", (int)client_copy_route(&facts),
                 (int)route);
}

Test(copy_route, edges_to_the_device)
{
    const struct {
        uint64_t bytes;
        unsigned can;
        enum client_copy_route pageable, pinned, gaps;
    } rows[] = {
        {0, 0, CLIENT_ROUTE_FRAME, CLIENT_ROUTE_FRAME, CLIENT_ROUTE_FRAME},
        {16 * KIB - 1, 15, CLIENT_ROUTE_FRAME, CLIENT_ROUTE_FRAME, CLIENT_ROUTE_FRAME},
        {16 * KIB, 15, CLIENT_ROUTE_DIRECT, CLIENT_ROUTE_DIRECT, CLIENT_ROUTE_FRAME},
        {64 * KIB - 1, 15, CLIENT_ROUTE_DIRECT, CLIENT_ROUTE_DIRECT, CLIENT_ROUTE_FRAME},
        {64 * KIB, 0, CLIENT_ROUTE_DIRECT, CLIENT_ROUTE_DIRECT, CLIENT_ROUTE_FRAME},
        {64 * KIB, CLIENT_CAN_MAP, CLIENT_ROUTE_BOUNCE, CLIENT_ROUTE_SHARED, CLIENT_ROUTE_FRAME},
        {64 * KIB, CLIENT_CAN_REACH, CLIENT_ROUTE_BOUNCE, CLIENT_ROUTE_ONE_SIDED,
         CLIENT_ROUTE_FRAME},
        {64 * KIB, CLIENT_CAN_BULK, CLIENT_ROUTE_BULK, CLIENT_ROUTE_BULK, CLIENT_ROUTE_BULK},
        {64 * KIB, CLIENT_CAN_COMPRESS, CLIENT_ROUTE_COMPRESSED, CLIENT_ROUTE_COMPRESSED,
         CLIENT_ROUTE_COMPRESSED},
        {64 * KIB, CLIENT_CAN_BULK | CLIENT_CAN_COMPRESS, CLIENT_ROUTE_BULK, CLIENT_ROUTE_BULK,
         CLIENT_ROUTE_BULK},
        {UINT64_MAX, 15, CLIENT_ROUTE_BOUNCE, CLIENT_ROUTE_SHARED, CLIENT_ROUTE_BULK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct client_copy_facts facts = {
            .to_device = true, .bytes = rows[i].bytes, .can = rows[i].can};
        expect(facts, rows[i].pageable);
        facts.gaps = true;
        expect(facts, rows[i].gaps);
        facts.gaps = false;
        facts.pinned = true;
        expect(facts, rows[i].pinned);
    }
}

Test(copy_route, edges_to_the_host)
{
    for (unsigned can = 0; can < 16; can++) {
        bool beside = (can & (CLIENT_CAN_MAP | CLIENT_CAN_REACH)) != 0;
        struct client_copy_facts facts = {.waits = true, .bytes = 64 * KIB - 1, .can = can};
        expect(facts, CLIENT_ROUTE_ANSWER);
        facts.bytes++;
        expect(facts, beside ? CLIENT_ROUTE_BOUNCE : CLIENT_ROUTE_ANSWER);
        facts.gaps = true;
        expect(facts, CLIENT_ROUTE_ANSWER);
        facts.gaps = false;
        facts.pinned = true;
        facts.waits = false;
        expect(facts, (can & CLIENT_CAN_MAP) != 0     ? CLIENT_ROUTE_SHARED
                      : (can & CLIENT_CAN_REACH) != 0 ? CLIENT_ROUTE_ONE_SIDED
                                                      : CLIENT_ROUTE_ANSWER);
        facts.tried = IN_PLACE; /* the program goes on, so slots are of no use */
        expect(facts, CLIENT_ROUTE_ANSWER);
        facts.waits = true;
        expect(facts, beside ? CLIENT_ROUTE_BOUNCE : CLIENT_ROUTE_ANSWER);
        facts.tried |= 1u << CLIENT_ROUTE_BOUNCE;
        expect(facts, CLIENT_ROUTE_ANSWER);
    }
}

/* A route that was tried and is unavailable leads to the next row, and in the end to one that is
 * always available. */
Test(copy_route, falls_through_all)
{
    struct client_copy_facts facts = {
        .to_device = true, .pinned = true, .bytes = 64 * KIB, .can = 15};
    for (unsigned route = 0; route <= CLIENT_ROUTE_FRAME; route++) {
        expect(facts, route);
        facts.tried |= 1u << route;
    }
}

/* ---- every combination */

static bool untried(const struct client_copy_facts *f, enum client_copy_route route)
{
    return (f->tried & 1u << route) == 0;
}

static enum client_copy_route beside(const struct client_copy_facts *f)
{
    bool large = f->bytes >= 64 * KIB && !f->gaps;
    bool maps = (f->can & CLIENT_CAN_MAP) != 0, reaches = (f->can & CLIENT_CAN_REACH) != 0;
    if (large && f->pinned && maps && untried(f, CLIENT_ROUTE_SHARED)) {
        return CLIENT_ROUTE_SHARED;
    }
    if (large && f->pinned && reaches && untried(f, CLIENT_ROUTE_ONE_SIDED)) {
        return CLIENT_ROUTE_ONE_SIDED;
    }
    return large && (maps || reaches) && (f->to_device || f->waits) &&
                   untried(f, CLIENT_ROUTE_BOUNCE)
               ? CLIENT_ROUTE_BOUNCE
               : CLIENT_ROUTES;
}

static enum client_copy_route said_otherwise(const struct client_copy_facts *f)
{
    enum client_copy_route route = beside(f);
    if (route != CLIENT_ROUTES || !f->to_device) {
        return route != CLIENT_ROUTES ? route : CLIENT_ROUTE_ANSWER;
    }
    if (f->bytes >= 64 * KIB && (f->can & CLIENT_CAN_BULK) && untried(f, CLIENT_ROUTE_BULK)) {
        return CLIENT_ROUTE_BULK;
    }
    if (f->bytes >= 64 * KIB && (f->can & CLIENT_CAN_COMPRESS) &&
        untried(f, CLIENT_ROUTE_COMPRESSED)) {
        return CLIENT_ROUTE_COMPRESSED;
    }
    return f->bytes >= 16 * KIB && !f->gaps && untried(f, CLIENT_ROUTE_DIRECT) ? CLIENT_ROUTE_DIRECT
                                                                               : CLIENT_ROUTE_FRAME;
}

Test(copy_route, every_combination)
{
    const uint64_t sizes[] = {
        0,        1,         16 * KIB - 1, 16 * KIB, 16 * KIB + 1, 48 * KIB, 64 * KIB - 1,
        64 * KIB, 256 * KIB, UINT64_MAX};
    for (unsigned bits = 0; bits < 1u << 14; bits++) {
        struct client_copy_facts facts = {.to_device = (bits & 1) != 0,
                                          .pinned = (bits & 2) != 0,
                                          .waits = (bits & 4) != 0,
                                          .gaps = (bits & 8) != 0,
                                          .can = bits >> 4 & 15,
                                          /* what always is to be had is never marked */
                                          .tried = bits >> 8 & 63};
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            facts.bytes = sizes[i];
            cr_assert_eq(client_copy_route(&facts), said_otherwise(&facts), "%x %llu", bits,
                         (unsigned long long)facts.bytes);
        }
    }
}

/* Small copies look at neither connection nor memory. */
Test(copy_route, small_ones_need_nothing)
{
    for (int i = 0; i < CLIENT_ROUTES; i++) {
        const struct client_copy_rule *rule = &client_copy_rules[i];
        cr_expect_eq((int)rule->route, i);
        cr_expect((rule->needs == 0 && !rule->pinned) || rule->least >= CLIENT_ROUTE_LARGE);
    }
}

/* ---- the documentation */

static const char *const names[CLIENT_ROUTES] = {"SHARED",     "ONE_SIDED", "BOUNCE", "BULK",
                                                 "COMPRESSED", "DIRECT",    "FRAME",  "ANSWER"};

static void row_of(const struct client_copy_rule *rule, char *row, size_t room)
{
    char bytes[32] = "any";
    if (rule->least != 0) {
        snprintf(bytes, sizeof bytes, ">= %llu KiB", (unsigned long long)(rule->least / KIB));
    }
    const char *host = rule->waits ? "host if the call waits" : "host";
    const char *connection = rule->needs == CLIENT_CAN_MAP                        ? "shm"
                             : rule->needs == CLIENT_CAN_REACH                    ? "RDMA"
                             : rule->needs == (CLIENT_CAN_MAP | CLIENT_CAN_REACH) ? "shm, RDMA"
                             : rule->needs == CLIENT_CAN_BULK     ? "bulk connections"
                             : rule->needs == CLIENT_CAN_COMPRESS ? "compression"
                                                                  : "any";
    snprintf(row, room, "\n| `%s` | %s%s%s | %s | %s | %s | %s | ", names[rule->route],
             rule->to_device ? "device" : "", rule->to_device && rule->to_host ? ", " : "",
             rule->to_host ? host : "", rule->pinned ? "pinned" : "any", bytes, connection,
             rule->gaps ? "yes" : "no");
}

Test(copy_route, as_documented)
{
    static char text[1 << 20];
    FILE *file = fopen(ARCHITECTURE, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const char *at = strstr(text, "## 5. Ways of bytes");
    for (int i = 0; i < CLIENT_ROUTES; i++) {
        char row[256];
        cr_assert_not_null(at);
        row_of(&client_copy_rules[i], row, sizeof row);
        at = strstr(at, row); /* in the same order */
        cr_assert_not_null(at, "ARCHITECTURE.md lacks the row%s", row);
    }
}
