/* SPDX-License-Identifier: Apache-2.0 */
/* The internal state of a connection of the rdma transport (rdma.c, rdma_stream.c, and their
 * tests).
 *
 * A direction begins on TCP. As soon as its sender knows that the other end can take it, it
 * sends over RDMA the number of bytes that went over TCP, and continues in the ring; so nobody
 * waits for the answer to the offer. The client knows it by the answer, the server by the
 * client's switch. */
#ifndef TRANSPORT_RDMA_RDMA_STATE_H
#define TRANSPORT_RDMA_RDMA_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "transport/rdma/rdma_endpoint.h"
#include "transport/transport.h"

#define RDMA_MESSAGES 128u /* the most unread messages of a direction */
#define RDMA_STORES   64u  /* the most stores at once; both fit into a queue pair */

struct rdma_out { /* under its lock */
    pthread_mutex_t lock;
    bool switched;
    uint64_t tcp_bytes;
    uint64_t written, read; /* by the other end, as far as reported */
    uint64_t ends[RDMA_MESSAGES];
    uint32_t first, last;         /* unread messages: [first, last), modulo RDMA_MESSAGES */
    uint64_t stores[RDMA_STORES]; /* numbers of their messages, modulo RDMA_STORES */
    uint64_t stores_begun, stores_ended;
};

struct rdma_in {
    pthread_mutex_t lock;
    bool known;             /* the number of bytes over TCP is known */
    atomic_bool switched;   /* and all of them have been received */
    uint64_t tcp_bytes;     /* received so far */
    uint32_t tcp_left;      /* once known */
    uint64_t arrived, read; /* in the ring */
    uint64_t told;          /* reported as read to the other end */
    uint32_t messages;      /* messages since then */
    bool end;
};

enum rdma_phase {
    RDMA_PLAIN, /* bytes go over TCP, without any offer */
    RDMA_NEW,   /* the server's end: the kind of client is unknown */
    RDMA_ASKED, /* the client's end: no answer yet */
    RDMA_UPGRADED,
};

struct rdma_conn {
    struct transport_conn tcp; /* the same descriptor */
    enum rdma_phase phase;
    uint8_t head[sizeof(struct rdma_offer)]; /* first bytes of the other end */
    size_t head_got, head_given;
    struct rdma_endpoint *endpoint;   /* NULL: there is none */
    atomic_bool ready;                /* bytes may be sent through the ring */
    atomic_bool slept, waited, dozed; /* a thread has slept: for bytes, for room, for a fetch */
    atomic_bool ended;
    struct rdma_in in;
    struct rdma_out out;
};

/* ---- rdma_stream.c: bytes, once it is upgraded; as the functions of struct transport_ops */
GA_CHECKED enum ga_status rdma_stream_send(struct rdma_conn *state, const struct iovec *pieces,
                                           int count, size_t *sent);
GA_CHECKED enum ga_status rdma_stream_receive(struct rdma_conn *state, void *to, size_t size,
                                              size_t *got);
/* As in struct transport_one_sided; in order with sent bytes. */
GA_CHECKED enum ga_status rdma_stream_store(struct rdma_conn *state,
                                            const struct rdma_qp_write *write);
GA_CHECKED enum ga_status rdma_stream_stored(struct rdma_conn *state, uint64_t *count);
/* As `idle` of struct transport_ops. */
void rdma_stream_idle(struct transport_conn *conn, uint64_t now_ns);
/* Whether the TCP connection has ended, or has unexpected bytes. */
bool rdma_stream_tcp_ended(struct rdma_conn *state);
unsigned rdma_stream_poll_prepare(struct rdma_conn *state, short wanted, struct pollfd *fds);
/* Sends the end, and waits for a short time until earlier bytes have arrived. */
void rdma_stream_end(struct rdma_conn *state);

/* ---- rdma_one_sided.c */
extern const struct transport_one_sided rdma_one_sided;
/* Whether to sleep until a fetch ends. False: a fetch has ended that was not reported. */
bool rdma_one_sided_sleeps(struct rdma_conn *state);

#endif
