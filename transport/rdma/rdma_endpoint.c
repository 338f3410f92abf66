/* SPDX-License-Identifier: Apache-2.0 */
/* Everything belongs to one connection, the protection domain, too: with what it is told, the other
 * end can write into its ring, and into what is shared with it, and nowhere else. */
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

/* A child after fork has none of it: its copy of a page would not be what the card writes into. */
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

static enum ga_status memory_register(struct rdma_wide *wide, char *why, size_t why_size)
{
    const struct rdma_verbs *verbs = wide->card.verbs;
    wide->memory = endpoint_memory_make();
    if (wide->memory == NULL) {
        return endpoint_failed(why, why_size, "no memory");
    }
    wide->pd = verbs->alloc_pd(wide->card.context);
    if (wide->pd == NULL) {
        return endpoint_failed(why, why_size, "no protection domain");
    }
    wide->mr_in = verbs->reg_mr(wide->pd, rdma_ring_in(wide), RDMA_RING,
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (wide->mr_in != NULL) {
        wide->mr_out = verbs->reg_mr(wide->pd, rdma_ring_out(wide), RDMA_RING, 0);
    }
    if (wide->mr_out == NULL) {
        return endpoint_failed(
            why, why_size,
            "memory cannot be registered (is `ulimit -l`, the limit of locked memory, at "
            "least 2 MiB for each connection?)");
    }
    return GA_OK;
}

static enum ga_status wide_make(int fd, bool readable, struct rdma_wide **out, char *why,
                                size_t why_size)
{
    const unsigned access = readable ? IBV_ACCESS_REMOTE_READ : 0;
    struct rdma_card card;
    GA_TRY(rdma_card_open(fd, &card, why, why_size));
    struct rdma_wide *wide = calloc(1, sizeof *wide);
    if (wide == NULL) {
        rdma_card_close(&card);
        return endpoint_failed(why, why_size, "no memory");
    }
    wide->card = card;
    enum ga_status status = memory_register(wide, why, why_size);
    if (status == GA_OK) {
        status =
            rdma_qp_init(&wide->in, &wide->card, wide->pd, IBV_ACCESS_REMOTE_WRITE, why, why_size);
    }
    if (status == GA_OK) {
        status = rdma_qp_init(&wide->out, &wide->card, wide->pd, 0, why, why_size);
    }
    if (status == GA_OK) {
        status = rdma_qp_init(&wide->fetch, &wide->card, wide->pd, access, why, why_size);
    }
    if (status != GA_OK) {
        rdma_wide_free(wide);
        return status;
    }
    *out = wide;
    return GA_OK;
}

/* The library's descriptors cannot be moved: while it opens them, a program that has closed its
 * stdio has it open. */
enum ga_status rdma_wide_make(int fd, bool readable, struct rdma_wide **out, char *why,
                              size_t why_size)
{
    int held[STDERR_FILENO + 1], count = 0, at;
    while ((at = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && at <= STDERR_FILENO) {
        held[count++] = at;
    }
    if (at >= 0) {
        close(at);
    }
    enum ga_status status = wide_make(fd, readable, out, why, why_size);
    while (count != 0) {
        close(held[--count]);
    }
    return status;
}

void rdma_wide_offer(const struct rdma_wide *wide, enum rdma_answer answer,
                     struct rdma_offer *offer)
{
    *offer = (struct rdma_offer){
        .magic = RDMA_MAGIC, .version = RDMA_VERSION, .answer = answer, .ring_bytes = RDMA_RING};
    if (wide == NULL) {
        return;
    }
    memcpy(offer->gid, &wide->card.gid, sizeof offer->gid);
    offer->in = (struct rdma_qp_peer){wide->in.qp->qp_num, wide->in.psn};
    offer->out = (struct rdma_qp_peer){wide->out.qp->qp_num, wide->out.psn};
    offer->ring = (uintptr_t)rdma_ring_in(wide);
    offer->ring_key = wide->mr_in->rkey;
    offer->mtu = (uint8_t)wide->card.mtu;
    offer->reads = wide->card.reads;
    offer->fetch = wide->fetch.qp->qp_num;
}

enum ga_status rdma_wide_connect(struct rdma_wide *wide, const struct rdma_offer *offer, char *why,
                                 size_t why_size)
{
    if (offer->version != RDMA_VERSION || offer->ring_bytes != RDMA_RING ||
        offer->mtu < IBV_MTU_256 || offer->mtu > IBV_MTU_4096) {
        snprintf(why, why_size, "the other end has another version of it");
        return GA_UNSUPPORTED;
    }
    if (offer->reads == 0 || wide->card.reads == 0) {
        snprintf(why, why_size, "a network card cannot read the other end's memory");
        return GA_UNSUPPORTED;
    }
    /* Who may connect to us must not lead the card to somebody else, nor have it look for nobody.
     */
    if (memcmp(offer->gid, &wide->card.peer, sizeof offer->gid) != 0) {
        snprintf(why, why_size, "the other end's card has another address than its connection");
        return GA_UNSUPPORTED;
    }
    struct rdma_qp_remote remote = {.mtu = (enum ibv_mtu)offer->mtu};
    memcpy(&remote.gid, offer->gid, sizeof remote.gid);
    remote.peer = offer->out;
    GA_TRY(rdma_qp_connect(&wide->in, &remote, why, why_size));
    remote.peer = offer->in;
    GA_TRY(rdma_qp_connect(&wide->out, &remote, why, why_size));
    remote.peer = (struct rdma_qp_peer){offer->fetch, offer->out.psn};
    remote.reads = offer->reads < wide->card.reads ? offer->reads : wide->card.reads;
    wide->fetch.psn = wide->out.psn; /* as we have said */
    GA_TRY(rdma_qp_connect(&wide->fetch, &remote, why, why_size));
    wide->remote_ring = offer->ring;
    wide->remote_key = offer->ring_key;
    return GA_OK;
}

void rdma_wide_free(struct rdma_wide *wide)
{
    const struct rdma_verbs *verbs = wide->card.verbs;
    if (wide->in.card != NULL) {
        rdma_qp_fini(&wide->in);
    }
    if (wide->out.card != NULL) {
        rdma_qp_fini(&wide->out);
    }
    if (wide->fetch.card != NULL) {
        rdma_qp_fini(&wide->fetch);
    }
    if (wide->mr_in != NULL) {
        (void)verbs->dereg_mr(wide->mr_in);
    }
    if (wide->mr_out != NULL) {
        (void)verbs->dereg_mr(wide->mr_out);
    }
    if (wide->pd != NULL) {
        (void)verbs->dealloc_pd(wide->pd);
    }
    if (wide->memory != NULL) {
        (void)munmap(wide->memory, (size_t)2 * RDMA_RING);
    }
    rdma_card_close(&wide->card);
    free(wide);
}
