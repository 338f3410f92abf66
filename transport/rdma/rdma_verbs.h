/* SPDX-License-Identifier: Apache-2.0 */
/* libibverbs, which is loaded when needed and may be missing, and the network card of a socket's
 * address (inside transport/; needs the headers of libibverbs). */
#ifndef TRANSPORT_RDMA_RDMA_VERBS_H
#define TRANSPORT_RDMA_RDMA_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/status.h"

/* The library's functions that we call; its header has others inline. */
struct rdma_verbs {
    struct ibv_device **(*get_device_list)(int *count);
    void (*free_device_list)(struct ibv_device **list);
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*close_device)(struct ibv_context *context);
    ssize_t (*query_gid_table)(struct ibv_context *context, struct ibv_gid_entry *entries,
                               size_t most, uint32_t flags, size_t entry_size);
    int (*query_device)(struct ibv_context *context, struct ibv_device_attr *attributes);
    int (*query_port)(struct ibv_context *context, uint8_t port, void *attributes);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    int (*dealloc_pd)(struct ibv_pd *pd);
    struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *address, size_t length, int access);
    int (*dereg_mr)(struct ibv_mr *mr);
    struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *context);
    int (*destroy_comp_channel)(struct ibv_comp_channel *channel);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe, void *user,
                                struct ibv_comp_channel *channel, int vector);
    int (*destroy_cq)(struct ibv_cq *cq);
    int (*get_cq_event)(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user);
    void (*ack_cq_events)(struct ibv_cq *cq, unsigned count);
    struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes);
    int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask);
    int (*destroy_qp)(struct ibv_qp *qp);
    const char *(*wc_status_str)(enum ibv_wc_status status);
};

/* Defines a function of struct transport_ops or transport_one_sided: NAME calls NAME_here.
 * libibverbs calls the kernel by write() and keeps internal state meanwhile, so a cancelled
 * thread must not end there. */
#define RDMA_UNCANCELLED(type, name, parameters, arguments)                                        \
    static type name parameters                                                                    \
    {                                                                                              \
        int before = ga_cancel_off();                                                              \
        type result = name##_here arguments;                                                       \
        ga_cancel_back(before);                                                                    \
        return result;                                                                             \
    }

/* A card as opened for one connection, which shares nothing with others. */
struct rdma_card {
    const struct rdma_verbs *verbs;
    struct ibv_context *context;
    uint8_t port;
    uint8_t gid_index;
    union ibv_gid gid, peer; /* the addresses of both ends */
    enum ibv_mtu mtu;
    uint8_t reads; /* the most RDMA READs at once, by us and by the other end */
};

/* Whether this machine has any card. */
bool rdma_card_exists(void);
/* The card that has the address at this end of the connected socket. GA_UNSUPPORTED with `why`:
 * there is none, or no library. */
GA_CHECKED enum ga_status rdma_card_open(int fd, struct rdma_card *out, char *why, size_t why_size);
void rdma_card_close(struct rdma_card *card);

#endif
