/* Queue pairs. What a reader would get wrong: completion events are only acknowledged and armed in
 * lane_arm; who is woken looks at the queue itself. */
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

#define INLINE_BYTES  220u /* messages up to here take no detour through our memory, if it can */
#define SIGNAL_EACH   32u
#define POLL_BATCH    16
#define ACK_TIMEOUT   17 /* 4.096 us * 2^17: half a second, */
#define ACK_RETRIES   6  /* seven times. 7 retries are no end of them for soft-RoCE */
#define SETTLE_MOST   (500 * GA_NS_PER_MS)
#define SETTLE_NAP_US 200

/* ---- life */

static enum ga_status failed(char *why, size_t why_size, const char *what)
{
    snprintf(why, why_size, "%s: %s", what, strerror(errno));
    return GA_NO_MEMORY;
}

static enum ga_status receives_post(struct lane *lane, unsigned count)
{
    struct ibv_recv_wr receive = {0}, *bad;
    for (unsigned i = 0; i < count; i++) {
        if (ibv_post_recv(lane->qp, &receive, &bad) != 0) {
            return GA_LOST;
        }
    }
    return GA_OK;
}

static bool qp_make(struct lane *lane, struct ibv_pd *pd, unsigned access)
{
    const struct rdma_verbs *verbs = lane->card->verbs;
    struct ibv_qp_init_attr wanted = {.send_cq = lane->cq,
                                      .recv_cq = lane->cq,
                                      .qp_type = IBV_QPT_RC,
                                      .cap = {.max_send_wr = LANE_SENDS,
                                              .max_recv_wr = LANE_DEPTH,
                                              .max_send_sge = 1,
                                              .max_recv_sge = 1,
                                              .max_inline_data = INLINE_BYTES}};
    lane->qp = verbs->create_qp(pd, &wanted);
    if (lane->qp == NULL) { /* it can do without */
        wanted.cap.max_inline_data = 0;
        lane->qp = verbs->create_qp(pd, &wanted);
    }
    if (lane->qp == NULL) {
        return false;
    }
    lane->inline_most = wanted.cap.max_inline_data;
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT, .port_num = lane->card->port, .qp_access_flags = access};
    int error = verbs->modify_qp(
        lane->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    errno = error != 0 ? error : errno;
    return error == 0;
}

enum ga_status lane_init(struct lane *lane, const struct rdma_card *card, struct ibv_pd *pd,
                         unsigned access, char *why, size_t why_size)
{
    const struct rdma_verbs *verbs = card->verbs;
    enum ga_status status = GA_OK;
    *lane = (struct lane){.card = card};
    lane->channel = verbs->create_comp_channel(card->context);
    if (lane->channel == NULL ||
        fcntl(lane->channel->fd, F_SETFL, fcntl(lane->channel->fd, F_GETFL) | O_NONBLOCK) != 0) {
        status = failed(why, why_size, "no completion channel");
    }
    if (status == GA_OK) {
        lane->cq =
            verbs->create_cq(card->context, (int)(LANE_DEPTH + LANE_SENDS), NULL, lane->channel, 0);
        status = lane->cq != NULL ? GA_OK : failed(why, why_size, "no completion queue");
    }
    if (status == GA_OK &&
        (!qp_make(lane, pd, access) || receives_post(lane, LANE_DEPTH) != GA_OK ||
         getrandom(&lane->psn, sizeof lane->psn, 0) != sizeof lane->psn)) {
        status = failed(why, why_size, "no queue pair");
    }
    lane->psn &= 0xffffff;
    if (status != GA_OK) {
        lane_fini(lane);
    }
    return status;
}

enum ga_status lane_connect(struct lane *lane, const struct lane_remote *remote, char *why,
                            size_t why_size)
{
    const struct rdma_card *card = lane->card;
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
                               .sq_psn = lane->psn};
    int error = card->verbs->modify_qp(lane->qp, &ready,
                                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                           IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error == 0) {
        error =
            card->verbs->modify_qp(lane->qp, &send,
                                   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }
    if (error != 0) {
        snprintf(why, why_size, "the queue pairs do not connect: %s", strerror(error));
        return GA_UNSUPPORTED;
    }
    return GA_OK;
}

void lane_fini(struct lane *lane)
{
    const struct rdma_verbs *verbs = lane->card->verbs;
    if (lane->qp != NULL) {
        (void)verbs->destroy_qp(lane->qp);
    }
    if (lane->cq != NULL) {
        (void)verbs->destroy_cq(lane->cq);
    }
    if (lane->channel != NULL) {
        (void)verbs->destroy_comp_channel(lane->channel);
    }
    lane->qp = NULL;
    lane->cq = NULL;
    lane->channel = NULL;
}

/* ---- messages */

