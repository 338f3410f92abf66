/* SPDX-License-Identifier: Apache-2.0 */
/* The service thread, with more connections than a table of a fixed size would have room for. */
#include <poll.h>
#include <sys/eventfd.h>

#include "client/conn/conn_list.h"
#include "client/session/service.h"
#include "client/tests/peer.h"

#define CONNS 180 /* with three descriptors each */

static const struct transport_ops *tcp;
static int idle[2];

/* As of a wide connection: its socket, and what else would wake it. */
static unsigned await_three(struct transport_conn *transport, short wanted, struct pollfd *fds)
{
    fds[0] = (struct pollfd){.fd = idle[0], .events = POLLIN};
    fds[1] = (struct pollfd){.fd = idle[1], .events = POLLIN};
    fds[2] = (struct pollfd){.fd = transport->fd, .events = wanted};
    return 3;
}

static void conn_with_side(struct peer *peer, int *side_fd)
{
    static struct transport_ops ops;
    struct frame_reader reader;
    *peer = peer_connect();
    struct transport_conn side = peer_pair(side_fd);
    if (tcp == NULL) { /* from the first connection on the service thread reads them */
        tcp = side.ops;
        ops = *tcp;
        ops.poll_prepare = await_three;
    }
    side.ops = &ops;
    cr_assert_eq(frame_reader_init(&reader, SIDE_READ_BYTES), GA_OK);
    transport_side_init(&peer->conn->side, &side, &reader, 600000);
    client_conn_add(peer->conn);
}

Test(service, every_conn_is_watched, .timeout = 60)
{
    static struct peer peers[CONNS];
    static int sides[CONNS];
    const struct wire_header ping = {.opcode = WIRE_PING, .sequence = 7};
    struct wire_header pong;
    idle[0] = eventfd(0, EFD_CLOEXEC);
    idle[1] = eventfd(0, EFD_CLOEXEC);
    peer_hooks.armed = client_service_wake;
    cr_assert(client_service_start());
    for (unsigned i = 0; i < CONNS; i++) {
        conn_with_side(&peers[i], &sides[i]);
    }
    for (unsigned i = 0; i < CONNS; i++) {
        struct peer side = {.fd = sides[i]};
        cr_assert(peer_write(&side, &ping, sizeof ping));
        do { /* it may ping first */
            cr_assert(peer_read(&side, &pong, sizeof pong), "connection %u", i);
        } while (pong.opcode == WIRE_PING);
        cr_assert_eq(pong.opcode, WIRE_PONG, "connection %u", i);
    }
}
