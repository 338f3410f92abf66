/* SPDX-License-Identifier: Apache-2.0 */
/* A pair of connections over RDMA, where there is a card for it (tests/rdma). */
#ifndef TRANSPORT_TESTS_WIDE_H
#define TRANSPORT_TESTS_WIDE_H

#include "transport/rdma/rdma_state.h"
#include "transport/transport.h"

/* Address of a card; NULL: there is none. */
const char *wide_host(void);
/* The same, or one that has no card. */
const char *wide_any_host(void);
struct transport_listener wide_listen(char url[300]);
struct transport_conn wide_accept(struct transport_listener *listener);
/* Receives until it is no longer "not now", or a second of that has passed. */
GA_CHECKED enum ga_status wide_receive(struct transport_conn *conn, void *to, size_t size,
                                       size_t *got);

struct wide_pair {
    struct transport_listener listener;
    struct transport_conn client, server;
    struct rdma_conn *client_state, *server_state;
};

/* Both directions go through the rings. The client's end is what `before`, the address and
 * `behind` make: a wrapper. */
struct wide_pair wide_open(const char *before, const char *behind);
void wide_say(struct transport_conn *from, struct transport_conn *to, const char *text);
void wide_close(struct wide_pair *pair);

#endif
