/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint of a connection that is upgraded to RDMA (inside transport/): a card, the memory of
 * both directions, a queue pair for each, and one by which the server reads the client's memory.
 *
 *   client                                   server
 *     offer(its ring, its queue pairs) ------------->
 *     <----------------- answer: its own, or a refusal
 *
 * Both are sent over the TCP connection, in front of the bytes of their direction. */
#ifndef TRANSPORT_RDMA_RDMA_ENDPOINT_H
#define TRANSPORT_RDMA_RDMA_ENDPOINT_H

#include <assert.h>

#include "transport/rdma/rdma_queue_pair.h"

#define RDMA_RING    (512u << 10) /* of a direction, at each end */
#define RDMA_MAGIC   UINT32_C(0x616d6472)
#define RDMA_VERSION 2u

/* The first bytes of a connection with an offer. No first frame of a plain connection begins so:
 * lengths of frames are multiples of 16, RDMA_MAGIC is not. */
struct rdma_offer {
    uint32_t magic;
    uint16_t version; /* offers of other versions have the same length, and are refused */
    uint8_t mtu;      /* enum ibv_mtu */
    uint8_t reads;    /* the most RDMA READs at once, of the sender's memory and by the sender */
    uint32_t answer;  /* enum rdma_answer */
    uint32_t ring_bytes;
    uint8_t gid[16];
    struct rdma_qp_peer in, out; /* from the sender's view */
    uint64_t ring; /* address and key of the sender's ring, into which the other end writes */
    uint32_t ring_key;
    uint32_t fetch; /* the queue pair for fetches; its first number is that of `out` */
};
static_assert(sizeof(struct rdma_offer) == 64, "it travels as it is");

enum rdma_answer { RDMA_OFFER, RDMA_YES, RDMA_NO };

struct rdma_endpoint {
    struct rdma_card card;
    struct ibv_pd *pd;
    uint8_t *memory; /* the incoming ring, and behind it the outgoing one */
    struct ibv_mr *mr_in, *mr_out;
    struct rdma_qp in, out, fetch;
    uint64_t remote_ring;
    uint32_t remote_key;
};

/* Makes the endpoint of a connected socket. `readable`: the other end may read memory that is
 * shared with it. On failure, with `why`, nothing stays. */
GA_CHECKED enum ga_status rdma_endpoint_make(int fd, bool readable, struct rdma_endpoint **out,
                                             char *why, size_t why_size);
void rdma_endpoint_offer(const struct rdma_endpoint *endpoint, enum rdma_answer answer,
                         struct rdma_offer *offer);
/* Connects to the other end. GA_UNSUPPORTED: the two are not compatible. */
GA_CHECKED enum ga_status rdma_endpoint_connect(struct rdma_endpoint *endpoint,
                                                const struct rdma_offer *offer, char *why,
                                                size_t why_size);
void rdma_endpoint_free(struct rdma_endpoint *endpoint);

static inline uint8_t *rdma_ring_in(const struct rdma_endpoint *endpoint)
{
    return endpoint->memory;
}

static inline uint8_t *rdma_ring_out(const struct rdma_endpoint *endpoint)
{
    return endpoint->memory + RDMA_RING;
}

#endif
