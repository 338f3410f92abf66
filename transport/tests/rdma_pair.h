/* SPDX-License-Identifier: Apache-2.0 */
/* A pair of connections over RDMA, on a machine with a card (tests/rdma). */
#ifndef TRANSPORT_TESTS_RDMA_PAIR_H
#define TRANSPORT_TESTS_RDMA_PAIR_H

#include "transport/rdma/rdma_state.h"
#include "transport/transport.h"

/* Address of a card; NULL: there is none. */
const char *rdma_pair_host(void);
/* As rdma_pair_host, or one that has no card. */
const char *rdma_pair_any_host(void);
struct transport_listener rdma_pair_listen(char url[300]);
struct transport_conn rdma_pair_accept(struct transport_listener *listener);
/* Receives until it is no longer "not now", or a second of that has passed. */
GA_CHECKED enum ga_status rdma_pair_receive(struct transport_conn *conn, void *to, size_t size,
                                            size_t *got);

struct rdma_pair {
    struct transport_listener listener;
    struct transport_conn client, server;
    struct rdma_conn *client_state, *server_state;
};

/* Both directions go through the rings. The client's end is what `before`, the address and
 * `behind` make: a wrapper. */
struct rdma_pair rdma_pair_open(const char *before, const char *behind);
void rdma_pair_say(struct transport_conn *from, struct transport_conn *to, const char *text);
void rdma_pair_close(struct rdma_pair *pair);

#endif