void lane_break(struct lane *lane, const char *why)
{
    if (!lane->broken) {
        ga_info("an RDMA connection breaks: %s", why);
    }
    lane->broken = true;
}

void lane_halt(struct lane *lane)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    (void)lane->card->verbs->modify_qp(lane->qp, &error, IBV_QP_STATE);
}

static enum ga_status send_post(struct lane *lane, struct ibv_send_wr *send,
                                const struct lane_write *write)
{
    struct ibv_sge piece;
    struct ibv_send_wr *bad;
    if (lane->broken) {
        return GA_LOST;
    }
    if (lane->posted - lane->finished >= LANE_SENDS - 1) {
        return GA_AGAIN;
    }
    send->wr_id = lane->posted + 1;
    if (write != NULL) {
        piece = (struct ibv_sge){
            .addr = (uintptr_t)write->from, .length = write->bytes, .lkey = write->local_key};
        send->sg_list = &piece;
        send->num_sge = 1;
        send->wr.rdma.remote_addr = write->to;
        send->wr.rdma.rkey = write->remote_key;
        if (write->bytes <= lane->inline_most && send->opcode != IBV_WR_RDMA_READ) {
            send->send_flags |= IBV_SEND_INLINE;
        }
    }
    if (send->wr_id % SIGNAL_EACH == 0) {
        send->send_flags |= IBV_SEND_SIGNALED;
    }
    if (ibv_post_send(lane->qp, send, &bad) != 0) {
        lane_break(lane, "the send queue fails");
        return GA_LOST;
    }
    lane->posted++;
    return GA_OK;
}

enum ga_status lane_post(struct lane *lane, enum lane_kind kind, uint32_t number,
                         const struct lane_write *write)
{
    struct ibv_send_wr send = {.opcode = write != NULL ? IBV_WR_RDMA_WRITE_WITH_IMM
                                                       : IBV_WR_SEND_WITH_IMM,
                               .send_flags = kind == LANE_END ? IBV_SEND_SIGNALED : 0,
                               .imm_data = htonl((uint32_t)kind << 30 | (number & LANE_NUMBER))};
    return send_post(lane, &send, write);
}

enum ga_status lane_move(struct lane *lane, enum ibv_wr_opcode opcode,
                         const struct lane_write *move)
{
    struct ibv_send_wr send = {.opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
    return send_post(lane, &send, move);
}

enum ga_status lane_poll(struct lane *lane,
                         void (*take)(void *user, enum lane_kind kind, uint32_t number), void *user)
{
    struct ibv_wc done[POLL_BATCH];
    int count = POLL_BATCH;
    while (!lane->broken && count == POLL_BATCH) {
        unsigned received = 0;
        count = ibv_poll_cq(lane->cq, POLL_BATCH, done);
        if (count < 0) {
            lane_break(lane, "the completion queue fails");
        }
        for (int i = 0; i < count; i++) {
            if (done[i].status != IBV_WC_SUCCESS) {
                lane_break(lane, lane->card->verbs->wc_status_str(done[i].status));
            } else if ((done[i].opcode & IBV_WC_RECV) != 0 &&
                       (done[i].wc_flags & IBV_WC_WITH_IMM) != 0) {
                uint32_t word = ntohl(done[i].imm_data);
                received++;
                take(user, (enum lane_kind)(word >> 30), word & LANE_NUMBER);
            } else if ((done[i].opcode & IBV_WC_RECV) == 0) {
                lane->finished = done[i].wr_id;
            } else {
                lane_break(lane, "a message of a kind that is not used");
            }
        }
        if (receives_post(lane, received) != GA_OK) {
            lane_break(lane, "the receive queue fails");
        }
    }
    return lane->broken ? GA_LOST : GA_OK;
}

void lane_arm(struct lane *lane)
{
    struct ibv_cq *cq;
    void *user;
    unsigned events = 0;
    while (lane->card->verbs->get_cq_event(lane->channel, &cq, &user) == 0) {
        events++;
    }
    if (events != 0) {
        lane->card->verbs->ack_cq_events(lane->cq, events);
    }
    if (ibv_req_notify_cq(lane->cq, 0) != 0) {
        lane_break(lane, "the completion queue fails");
    }
}

static void word_ignore(void *user, enum lane_kind kind, uint32_t number)
{
    (void)user, (void)kind, (void)number;
}

void lane_settle(struct lane *lane)
{
    const struct timespec nap = {.tv_nsec = SETTLE_NAP_US * 1000};
    uint64_t until = ga_clock_ns() + SETTLE_MOST;
    while (lane->finished != lane->posted && lane_poll(lane, word_ignore, NULL) == GA_OK &&
           ga_clock_ns() < until) {
        (void)nanosleep(&nap, NULL);
    }
}
