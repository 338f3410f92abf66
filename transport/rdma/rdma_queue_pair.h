/* SPDX-License-Identifier: Apache-2.0 */
/* A queue pair: one direction of a connection over RDMA (bytes go one way, acknowledgements of
 * reading come back), or the fetches of one end from the other end's memory. It has a completion
 * queue and a completion channel of its own, so sender and receiver share nothing and do not wake
 * each other (inside transport/).
 *
 * Every message, an RDMA WRITE or an empty SEND, has 32 bits that the other end sees ("the
 * word"): its kind, and a number of 30 bits. Bytes and numbers arrive in the order in which they
 * were sent. */
#ifndef TRANSPORT_RDMA_RDMA_QUEUE_PAIR_H
#define TRANSPORT_RDMA_RDMA_QUEUE_PAIR_H

#include <pthread.h>

#include "transport/rdma/rdma_verbs.h"

#define RDMA_QP_DEPTH  160u /* messages that may arrive before they are polled */
#define RDMA_QP_SENDS  256u
#define RDMA_QP_NUMBER ((UINT32_C(1) << 30) - 1)

enum rdma_qp_kind {
    RDMA_QP_BYTES,  /* the number of bytes that follow the last ones */
    RDMA_QP_READ,   /* the number of bytes that the other end has read (the lowest 30 bits) */
    RDMA_QP_SWITCH, /* later bytes come this way; the number of bytes that came over TCP */
    RDMA_QP_END,
};

struct rdma_qp {
    const struct rdma_card *card;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    uint32_t psn, inline_most;
    uint64_t posted, finished; /* messages sent; messages known to have arrived */
    bool broken;
};

/* The facts of a queue pair that the other end needs. */
struct rdma_qp_peer {
    uint32_t qp, psn;
};

struct rdma_qp_remote {
    union ibv_gid gid;
    enum ibv_mtu mtu;
    struct rdma_qp_peer peer;
    uint8_t reads; /* the most at once */
};

/* `access` (IBV_ACCESS_REMOTE_*): the other end's rights on memory that is registered with it.
 * On failure nothing stays. */
GA_CHECKED enum ga_status rdma_qp_init(struct rdma_qp *qp, const struct rdma_card *card,
                                       struct ibv_pd *pd, unsigned access, char *why,
                                       size_t why_size);
GA_CHECKED enum ga_status rdma_qp_connect(struct rdma_qp *qp, const struct rdma_qp_remote *remote,
                                          char *why, size_t why_size);
void rdma_qp_fini(struct rdma_qp *qp);

/* A place in the other end's memory, and the bytes here that are copied to it or from it. */
struct rdma_qp_write {
    const void *from;
    uint32_t bytes, local_key;
    uint64_t to;
    uint32_t remote_key;
};

/* GA_AGAIN: too many messages are on their way. GA_LOST. `write` NULL: only the word. */
GA_CHECKED enum ga_status rdma_qp_post(struct rdma_qp *qp, enum rdma_qp_kind kind, uint32_t number,
                                       const struct rdma_qp_write *write);
/* As rdma_qp_post, without a word: the other end does not see it. It counts in `finished`. */
GA_CHECKED enum ga_status rdma_qp_move(struct rdma_qp *qp, enum ibv_wr_opcode opcode,
                                       const struct rdma_qp_write *move);
/* Calls `take` for each word that has arrived. GA_LOST: the queue pair is broken; earlier words
 * have been passed on. */
GA_CHECKED enum ga_status
rdma_qp_poll(struct rdma_qp *qp, void (*take)(void *user, enum rdma_qp_kind kind, uint32_t number),
             void *user);
/* Arms the channel: its descriptor becomes readable when a message arrives. Earlier messages may
 * not count, so poll once more. */
void rdma_qp_arm(struct rdma_qp *qp);
/* Marks the queue pair as broken; the first time is logged. */
void rdma_qp_break(struct rdma_qp *qp, const char *why);
/* For tests: as after an error of the card. Only a look at the queue shows it. */
void rdma_qp_halt(struct rdma_qp *qp);
/* Waits until all messages have arrived, but not for long. */
void rdma_qp_settle(struct rdma_qp *qp);

#endif
