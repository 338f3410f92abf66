/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of the rdma transport from inside (rdma.c, rdma_stream.c, and their tests).
 *
 * A direction begins on TCP. As soon as its sender knows that the other end can take it, it says
 * over RDMA how many bytes have gone over TCP, and goes on in the ring: so nobody waits for the
 * offer to be answered. The client knows by the answer, the server by the client's switch. */
#ifndef TRANSPORT_RDMA_RDMA_STATE_H
#define TRANSPORT_RDMA_RDMA_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "transport/rdma/rdma_endpoint.h"
#include "transport/transport.h"

#define RDMA_MESSAGES 128u /* on their way in one direction and not read, at most */
#define RDMA_STORES   64u  /* and copies into the other end's memory: both fit into a queue pair */

struct rdma_out { /* under its lock */
    pthread_mutex_t lock;
    bool switched;
    uint64_t tcp_bytes;
    uint64_t written, read; /* by the other end, as far as it has said */
    uint64_t ends[RDMA_MESSAGES];
    uint32_t first, last;         /* messages not read: [first, last), modulo RDMA_MESSAGES */
    uint64_t stores[RDMA_STORES]; /* numbers of their messages, modulo RDMA_STORES */
    uint64_t stores_begun, stores_ended;
};

struct rdma_in {
    pthread_mutex_t lock;
    bool known;             /* how many bytes go over TCP */
    atomic_bool switched;   /* and that they have been received */
    uint64_t tcp_bytes;     /* received so far */
    uint32_t tcp_left;      /* once known */
    uint64_t arrived, read; /* in the ring */
    uint64_t told;          /* of read, to the other end */
    uint32_t messages;      /* arrived since then */
    bool end;
};

enum rdma_phase {
    RDMA_PLAIN, /* bytes go over TCP and nothing else has been said */
    RDMA_NEW,   /* the server's end: the client has not said what it is */
    RDMA_ASKED, /* the client's end: no answer yet */
    RDMA_UPGRADED,
};

struct rdma_conn {
    struct transport_conn tcp; /* the same descriptor */
    enum rdma_phase phase;
    uint8_t head[sizeof(struct rdma_offer)]; /* first bytes of the other end */
    size_t head_got, head_given;
    struct rdma_endpoint *endpoint;   /* NULL: there is none */
    atomic_bool ready;                /* our bytes may go through the ring */
    atomic_bool slept, waited, dozed; /* slept, for what comes, for room, for a fetch */
    atomic_bool ended;
    struct rdma_in in;
    struct rdma_out out;
};

/* ---- rdma_stream.c: bytes, once it is upgraded; as the functions of struct transport_ops */
GA_CHECKED enum ga_status rdma_stream_send(struct rdma_conn *state, const struct iovec *pieces,
                                           int count, size_t *sent);
GA_CHECKED enum ga_status rdma_stream_receive(struct rdma_conn *state, void *to, size_t size,
                                              size_t *got);
/* Of struct transport_one_sided; in order with what is sent. */
GA_CHECKED enum ga_status rdma_stream_store(struct rdma_conn *state,
                                            const struct rdma_qp_write *write);
GA_CHECKED enum ga_status rdma_stream_stored(struct rdma_conn *state, uint64_t *count);
/* As `idle` of struct transport_ops. */
void rdma_stream_idle(struct transport_conn *conn, uint64_t now_ns);
/* The TCP connection is at its end, or has bytes that nobody sends any more. */
bool rdma_stream_tcp_ended(struct rdma_conn *state);
unsigned rdma_stream_poll_prepare(struct rdma_conn *state, short wanted, struct pollfd *fds);
/* Says the end, and waits until what has been said before has arrived, but not for long. */
void rdma_stream_end(struct rdma_conn *state);

/* ---- rdma_one_sided.c */
extern const struct transport_one_sided rdma_one_sided;
/* Whether to sleep until a fetch ends; what has ended meanwhile has not been told. */
bool rdma_one_sided_sleeps(struct rdma_conn *state);

#endif
