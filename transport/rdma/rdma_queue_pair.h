/* SPDX-License-Identifier: Apache-2.0 */
/* One direction of a connection over RDMA: bytes go one way, what the other end has read comes
 * back; or the copies that one end makes out of the other one's memory. It has a queue pair, a
 * completion queue and a completion channel of its own, so that who sends and who receives neither
 * share anything nor wake each other (inside transport/).
 *
 * Every message, an RDMA WRITE or an empty SEND, has 32 bits that the other end sees ("the word"):
 * which kind, and a number of 30 bits. Bytes and numbers arrive in the order in which they were
 * sent. */
#ifndef TRANSPORT_RDMA_RDMA_QUEUE_PAIR_H
#define TRANSPORT_RDMA_RDMA_QUEUE_PAIR_H

#include <pthread.h>

#include "transport/rdma/rdma_verbs.h"

#define RDMA_QP_DEPTH  160u /* messages that may come unseen */
#define RDMA_QP_SENDS  256u
#define RDMA_QP_NUMBER ((UINT32_C(1) << 30) - 1)

enum rdma_qp_kind {
    RDMA_QP_BYTES,  /* so many bytes have been written behind the last ones */
    RDMA_QP_READ,   /* the other end has read so many bytes (the lowest 30 bits) */
    RDMA_QP_SWITCH, /* bytes go this way from now on; so many have gone over TCP before */
    RDMA_QP_END,
};

struct rdma_qp {
    const struct rdma_card *card;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    uint32_t psn, inline_most;
    uint64_t posted, finished; /* messages sent, and known to have arrived */
    bool broken;
};

/* What the other end must know of a queue pair, and we of the other end's. */
struct rdma_qp_peer {
    uint32_t qp, psn;
};

struct rdma_qp_remote {
    union ibv_gid gid;
    enum ibv_mtu mtu;
    struct rdma_qp_peer peer;
    uint8_t reads; /* on their way at once, at most */
};

/* `access` (IBV_ACCESS_REMOTE_*): what the other end may do with memory that is registered so. On
 * failure nothing stays. */
GA_CHECKED enum ga_status rdma_qp_init(struct rdma_qp *qp, const struct rdma_card *card,
                                       struct ibv_pd *pd, unsigned access, char *why,
                                       size_t why_size);
GA_CHECKED enum ga_status rdma_qp_connect(struct rdma_qp *qp, const struct rdma_qp_remote *remote,
                                          char *why, size_t why_size);
void rdma_qp_fini(struct rdma_qp *qp);

/* A place in the other end's memory, and the bytes here that go there or come from there. */
struct rdma_qp_write {
    const void *from;
    uint32_t bytes, local_key;
    uint64_t to;
    uint32_t remote_key;
};

/* GA_AGAIN: too many messages are on their way. GA_LOST. `write` NULL: only the word. */
GA_CHECKED enum ga_status rdma_qp_post(struct rdma_qp *qp, enum rdma_qp_kind kind, uint32_t number,
                                       const struct rdma_qp_write *write);
/* The same without a word: the other end does not see it. It shows in `finished`, each by itself.
 */
GA_CHECKED enum ga_status rdma_qp_move(struct rdma_qp *qp, enum ibv_wr_opcode opcode,
                                       const struct rdma_qp_write *move);
/* Calls `take` for each word that has come. GA_LOST: the queue pair is broken, after what had come.
 */
GA_CHECKED enum ga_status
rdma_qp_poll(struct rdma_qp *qp, void (*take)(void *user, enum rdma_qp_kind kind, uint32_t number),
             void *user);
/* From now on the channel's descriptor becomes readable when something comes. What has come before
 * may not count: poll once more. */
void rdma_qp_arm(struct rdma_qp *qp);
/* It is of no use any more; the first time is logged. */
void rdma_qp_break(struct rdma_qp *qp, const char *why);
/* For tests: as if the card had met an error of its own. Only who looks finds out. */
void rdma_qp_halt(struct rdma_qp *qp);
/* Waits until all messages have arrived, but not for long. */
void rdma_qp_settle(struct rdma_qp *qp);

#endif
