/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs.
 *
 * Note: completion events are acknowledged and armed in rdma_qp_arm only; a thread that is woken
 * looks at the queue itself. */
#include "transport/rdma/rdma_queue_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

#define INLINE_BYTES    220u /* messages up to this size are sent inline, if the card can */
#define SIGNAL_EACH     32u
#define POLL_BATCH      16
#define ACK_TIMEOUT     17 /* 4.096 us * 2^17: half a second, */
#define ACK_RETRIES     6  /* seven times. 7 retries are no end of them for soft-RoCE */
#define SETTLE_MAX      (500 * GA_NS_PER_MS)
#define SETTLE_SLEEP_US 200

/* ---- life */

static enum ga_status qp_failed(char *why, size_t why_size, const char *what)
{
    snprintf(why, why_size, "%s: %s", what, strerror(errno));
    return GA_NO_MEMORY;
}

static enum ga_status receives_post(struct rdma_qp *qp, unsigned count)
{
    struct ibv_recv_wr receive = {0}, *bad;
    for (unsigned i = 0; i < count; i++) {
        if (ibv_post_recv(qp->qp, &receive, &bad) != 0) {
            return GA_LOST;
        }
    }
    return GA_OK;
}

static bool qp_make(struct rdma_qp *qp, struct ibv_pd *pd, unsigned access)
{
    const struct rdma_verbs *verbs = qp->card->verbs;
    struct ibv_qp_init_attr wanted = {.send_cq = qp->cq,
                                      .recv_cq = qp->cq,
                                      .qp_type = IBV_QPT_RC,
                                      .cap = {.max_send_wr = RDMA_QP_SENDS,
                                              .max_recv_wr = RDMA_QP_DEPTH,
                                              .max_send_sge = 1,
                                              .max_recv_sge = 1,
                                              .max_inline_data = INLINE_BYTES}};
    qp->qp = verbs->create_qp(pd, &wanted);
    if (qp->qp == NULL) { /* possible without inline data */
        wanted.cap.max_inline_data = 0;
        qp->qp = verbs->create_qp(pd, &wanted);
    }
    if (qp->qp == NULL) {
        return false;
    }
    qp->inline_most = wanted.cap.max_inline_data;
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT, .port_num = qp->card->port, .qp_access_flags = access};
    int error = verbs->modify_qp(
        qp->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    errno = error != 0 ? error : errno;
    return error == 0;
}

enum ga_status rdma_qp_init(struct rdma_qp *qp, const struct rdma_card *card, struct ibv_pd *pd,
                            unsigned access, char *why, size_t why_size)
{
    const struct rdma_verbs *verbs = card->verbs;
    enum ga_status status = GA_OK;
    *qp = (struct rdma_qp){.card = card};
    qp->channel = verbs->create_comp_channel(card->context);
    if (qp->channel == NULL ||
        fcntl(qp->channel->fd, F_SETFL, fcntl(qp->channel->fd, F_GETFL) | O_NONBLOCK) != 0) {
        status = qp_failed(why, why_size, "no completion channel");
    }
    if (status == GA_OK) {
        qp->cq = verbs->create_cq(card->context, (int)(RDMA_QP_DEPTH + RDMA_QP_SENDS), NULL,
                                  qp->channel, 0);
        status = qp->cq != NULL ? GA_OK : qp_failed(why, why_size, "no completion queue");
    }
    if (status == GA_OK && (!qp_make(qp, pd, access) || receives_post(qp, RDMA_QP_DEPTH) != GA_OK ||
                            getrandom(&qp->psn, sizeof qp->psn, 0) != sizeof qp->psn)) {
        status = qp_failed(why, why_size, "no queue pair");
    }
    qp->psn &= 0xffffff;
    if (status != GA_OK) {
        rdma_qp_fini(qp);
    }
    return status;
}

enum ga_status rdma_qp_connect(struct rdma_qp *qp, const struct rdma_qp_remote *remote, char *why,
                               size_t why_size)
{
    const struct rdma_card *card = qp->card;
    struct ibv_qp_attr ready = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = remote->mtu < card->mtu ? remote->mtu : card->mtu,
        .dest_qp_num = remote->peer.qp,
        .rq_psn = remote->peer.psn,
        .max_dest_rd_atomic = remote->reads,
        .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1,
                    .port_num = card->port,
                    .grh = {.dgid = remote->gid, .sgid_index = card->gid_index, .hop_limit = 64}}};
    struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS,
                               .timeout = ACK_TIMEOUT,
                               .retry_cnt = ACK_RETRIES,
                               .rnr_retry = 7,
                               .max_rd_atomic = remote->reads,
                               .sq_psn = qp->psn};
    int error = card->verbs->modify_qp(qp->qp, &ready,
                                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                           IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error == 0) {
        error =
            card->verbs->modify_qp(qp->qp, &send,
                                   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }
    if (error != 0) {
        snprintf(why, why_size, "the queue pairs do not connect: %s", strerror(error));
        return GA_UNSUPPORTED;
    }
    return GA_OK;
}

void rdma_qp_fini(struct rdma_qp *qp)
{
    const struct rdma_verbs *verbs = qp->card->verbs;
    if (qp->qp != NULL) {
        (void)verbs->destroy_qp(qp->qp);
    }
    if (qp->cq != NULL) {
        (void)verbs->destroy_cq(qp->cq);
    }
    if (qp->channel != NULL) {
        (void)verbs->destroy_comp_channel(qp->channel);
    }
    qp->qp = NULL;
    qp->cq = NULL;
    qp->channel = NULL;
}

