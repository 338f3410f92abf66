/* SPDX-License-Identifier: Apache-2.0 */
/* Everything belongs to one connection, even the protection domain: with the addresses that it
 * gets, the other end can write into its ring and into memory that is shared with it, and
 * nowhere else. */
#include "transport/rdma/rdma_endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static enum ga_status endpoint_failed(char *why, size_t why_size, const char *what)
{
    snprintf(why, why_size, "%s: %s", what, strerror(errno));
    return GA_NO_MEMORY;
}

/* A forked child has none of this memory: its copy of a page would not be the one that the card
 * writes into. */
static uint8_t *endpoint_memory_make(void)
{
    void *at = mmap(NULL, (size_t)2 * RDMA_RING, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(at, (size_t)2 * RDMA_RING, MADV_DONTFORK);
    return at;
}

static enum ga_status memory_register(struct rdma_endpoint *endpoint, char *why, size_t why_size)
{
    const struct rdma_verbs *verbs = endpoint->card.verbs;
    endpoint->memory = endpoint_memory_make();
    if (endpoint->memory == NULL) {
        return endpoint_failed(why, why_size, "no memory");
    }
    endpoint->pd = verbs->alloc_pd(endpoint->card.context);
    if (endpoint->pd == NULL) {
        return endpoint_failed(why, why_size, "no protection domain");
    }
    endpoint->mr_in = verbs->reg_mr(endpoint->pd, rdma_ring_in(endpoint), RDMA_RING,
                                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (endpoint->mr_in != NULL) {
        endpoint->mr_out = verbs->reg_mr(endpoint->pd, rdma_ring_out(endpoint), RDMA_RING, 0);
    }
    if (endpoint->mr_out == NULL) {
        return endpoint_failed(
            why, why_size,
            "memory cannot be registered (is `ulimit -l`, the limit of locked memory, at "
            "least 2 MiB for each connection?)");
    }
    return GA_OK;
}

static enum ga_status endpoint_make(int fd, bool readable, struct rdma_endpoint **out, char *why,
                                    size_t why_size)
{
    const unsigned access = readable ? IBV_ACCESS_REMOTE_READ : 0;
    struct rdma_card card;
    GA_TRY(rdma_card_open(fd, &card, why, why_size));
    struct rdma_endpoint *endpoint = calloc(1, sizeof *endpoint);
    if (endpoint == NULL) {
        rdma_card_close(&card);
        return endpoint_failed(why, why_size, "no memory");
    }
    endpoint->card = card;
    enum ga_status status = memory_register(endpoint, why, why_size);
    if (status == GA_OK) {
        status = rdma_qp_init(&endpoint->in, &endpoint->card, endpoint->pd, IBV_ACCESS_REMOTE_WRITE,
                              why, why_size);
    }
    if (status == GA_OK) {
        status = rdma_qp_init(&endpoint->out, &endpoint->card, endpoint->pd, 0, why, why_size);
    }
    if (status == GA_OK) {
        status =
            rdma_qp_init(&endpoint->fetch, &endpoint->card, endpoint->pd, access, why, why_size);
    }
    if (status != GA_OK) {
        rdma_endpoint_free(endpoint);
        return status;
    }
    *out = endpoint;
    return GA_OK;
}

/* The library's descriptors cannot be moved, so stdio is kept open while it opens them, in case
 * the program has closed it. */
enum ga_status rdma_endpoint_make(int fd, bool readable, struct rdma_endpoint **out, char *why,
                                  size_t why_size)
{
    int held[STDERR_FILENO + 1], count = 0, at;
    while ((at = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && at <= STDERR_FILENO) {
        held[count++] = at;
    }
    if (at >= 0) {
        close(at);
    }
    enum ga_status status = endpoint_make(fd, readable, out, why, why_size);
    while (count != 0) {
        close(held[--count]);
    }
    return status;
}

void rdma_endpoint_offer(const struct rdma_endpoint *endpoint, enum rdma_answer answer,
                         struct rdma_offer *offer)
{
    *offer = (struct rdma_offer){
        .magic = RDMA_MAGIC, .version = RDMA_VERSION, .answer = answer, .ring_bytes = RDMA_RING};
    if (endpoint == NULL) {
        return;
    }
    memcpy(offer->gid, &endpoint->card.gid, sizeof offer->gid);
    offer->in = (struct rdma_qp_peer){endpoint->in.qp->qp_num, endpoint->in.psn};
    offer->out = (struct rdma_qp_peer){endpoint->out.qp->qp_num, endpoint->out.psn};
    offer->ring = (uintptr_t)rdma_ring_in(endpoint);
    offer->ring_key = endpoint->mr_in->rkey;
    offer->mtu = (uint8_t)endpoint->card.mtu;
    offer->reads = endpoint->card.reads;
    offer->fetch = endpoint->fetch.qp->qp_num;
}

enum ga_status rdma_endpoint_connect(struct rdma_endpoint *endpoint, const struct rdma_offer *offer,
                                     char *why, size_t why_size)
{
    if (offer->version != RDMA_VERSION || offer->ring_bytes != RDMA_RING ||
        offer->mtu < IBV_MTU_256 || offer->mtu > IBV_MTU_4096) {
        snprintf(why, why_size, "the other end has another version of it");
        return GA_UNSUPPORTED;
    }
    if (offer->reads == 0 || endpoint->card.reads == 0) {
        snprintf(why, why_size, "a network card cannot read the other end's memory");
        return GA_UNSUPPORTED;
    }
    /* The other end must not direct the card to another machine, nor to an unknown one. */
    if (memcmp(offer->gid, &endpoint->card.peer, sizeof offer->gid) != 0) {
        snprintf(why, why_size, "the other end's card has another address than its connection");
        return GA_UNSUPPORTED;
    }
    struct rdma_qp_remote remote = {.mtu = (enum ibv_mtu)offer->mtu};
    memcpy(&remote.gid, offer->gid, sizeof remote.gid);
    remote.peer = offer->out;
    GA_TRY(rdma_qp_connect(&endpoint->in, &remote, why, why_size));
    remote.peer = offer->in;
    GA_TRY(rdma_qp_connect(&endpoint->out, &remote, why, why_size));
    remote.peer = (struct rdma_qp_peer){offer->fetch, offer->out.psn};
    remote.reads = offer->reads < endpoint->card.reads ? offer->reads : endpoint->card.reads;
    endpoint->fetch.psn = endpoint->out.psn; /* as in our offer */
    GA_TRY(rdma_qp_connect(&endpoint->fetch, &remote, why, why_size));
    endpoint->remote_ring = offer->ring;
    endpoint->remote_key = offer->ring_key;
    return GA_OK;
}

void rdma_endpoint_free(struct rdma_endpoint *endpoint)
{
    const struct rdma_verbs *verbs = endpoint->card.verbs;
    if (endpoint->in.card != NULL) {
        rdma_qp_fini(&endpoint->in);
    }
    if (endpoint->out.card != NULL) {
        rdma_qp_fini(&endpoint->out);
    }
    if (endpoint->fetch.card != NULL) {
        rdma_qp_fini(&endpoint->fetch);
    }
    if (endpoint->mr_in != NULL) {
        (void)verbs->dereg_mr(endpoint->mr_in);
    }
    if (endpoint->mr_out != NULL) {
        (void)verbs->dereg_mr(endpoint->mr_out);
    }
    if (endpoint->pd != NULL) {
        (void)verbs->dealloc_pd(endpoint->pd);
    }
    if (endpoint->memory != NULL) {
        (void)munmap(endpoint->memory, (size_t)2 * RDMA_RING);
    }
    rdma_card_close(&endpoint->card);
    free(endpoint);
}
