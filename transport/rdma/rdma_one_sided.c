/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided fetches, and memory that is shared.
 *
 * Note: the end that shares does nothing else; only its card takes part. (Stores into the other
 * end's memory must be in order with sent bytes: rdma_stream.c.) */
#include "base/failpoint.h"
#include "transport/rdma/rdma_state.h"

/* NULL: the connection is not upgraded. */
static struct rdma_conn *upgraded_state(const struct transport_conn *conn)
{
    struct rdma_conn *state = conn->state;
    return state->phase == RDMA_UPGRADED ? state : NULL;
}

static enum ga_status one_sided_share_here(struct transport_conn *conn, void *memory, size_t bytes,
                                           enum transport_use use, struct transport_memory *out)
{
    const int shared = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    struct rdma_conn *state = upgraded_state(conn);
    if (state == NULL) {
        return GA_UNSUPPORTED;
    }
    struct ibv_mr *made = state->endpoint->card.verbs->reg_mr(
        state->endpoint->pd, memory, bytes,
        use == TRANSPORT_SHARED ? shared : IBV_ACCESS_LOCAL_WRITE);
    if (made == NULL) {
        return GA_NO_MEMORY;
    }
    if (GA_FAILPOINT("rdma: memory is shared")) {
        rdma_qp_halt(&state->endpoint->fetch);
    }
    *out = (struct transport_memory){.state = made,
                                     .address = (uintptr_t)memory,
                                     .key = use == TRANSPORT_SHARED ? made->rkey : made->lkey};
    return GA_OK;
}

static void one_sided_unshare(struct transport_conn *conn, struct transport_memory *memory)
{
    const struct rdma_conn *state = conn->state;
    int before = ga_cancel_off();
    (void)state->endpoint->card.verbs->dereg_mr(memory->state);
    ga_cancel_back(before);
    memory->state = NULL;
}

static struct rdma_qp_write move_of(const struct transport_one_sided_copy *copy)
{
    return (struct rdma_qp_write){.from = copy->here,
                                  .bytes = copy->bytes,
                                  .local_key = copy->own->key,
                                  .to = copy->there,
                                  .remote_key = copy->key};
}

static enum ga_status one_sided_fetch(struct transport_conn *conn,
                                      const struct transport_one_sided_copy *copy)
{
    struct rdma_conn *state = upgraded_state(conn);
    const struct rdma_qp_write move = move_of(copy);
    if (state == NULL) {
        return GA_UNSUPPORTED;
    }
    if (GA_FAILPOINT("rdma: memory is fetched")) {
        rdma_qp_halt(&state->endpoint->fetch);
    }
    return rdma_qp_move(&state->endpoint->fetch, IBV_WR_RDMA_READ, &move);
}

static void word_is_wrong(void *user, enum rdma_qp_kind kind, uint32_t number)
{
    struct rdma_conn *state = user;
    (void)kind, (void)number;
    rdma_qp_break(&state->endpoint->fetch, "nothing is said where memory is read");
}

static enum ga_status one_sided_fetched(struct transport_conn *conn, uint64_t *count)
{
    struct rdma_conn *state = upgraded_state(conn);
    if (state == NULL) {
        return GA_UNSUPPORTED;
    }
    struct rdma_qp *qp = &state->endpoint->fetch;
    GA_TRY(rdma_qp_poll(qp, word_is_wrong, state));
    if (qp->finished != qp->posted && atomic_exchange(&state->dozed, false) &&
        rdma_stream_tcp_ended(state)) {
        return GA_LOST;
    }
    *count = qp->finished;
    return GA_OK;
}

bool rdma_one_sided_sleeps(struct rdma_conn *state)
{
    struct rdma_qp *qp = &state->endpoint->fetch;
    uint64_t before = qp->finished;
    rdma_qp_arm(qp);
    return rdma_qp_poll(qp, word_is_wrong, state) == GA_OK && qp->finished == before;
}

static enum ga_status one_sided_store(struct transport_conn *conn,
                                      const struct transport_one_sided_copy *copy)
{
    struct rdma_conn *state = upgraded_state(conn);
    const struct rdma_qp_write move = move_of(copy);
    if (state == NULL) {
        return GA_UNSUPPORTED;
    }
    if (GA_FAILPOINT("rdma: bytes are stored")) {
        rdma_qp_halt(&state->endpoint->out);
    }
    return rdma_stream_store(state, &move);
}

static enum ga_status one_sided_stored(struct transport_conn *conn, uint64_t *count)
{
    struct rdma_conn *state = upgraded_state(conn);
    return state != NULL ? rdma_stream_stored(state, count) : GA_UNSUPPORTED;
}

RDMA_UNCANCELLED(enum ga_status, one_sided_share,
                 (struct transport_conn * conn, void *memory, size_t bytes, enum transport_use use,
                  struct transport_memory *out),
                 (conn, memory, bytes, use, out))

const struct transport_one_sided rdma_one_sided = {
    .share = one_sided_share,
    .unshare = one_sided_unshare,
    .fetch = one_sided_fetch,
    .fetched = one_sided_fetched,
    .store = one_sided_store,
    .stored = one_sided_stored,
};