/* ---- messages */

void rdma_qp_break(struct rdma_qp *qp, const char *why)
{
    if (!qp->broken) {
        ga_info("an RDMA connection breaks: %s", why);
    }
    qp->broken = true;
}

void rdma_qp_halt(struct rdma_qp *qp)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    (void)qp->card->verbs->modify_qp(qp->qp, &error, IBV_QP_STATE);
}

static enum ga_status send_post(struct rdma_qp *qp, struct ibv_send_wr *send,
                                const struct rdma_qp_write *write)
{
    struct ibv_sge piece;
    struct ibv_send_wr *bad;
    if (qp->broken) {
        return GA_LOST;
    }
    if (qp->posted - qp->finished >= RDMA_QP_SENDS - 1) {
        return GA_AGAIN;
    }
    send->wr_id = qp->posted + 1;
    if (write != NULL) {
        piece = (struct ibv_sge){
            .addr = (uintptr_t)write->from, .length = write->bytes, .lkey = write->local_key};
        send->sg_list = &piece;
        send->num_sge = 1;
        send->wr.rdma.remote_addr = write->to;
        send->wr.rdma.rkey = write->remote_key;
        if (write->bytes <= qp->inline_most && send->opcode != IBV_WR_RDMA_READ) {
            send->send_flags |= IBV_SEND_INLINE;
        }
    }
    if (send->wr_id % SIGNAL_EACH == 0) {
        send->send_flags |= IBV_SEND_SIGNALED;
    }
    if (ibv_post_send(qp->qp, send, &bad) != 0) {
        rdma_qp_break(qp, "the send queue fails");
        return GA_LOST;
    }
    qp->posted++;
    return GA_OK;
}

enum ga_status rdma_qp_post(struct rdma_qp *qp, enum rdma_qp_kind kind, uint32_t number,
                            const struct rdma_qp_write *write)
{
    struct ibv_send_wr send = {.opcode = write != NULL ? IBV_WR_RDMA_WRITE_WITH_IMM
                                                       : IBV_WR_SEND_WITH_IMM,
                               .send_flags = kind == RDMA_QP_END ? IBV_SEND_SIGNALED : 0,
                               .imm_data = htonl((uint32_t)kind << 30 | (number & RDMA_QP_NUMBER))};
    return send_post(qp, &send, write);
}

enum ga_status rdma_qp_move(struct rdma_qp *qp, enum ibv_wr_opcode opcode,
                            const struct rdma_qp_write *move)
{
    struct ibv_send_wr send = {.opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
    return send_post(qp, &send, move);
}

enum ga_status rdma_qp_poll(struct rdma_qp *qp,
                            void (*take)(void *user, enum rdma_qp_kind kind, uint32_t number),
                            void *user)
{
    struct ibv_wc done[POLL_BATCH];
    int count = POLL_BATCH;
    while (!qp->broken && count == POLL_BATCH) {
        unsigned received = 0;
        count = ibv_poll_cq(qp->cq, POLL_BATCH, done);
        if (count < 0) {
            rdma_qp_break(qp, "the completion queue fails");
        }
        for (int i = 0; i < count; i++) {
            if (done[i].status != IBV_WC_SUCCESS) {
                rdma_qp_break(qp, qp->card->verbs->wc_status_str(done[i].status));
            } else if ((done[i].opcode & IBV_WC_RECV) != 0 &&
                       (done[i].wc_flags & IBV_WC_WITH_IMM) != 0) {
                uint32_t word = ntohl(done[i].imm_data);
                received++;
                take(user, (enum rdma_qp_kind)(word >> 30), word & RDMA_QP_NUMBER);
            } else if ((done[i].opcode & IBV_WC_RECV) == 0) {
                qp->finished = done[i].wr_id;
            } else {
                rdma_qp_break(qp, "a message of a kind that is not used");
            }
        }
        if (receives_post(qp, received) != GA_OK) {
            rdma_qp_break(qp, "the receive queue fails");
        }
    }
    return qp->broken ? GA_LOST : GA_OK;
}

void rdma_qp_arm(struct rdma_qp *qp)
{
    struct ibv_cq *cq;
    void *user;
    unsigned events = 0;
    while (qp->card->verbs->get_cq_event(qp->channel, &cq, &user) == 0) {
        events++;
    }
    if (events != 0) {
        qp->card->verbs->ack_cq_events(qp->cq, events);
    }
    if (ibv_req_notify_cq(qp->cq, 0) != 0) {
        rdma_qp_break(qp, "the completion queue fails");
    }
}

static void word_ignore(void *user, enum rdma_qp_kind kind, uint32_t number)
{
    (void)user, (void)kind, (void)number;
}

void rdma_qp_settle(struct rdma_qp *qp)
{
    const struct timespec sleep = {.tv_nsec = SETTLE_SLEEP_US * 1000};
    uint64_t until = ga_clock_ns() + SETTLE_MAX;
    while (qp->finished != qp->posted && rdma_qp_poll(qp, word_ignore, NULL) == GA_OK &&
           ga_clock_ns() < until) {
        (void)nanosleep(&sleep, NULL);
    }
}
