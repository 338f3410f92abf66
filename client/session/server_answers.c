/* SPDX-License-Identifier: Apache-2.0 */
/* Kept for the life of the process, a few hundred bytes for each server. Written by cuInit, which
 * runs once at a time, and read when it is over. */
#include "client/session/server_answers.h"

#include "client/conn/conn.h"
#include "client/session/servers.h"
#include "client/session/session.h"

#include <stdlib.h>
#include <string.h>

struct asked {
    char *address, *why;
    const struct client_server *server; /* NULL: it cannot be used */
};

static struct asked *all;
static unsigned count;
static bool quiet;

void client_server_answers_begin(void)
{
    for (unsigned i = 0; i < count; i++) {
        free(all[i].address);
        free(all[i].why);
    }
    count = 0;
}

/* Without memory the command lacks a line, which is no reason to fail. */
void client_server_answers_add(const char *address, const struct client_server *server,
                               const char *why)
{
    struct asked *more = realloc(all, (count + 1) * sizeof *all);
    if (more == NULL) {
        return;
    }
    all = more;
    all[count] = (struct asked){.address = strdup(address), .why = strdup(why), .server = server};
    if (all[count].address == NULL || all[count].why == NULL) {
        free(all[count].address);
        free(all[count].why);
        return;
    }
    count++;
}

enum ga_log_level client_server_answers_level(enum ga_log_level level)
{
    return quiet ? GA_LOG_DEBUG : level;
}

static void asked_quiet(void)
{
    quiet = true;
}

static void asked_observe(void)
{
    client_servers_observe = true;
}

static unsigned asked_count(void)
{
    return count;
}

static void asked_server(unsigned index, struct cuda_driver_server *server)
{
    const struct asked *asked = &all[index];
    *server = (struct cuda_driver_server){.address = asked->address,
                                          .usable = asked->server != NULL,
                                          .why = asked->why,
                                          .node = "",
                                          .build = ""};
    if (asked->server != NULL) {
        server->node = asked->server->node;
        server->build = asked->server->build;
        server->driver_version = asked->server->driver_version;
    }
}

static bool asked_way(int ordinal, struct cuda_driver_way *way)
{
    struct client_device *device;
    if (client_device_find(ordinal, &device) != CUDA_SUCCESS) {
        return false;
    }
    const struct client_session *session = atomic_load(&device->session);
    *way = (struct cuda_driver_way){
        .transport = session != NULL ? client_conn_scheme(client_session_conn(session)) : "",
        .why = device->refused != NULL ? device->refused : ""};
    while (way->server < count &&
           (all[way->server].server != device->server || all[way->server].why[0] != 0)) {
        way->server++;
    }
    return way->server < count;
}

const struct cuda_driver_servers client_server_answers_table = {
    .bytes = sizeof client_server_answers_table,
    .quiet = asked_quiet,
    .count = asked_count,
    .server = asked_server,
    .way = asked_way,
    .observe = asked_observe};
