/* SPDX-License-Identifier: Apache-2.0 */
#include "server/clients/client_limits.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/applications/application.h"
#include "server/clients/client_state.h"

#define RELIEVED      8u  /* pending clients that go at once when descriptors have run out */
#define OVERDUE_BATCH 64u /* clients that go in a turn of the loop, in which others have a turn */

static struct control_client *limited_client(struct pending_entry *entry)
{
    return ga_container(entry, struct control_client, limited);
}

/* ---- time */

static void limit_overdue(struct server_timer *timer);

/* The timer runs for the one that has been there longest. It may come too early, when that one has
 * gone; never too late. */
static void limit_watch(struct clients_limit *limit)
{
    const struct pending_entry *oldest = pending_table_oldest(&limit->table);
    if (oldest != NULL && limit->limit_ns != 0 && !limit->timer.runs) {
        uint64_t due_ns = oldest->since_ns + limit->limit_ns, now_ns = timers_awake(limit->timers);
        uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
        timers_start(limit->timers, &limit->timer, limit_overdue, left_ns / GA_NS_PER_MS + 1, 0);
    }
}

static void overdue_log(struct control_client *client)
{
    if (!client->counted) {
        ga_warn_of(control_client_address(client), "%s: has not said who it is in time",
                   control_client_label(client));
    } else {
        ga_info_of(control_client_address(client), "%s: has used nothing for idle_timeout_s (%u s)",
                   control_client_label(client), client->room->conf->server.idle_timeout_s);
    }
}

static void limit_overdue(struct server_timer *timer)
{
    struct clients_limit *limit = ga_container(timer, struct clients_limit, timer);
    uint64_t now_ns = timers_awake(limit->timers);
    for (unsigned i = 0; i < OVERDUE_BATCH; i++) {
        struct pending_entry *oldest = pending_table_oldest(&limit->table);
        if (oldest == NULL || now_ns - oldest->since_ns < limit->limit_ns) {
            break;
        }
        overdue_log(limited_client(oldest));
        control_client_close(limited_client(oldest));
    }
    limit_watch(limit);
}

static enum ga_status limit_init(struct clients *clients, struct clients_limit *limit,
                                 unsigned most, unsigned limit_s)
{
    limit->limit_ns = limit_s * GA_NS_PER_S;
    limit->timers = clients->timers;
    return pending_table_init(&limit->table, most);
}

enum ga_status client_limits_init(struct clients *clients, uint32_t pending_most)
{
    const struct conf_server *server = &clients->conf->server;
    GA_TRY(
        limit_init(clients, &clients->pending, pending_most, server->backend.handshake_timeout_s));
    enum ga_status status =
        limit_init(clients, &clients->idle, server->clients, server->idle_timeout_s);
    if (status != GA_OK) {
        pending_table_fini(&clients->pending.table);
    }
    return status;
}

static void limit_renew(struct clients_limit *limit, unsigned limit_s)
{
    limit->limit_ns = limit_s * GA_NS_PER_S;
    timers_stop(limit->timers, &limit->timer);
    limit_watch(limit);
}

void client_limits_renew(struct clients *clients)
{
    limit_renew(&clients->pending, clients->conf->server.backend.handshake_timeout_s);
    limit_renew(&clients->idle, clients->conf->server.idle_timeout_s);
}

void client_limits_fini(struct clients *clients)
{
    struct clients_limit *limits[] = {&clients->pending, &clients->idle};
    for (unsigned i = 0; i < 2; i++) {
        timers_stop(clients->timers, &limits[i]->timer);
        pending_table_fini(&limits[i]->table);
    }
}

/* ---- eviction */

static void pending_drop(struct control_client *client, const char *why)
{
    ga_warn_of(control_client_address(client), "%s: has not said who it is, and %s: dropped",
               control_client_label(client), why);
    control_client_close(client);
}

enum ga_status control_client_pend(struct control_client *client)
{
    struct clients *clients = client->room;
    struct pending_table *table = &clients->pending.table;
    uint8_t source[TRANSPORT_SOURCE_BYTES];
    transport_source(&client->conn, source);
    GA_TRY(pending_table_add(table, &client->limited, source, timers_awake(clients->timers)));
    if (pending_table_is_over(table)) {
        pending_drop(limited_client(pending_table_victim(table)), "another one needs its place");
    }
    limit_watch(&clients->pending);
    return GA_OK;
}

bool client_limits_relieve(struct clients *clients)
{
    struct pending_entry *victim;
    unsigned gone = 0;
    while (gone < RELIEVED && (victim = pending_table_victim(&clients->pending.table)) != NULL) {
        pending_drop(limited_client(victim), "descriptors have run out");
        gone++;
    }
    return gone != 0;
}

/* How many programs of it have opened no device. */
static uint32_t tenant_unused(const struct tenant *tenant)
{
    return tenant->application_count - tenant->session_count;
}

/* The last one of the tenant that has most clients without a session, though they wait for one: if
 * these are more than the pending one's tenant has. NULL: there is none. */
static struct control_client *greedy_client(const struct control_client *pending)
{
    struct control_client *found = NULL;
    uint32_t most = tenant_unused(pending->application->tenant) + 1;
    ga_list_each (at, next, &pending->room->all) {
        struct control_client *client = ga_container(at, struct control_client, link);
        const struct control_application *application = client->application;
        if (client->counted && !application->session && !application->observer &&
            tenant_unused(application->tenant) >= most) {
            most = tenant_unused(application->tenant);
            found = client;
        }
    }
    return found;
}

bool control_client_admit(struct control_client *client)
{
    struct clients *clients = client->room;
    if (clients->count + clients->applications->alone_count >= clients->conf->server.clients) {
        struct pending_entry *idle = pending_table_victim(&clients->idle.table);
        struct control_client *gone = idle != NULL ? limited_client(idle) : greedy_client(client);
        if (gone == NULL) {
            return false;
        }
        ga_info_of(control_client_address(gone),
                   "%s: uses nothing, and another one needs its place", control_client_label(gone));
        control_client_close(gone);
    }
    pending_table_remove(&clients->pending.table, &client->limited);
    client->counted = true;
    clients->count++;
    return true;
}

void control_client_idle(struct control_client *client)
{
    struct clients_limit *limit = &client->room->idle;
    uint8_t source[TRANSPORT_SOURCE_BYTES];
    if (!client->counted) {
        return;
    }
    bool idle = client->open_count == 0 && !control_application_has_seat(client->application);
    if (!idle) {
        pending_table_remove(&limit->table, &client->limited);
    } else if (client->limited.source == NULL) {
        transport_source(&client->conn, source);
        if (pending_table_add(&limit->table, &client->limited, source,
                              timers_awake(limit->timers)) != GA_OK) {
            ga_debug("no memory to look after an idle client");
        }
        limit_watch(limit);
    }
}

void control_client_uncount(struct control_client *client)
{
    struct clients *clients = client->room;
    pending_table_remove(client->counted ? &clients->idle.table : &clients->pending.table,
                         &client->limited);
    clients->count -= client->counted;
    client->counted = false;
}
