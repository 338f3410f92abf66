/* SPDX-License-Identifier: Apache-2.0 */
/* A control connection between a program and a node: bytes take some milliseconds each way. The
 * node's end is a struct transport_conn, as of any transport. */
#ifndef TESTS_WORLD_WIRE_H
#define TESTS_WORLD_WIRE_H

#include "tests/world/queue.h"
#include "transport/transport.h"

struct world_node;
struct world_program;

struct world_wire {
    struct world_node *node;
    struct world_program *program; /* NULL: it has closed its end */
    bool node_closed, ended;       /* ended: the program's end has arrived at the node */
    struct world_queue to_node, to_program;
    uint8_t *bytes; /* that have come to the node, and wait */
    size_t count;
};

struct world_wire *wire_open(struct world_node *node, struct world_program *program);
void wire_send(struct world_wire *wire, const void *bytes, size_t size);
/* The program closes its end; the wire is not its any more. */
void wire_close(struct world_wire *wire);

#endif
