/* SPDX-License-Identifier: Apache-2.0 */
/* What upgrades a connection to RDMA: a card, memory of both directions, a queue pair for
 * each, and one by which the server reads the client's memory; and how the two ends tell each other
 * (inside transport/).
 *
 *   client                                   server
 *     offer(its ring, its queue pairs) ------------->
 *     <----------------- answer: the same, or no
 *
 * Both travel over the TCP connection, in front of the bytes of their direction. */
#ifndef TRANSPORT_RDMA_RDMA_ENDPOINT_H
#define TRANSPORT_RDMA_RDMA_ENDPOINT_H

#include <assert.h>

#include "transport/rdma/rdma_queue_pair.h"

#define RDMA_RING    (512u << 10) /* of each direction, at each end */
#define RDMA_MAGIC   UINT32_C(0x616d6472)
#define RDMA_VERSION 2u

/* Behind those of the first frame of a plain connection: no length of a frame is like RDMA_MAGIC,
 * they are multiples of 16. */
struct rdma_offer {
    uint32_t magic;
    uint16_t version; /* another one answers no: its words are as long, and end in the same place */
    uint8_t mtu;      /* enum ibv_mtu */
    uint8_t reads;    /* of the sender's memory, and by it, on their way at once */
    uint32_t answer;  /* enum rdma_answer */
    uint32_t ring_bytes;
    uint8_t gid[16];
    struct rdma_qp_peer in, out; /* as the sender sees them */
    uint64_t ring;               /* its address and key, for the other end to write into */
    uint32_t ring_key;
    uint32_t fetch; /* that queue pair; its first number is that of `out` */
};
static_assert(sizeof(struct rdma_offer) == 64, "it travels as it is");

enum rdma_answer { RDMA_OFFER, RDMA_YES, RDMA_NO };

struct rdma_endpoint {
    struct rdma_card card;
    struct ibv_pd *pd;
    uint8_t *memory; /* what comes in, and behind it what goes out */
    struct ibv_mr *mr_in, *mr_out;
    struct rdma_qp in, out, fetch;
    uint64_t remote_ring;
    uint32_t remote_key;
};

/* For a connected socket. `readable`: the other end may read memory that is shared with it. On
 * failure, with `why`, nothing stays. */
GA_CHECKED enum ga_status rdma_endpoint_make(int fd, bool readable, struct rdma_endpoint **out,
                                             char *why, size_t why_size);
void rdma_endpoint_offer(const struct rdma_endpoint *endpoint, enum rdma_answer answer,
                         struct rdma_offer *offer);
/* Connects to the other end. GA_UNSUPPORTED: the two do not go together. */
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
