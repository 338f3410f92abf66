/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/wire.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/clients/client_state.h"
#include "tests/world/node.h"
#include "tests/world/program.h"

#define WIRE_MS_MIN 1u
#define WIRE_MS_MAX 5u

static void wire_free(struct world_wire *wire)
{
    if (wire->node_closed && wire->program == NULL) {
        queue_end(&wire->to_node);
        queue_end(&wire->to_program);
        free(wire->bytes);
        free(wire);
    }
}

/* ---- the node's end */

static struct world_wire *wire_of(const struct transport_conn *conn)
{
    return conn->state;
}

static enum ga_status wire_ops_send(struct transport_conn *conn, const struct iovec *pieces,
                                    int count, size_t *sent)
{
    *sent = 0;
    for (int i = 0; i < count; i++) {
        queue_send(&wire_of(conn)->to_program, pieces[i].iov_base, pieces[i].iov_len);
        *sent += pieces[i].iov_len;
    }
    return GA_OK;
}

static enum ga_status wire_ops_receive(struct transport_conn *conn, void *to, size_t size,
                                       size_t *got)
{
    struct world_wire *wire = wire_of(conn);
    if (wire->count == 0) {
        return wire->ended ? GA_LOST : GA_AGAIN;
    }
    *got = size < wire->count ? size : wire->count;
    memcpy(to, wire->bytes, *got);
    wire->count -= *got;
    memmove(wire->bytes, wire->bytes + *got, wire->count);
    return GA_OK;
}

static unsigned wire_ops_poll(struct transport_conn *conn, short wanted, struct pollfd *fds)
{
    fds[0] = (struct pollfd){.fd = conn->fd, .events = wanted};
    return 1;
}

static enum ga_status wire_ops_dead_after(struct transport_conn *conn, unsigned timeout_ms)
{
    (void)conn, (void)timeout_ms;
    return GA_OK;
}

static enum ga_status wire_ops_local(int fd, char *url, size_t size)
{
    (void)fd;
    snprintf(url, size, "tcp://127.0.0.1:1");
    return GA_OK;
}

static void wire_ops_close(struct transport_conn *conn)
{
    struct world_wire *wire = wire_of(conn);
    wire->node_closed = true;
    if (wire->program != NULL) {
        queue_send(&wire->to_program, NULL, 0);
    }
    wire_free(wire);
}

static const struct transport_ops wire_ops = {.scheme = "world",
                                              .send = wire_ops_send,
                                              .receive = wire_ops_receive,
                                              .poll_prepare = wire_ops_poll,
                                              .set_dead_after = wire_ops_dead_after,
                                              .local_address = wire_ops_local,
                                              .close = wire_ops_close};

static void wire_arrived(struct world_queue *queue, const struct world_message *message)
{
    struct world_wire *wire = ga_container(queue, struct world_wire, to_node);
    wire->ended = wire->ended || message->size == 0;
    if (message->size != 0) {
        wire->bytes = realloc(wire->bytes, wire->count + message->size);
        cr_assert_not_null(wire->bytes);
        memcpy(wire->bytes + wire->count, message->bytes, message->size);
        wire->count += message->size;
    }
    ga_list_each (at, next, &wire->node->clients.all) {
        struct control_client *client = ga_container(at, struct control_client, link);
        if (client->conn.state == wire) {
            loop_ready(&client->poll, UV_READABLE | UV_WRITABLE);
            return;
        }
    }
}

/* ---- the program's end */

static void wire_answered(struct world_queue *queue, const struct world_message *message)
{
    struct world_wire *wire = ga_container(queue, struct world_wire, to_program);
    if (wire->program != NULL) {
        program_hear(wire->program, message->bytes, message->size);
    }
}

struct world_wire *wire_open(struct world_node *node, struct world_program *program)
{
    struct world_wire *wire = calloc(1, sizeof *wire);
    cr_assert_not_null(wire);
    wire->node = node;
    wire->program = program;
    queue_init(&wire->to_node, node->world, WIRE_MS_MIN, WIRE_MS_MAX, wire_arrived);
    queue_init(&wire->to_program, node->world, WIRE_MS_MIN, WIRE_MS_MAX, wire_answered);
    const struct transport_conn conn = {.ops = &wire_ops, .fd = -1, .state = wire};
    control_client_accept(&node->clients, &conn, false);
    return wire;
}

void wire_send(struct world_wire *wire, const void *bytes, size_t size)
{
    queue_send(&wire->to_node, bytes, size);
}

void wire_close(struct world_wire *wire)
{
    wire->program = NULL;
    if (!wire->node_closed) {
        queue_send(&wire->to_node, NULL, 0);
    }
    wire_free(wire);
}
