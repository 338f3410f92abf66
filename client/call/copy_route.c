/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes; ARCHITECTURE.md, "Ways of bytes", has its rows in the same order. */
#include "client/call/copy_route.h"

#include "client/conn/conn.h"

#define LARGE CLIENT_ROUTE_LARGE

const struct client_copy_rule client_copy_rules[CLIENT_ROUTES] = {
    {.route = CLIENT_ROUTE_SHARED,
     .to_device = true,
     .to_host = true,
     .pinned = true,
     .least = LARGE,
     .needs = CLIENT_CAN_MAP},
    {.route = CLIENT_ROUTE_ONE_SIDED,
     .to_device = true,
     .to_host = true,
     .pinned = true,
     .least = LARGE,
     .needs = CLIENT_CAN_REACH},
    {.route = CLIENT_ROUTE_BOUNCE,
     .to_device = true,
     .to_host = true,
     .waits = true,
     .least = LARGE,
     .needs = CLIENT_CAN_MAP | CLIENT_CAN_REACH},
    {.route = CLIENT_ROUTE_BULK,
     .to_device = true,
     .gaps = true,
     .least = LARGE,
     .needs = CLIENT_CAN_BULK},
    {.route = CLIENT_ROUTE_COMPRESSED,
     .to_device = true,
     .gaps = true,
     .least = LARGE,
     .needs = CLIENT_CAN_COMPRESS},
    {.route = CLIENT_ROUTE_DIRECT, .to_device = true, .least = CLIENT_ROUTE_DIRECT_MIN},
    {.route = CLIENT_ROUTE_FRAME, .to_device = true, .gaps = true},
    {.route = CLIENT_ROUTE_ANSWER, .to_host = true, .gaps = true},
};

static bool fits(const struct client_copy_rule *rule, const struct client_copy_facts *facts)
{
    bool there =
        facts->to_device ? rule->to_device : rule->to_host && (facts->waits || !rule->waits);
    return there && facts->bytes >= rule->least && (facts->pinned || !rule->pinned) &&
           (rule->gaps || !facts->gaps) && (rule->needs == 0 || (facts->can & rule->needs) != 0) &&
           (facts->tried >> rule->route & 1) == 0;
}

/* The last row of each direction always fits. */
enum client_copy_route client_copy_route(const struct client_copy_facts *facts)
{
    const struct client_copy_rule *rule = client_copy_rules;
    while (rule != &client_copy_rules[CLIENT_ROUTES - 1] && !fits(rule, facts)) {
        rule++;
    }
    return rule->route;
}

unsigned client_copy_abilities(const struct client_conn *conn)
{
    const struct transport_ops *ops = client_conn_transport(conn)->ops;
    return (ops->send_fd != NULL ? CLIENT_CAN_MAP : 0) |
           (ops->one_sided != NULL ? CLIENT_CAN_REACH : 0) |
           (client_conn_bulks(conn) != 0 ? CLIENT_CAN_BULK : 0) |
           (client_conn_compresses(conn) ? CLIENT_CAN_COMPRESS : 0);
}
