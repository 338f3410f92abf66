/* SPDX-License-Identifier: Apache-2.0 */
/* Note: a client that is closed while its step is in a thread keeps its connection until the step
 * is done. */
#include "server/clients/client_steps.h"

#include "base/clock.h"
#include "server/access/authentication.h"
#include "server/clients/client_state.h"

bool control_client_is_stepped(const struct control_client *client)
{
    return client->tls && client->state == CLIENT_NEW;
}

static void step_run(struct worker_job *job)
{
    struct control_client *client = ga_container(job, struct control_client, job);
    client->step_status = frame_fill(&client->reader, &client->conn);
}

static void steps_due(struct server_timer *timer);

/* The next of the slow ones, as soon as one may go on. NULL: none. */
static struct pending_entry *steps_next_slow(struct clients *clients)
{
    struct pending_table *table = &clients->pending.table;
    if (!pending_table_has_slow(table)) {
        return NULL;
    }
    uint64_t wait_ns = authentication_slow_wait_ns(clients->access);
    if (wait_ns != 0) {
        timers_start(clients->timers, &clients->slow_steps, steps_due, wait_ns / GA_NS_PER_MS + 1,
                     0);
        return NULL;
    }
    return pending_table_next_step(table, true);
}

/* As many as there are threads. Slow ones are few, and go first: the others may be so many that
 * some wait at any time. */
static void steps_give(struct clients *clients)
{
    while (workers_have_room(&clients->workers)) {
        struct pending_entry *entry = steps_next_slow(clients);
        if (entry == NULL) {
            entry = pending_table_next_step(&clients->pending.table, false);
        }
        if (entry == NULL) {
            return;
        }
        struct control_client *client = ga_container(entry, struct control_client, limited);
        client->stepping = true;
        client->handles++; /* the job's */
        client->job.run = step_run;
        workers_give(&clients->workers, &client->job);
    }
}

static void steps_due(struct server_timer *timer)
{
    steps_give(ga_container(timer, struct clients, slow_steps));
}

static void steps_take(struct clients *clients)
{
    struct worker_job *job;
    while ((job = workers_take(&clients->workers)) != NULL) {
        struct control_client *client = ga_container(job, struct control_client, job);
        client->stepping = false;
        if (client->closed) {
            client->conn.ops->close(&client->conn);
        } else {
            control_client_stepped(client, client->step_status);
        }
        control_client_release(client);
    }
}

static void steps_done(uv_poll_t *poll, int status, int events)
{
    struct clients *clients = poll->data;
    (void)status;
    (void)events;
    steps_take(clients);
    steps_give(clients);
}

void control_client_step(struct control_client *client)
{
    (void)uv_poll_stop(&client->poll);
    client->limited.begun = transport_is_begun(&client->conn);
    pending_table_want_step(&client->room->pending.table, &client->limited);
    steps_give(client->room);
}

enum ga_status client_steps_init(struct clients *clients)
{
    GA_TRY(workers_init(&clients->workers));
    clients->steps.data = clients;
    if (uv_poll_init(clients->loop, &clients->steps, clients->workers.done_fd) != 0) {
        workers_fini(&clients->workers);
        return GA_NO_MEMORY;
    }
    (void)uv_poll_start(&clients->steps, UV_READABLE, steps_done);
    uv_unref((uv_handle_t *)&clients->steps);
    return GA_OK;
}

void client_steps_fini(struct clients *clients)
{
    workers_end(&clients->workers);
    steps_take(clients);
    uv_close((uv_handle_t *)&clients->steps, NULL);
    timers_stop(clients->timers, &clients->slow_steps);
    workers_fini(&clients->workers);
}
