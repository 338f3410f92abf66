/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of bytes through two rings that the other end's card writes into.
 *
 * Note: the ring that we write into is at the other end. Our own ring of the same positions is
 * the source of the card; bytes stay there until the other end has reported that it has read
 * them. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/failpoint.h"
#include "transport/rdma/rdma_state.h"

#define CHUNK     (64u << 10)     /* pieces, so that the card sends one while the next is copied */
#define TELL_EACH (RDMA_RING / 4) /* bytes read between two reports */
#define TELL_MANY (RDMA_MESSAGES / 4)

static size_t rdma_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Up to `size` bytes from this position to the end of the ring. */
static size_t rdma_straight(uint64_t at, size_t size)
{
    return rdma_smaller(size, RDMA_RING - (size_t)(at % RDMA_RING));
}

bool rdma_stream_tcp_ended(struct rdma_conn *state)
{
    char byte;
    ssize_t rc = recv(state->tcp.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (rc < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    return rc <= 0 || atomic_load(&state->in.switched);
}

/* ---- sending */

static void out_take(void *user, enum rdma_qp_kind kind, uint32_t number)
{
    struct rdma_conn *state = user;
    struct rdma_out *out = &state->out;
    uint64_t read = out->read + ((number - (uint32_t)out->read) & RDMA_QP_NUMBER);
    if (kind != RDMA_QP_READ || read > out->written) {
        rdma_qp_break(&state->endpoint->out, "its reader says what cannot be");
        return;
    }
    out->read = read;
    while (out->first != out->last && out->ends[out->first % RDMA_MESSAGES] <= read) {
        out->first++;
    }
}

static size_t out_room(const struct rdma_out *out)
{
    return out->last - out->first == RDMA_MESSAGES ? 0
                                                   : RDMA_RING - (size_t)(out->written - out->read);
}

static enum ga_status out_switch(struct rdma_conn *state)
{
    struct rdma_out *out = &state->out;
    if (!out->switched) {
        GA_TRY(rdma_qp_post(&state->endpoint->out, RDMA_QP_SWITCH, (uint32_t)out->tcp_bytes, NULL));
        out->switched = true;
    }
    return GA_OK;
}

/* Sends `bytes` of the ring from `written` on. */
static enum ga_status out_post(struct rdma_conn *state, size_t bytes)
{
    struct rdma_endpoint *endpoint = state->endpoint;
    struct rdma_out *out = &state->out;
    const size_t at = (size_t)(out->written % RDMA_RING);
    const struct rdma_qp_write write = {.from = rdma_ring_out(endpoint) + at,
                                        .bytes = (uint32_t)bytes,
                                        .local_key = endpoint->mr_out->lkey,
                                        .to = endpoint->remote_ring + at,
                                        .remote_key = endpoint->remote_key};
    if (GA_FAILPOINT("rdma: bytes are sent")) {
        rdma_qp_halt(&endpoint->out);
    }
    enum ga_status status = rdma_qp_post(&endpoint->out, RDMA_QP_BYTES, (uint32_t)bytes, &write);
    if (status == GA_AGAIN) {
        GA_TRY(rdma_qp_poll(&endpoint->out, out_take, state));
        status = rdma_qp_post(&endpoint->out, RDMA_QP_BYTES, (uint32_t)bytes, &write);
    }
    GA_TRY(status);
    out->written += bytes;
    out->ends[out->last++ % RDMA_MESSAGES] = out->written;
    return GA_OK;
}

/* Fills the next piece of the ring: at most a message. */
static size_t out_fill(struct rdma_conn *state, struct iovec *pieces, int count, size_t room)
{
    uint64_t at = state->out.written;
    size_t most = rdma_straight(at, rdma_smaller(room, CHUNK)), done = 0;
    uint8_t *to = rdma_ring_out(state->endpoint) + at % RDMA_RING;
    for (int i = 0; i < count && done < most; i++) {
        size_t part = rdma_smaller(pieces[i].iov_len, most - done);
        memcpy(to + done, pieces[i].iov_base, part);
        pieces[i].iov_base = (uint8_t *)pieces[i].iov_base + part;
        pieces[i].iov_len -= part;
        done += part;
    }
    return done;
}

#define PIECES_MAX 64

static enum ga_status rdma_out_send(struct rdma_conn *state, const struct iovec *pieces, int count,
                                    size_t *sent)
{
    struct rdma_out *out = &state->out;
    struct iovec left[PIECES_MAX];
    size_t want = 0, done = 0, part = 1, room;
    count = count < PIECES_MAX ? count : PIECES_MAX;
    for (int i = 0; i < count; i++) {
        left[i] = pieces[i];
        want += pieces[i].iov_len;
    }
    if (out_room(out) < want) {
        GA_TRY(rdma_qp_poll(&state->endpoint->out, out_take, state));
    }
    enum ga_status status = GA_OK;
    while (status == GA_OK && part != 0 && (room = out_room(out)) != 0) {
        part = out_fill(state, left, count, room);
        if (part != 0) {
            status = out_post(state, part);
            done += status == GA_OK ? part : 0;
        }
    }
    *sent = done;
    return done != 0 ? GA_OK : status == GA_OK ? GA_AGAIN : status;
}

/* The result of an attempt to send. A thread that has slept for room checks whether the other
 * end still exists. */
static enum ga_status out_told(struct rdma_conn *state, enum ga_status status)
{
    if (status == GA_AGAIN && atomic_exchange(&state->waited, false) &&
        rdma_stream_tcp_ended(state)) {
        status = GA_LOST;
    }
    if (status == GA_LOST) {
        atomic_store(&state->ended, true);
    }
    return status;
}

enum ga_status rdma_stream_send(struct rdma_conn *state, const struct iovec *pieces, int count,
                                size_t *sent)
{
    struct rdma_out *out = &state->out;
    enum ga_status status;
    if (atomic_load_explicit(&state->ended, memory_order_relaxed)) {
        return GA_LOST;
    }
    pthread_mutex_lock(&out->lock);
    if (!atomic_load_explicit(&state->ready, memory_order_acquire)) {
        status = state->tcp.ops->send(&state->tcp, pieces, count, sent);
        out->tcp_bytes += status == GA_OK ? *sent : 0;
    } else {
        status = out_switch(state);
        status = status == GA_OK ? rdma_out_send(state, pieces, count, sent) : status;
    }
    pthread_mutex_unlock(&out->lock);
    return out_told(state, status);
}

/* ---- stores into the other end's memory, under the lock of sending */

static enum ga_status stores_poll(struct rdma_conn *state)
{
    struct rdma_out *out = &state->out;
    struct rdma_qp *qp = &state->endpoint->out;
    GA_TRY(rdma_qp_poll(qp, out_take, state));
    while (out->stores_ended != out->stores_begun &&
           out->stores[out->stores_ended % RDMA_STORES] <= qp->finished) {
        out->stores_ended++;
    }
    return GA_OK;
}

static bool stores_full(const struct rdma_out *out)
{
    return out->stores_begun - out->stores_ended == RDMA_STORES;
}

static enum ga_status rdma_store(struct rdma_conn *state, const struct rdma_qp_write *write)
{
    struct rdma_out *out = &state->out;
    struct rdma_qp *qp = &state->endpoint->out;
    if (!atomic_load_explicit(&state->ready, memory_order_acquire)) {
        return GA_LOST; /* an end that shares memory has said before that it is ready */
    }
    GA_TRY(out_switch(state));
    if (stores_full(out)) {
        GA_TRY(stores_poll(state));
    }
    if (stores_full(out)) {
        return GA_AGAIN;
    }
    GA_TRY(rdma_qp_move(qp, IBV_WR_RDMA_WRITE, write));
    out->stores[out->stores_begun++ % RDMA_STORES] = qp->posted;
    return GA_OK;
}

enum ga_status rdma_stream_store(struct rdma_conn *state, const struct rdma_qp_write *write)
{
    enum ga_status status = GA_LOST;
    if (!atomic_load_explicit(&state->ended, memory_order_relaxed)) {
        pthread_mutex_lock(&state->out.lock);
        status = rdma_store(state, write);
        pthread_mutex_unlock(&state->out.lock);
    }
    return out_told(state, status);
}

enum ga_status rdma_stream_stored(struct rdma_conn *state, uint64_t *count)
{
    pthread_mutex_lock(&state->out.lock);
    enum ga_status status = stores_poll(state);
    *count = state->out.stores_ended;
    pthread_mutex_unlock(&state->out.lock);
    return status;
}

/* A thread that waits for an answer does not look at sent messages. If these cannot arrive,
 * which only the card reports, there will be no answer: then the TCP connection is closed, and
 * both ends notice. */
void rdma_stream_idle(struct transport_conn *conn, uint64_t now_ns)
{
    struct rdma_conn *state = conn->state;
    (void)now_ns;
    if (state->phase != RDMA_UPGRADED) {
        return;
    }
    pthread_mutex_lock(&state->out.lock);
    bool lost = state->out.switched && stores_poll(state) != GA_OK;
    pthread_mutex_unlock(&state->out.lock);
    if (lost && !atomic_exchange(&state->ended, true)) {
        (void)shutdown(state->tcp.fd, SHUT_RDWR);
    }
}

/* ---- receiving */

static void in_take(void *user, enum rdma_qp_kind kind, uint32_t number)
{
    struct rdma_conn *state = user;
    struct rdma_in *in = &state->in;
    if (kind == RDMA_QP_SWITCH && !in->known) {
        in->known = true;
        in->tcp_left = (number - (uint32_t)in->tcp_bytes) & RDMA_QP_NUMBER;
        atomic_store(&in->switched, in->tcp_left == 0);
        atomic_store_explicit(&state->ready, true, memory_order_release);
    } else if (kind == RDMA_QP_BYTES && in->known &&
               number <= RDMA_RING - (in->arrived - in->read)) {
        in->arrived += number;
        in->messages++;
    } else if (kind == RDMA_QP_END) {
        in->end = true;
    } else {
        rdma_qp_break(&state->endpoint->in, "its writer says what cannot be");
    }
}

static enum ga_status in_poll(struct rdma_conn *state)
{
    return rdma_qp_poll(&state->endpoint->in, in_take, state);
}

/* Reports free room before the other end has none left. */
static void in_tell(struct rdma_conn *state)
{
    struct rdma_in *in = &state->in;
    bool much = in->read - in->told >= TELL_EACH,
         many = in->read == in->arrived && in->messages >= TELL_MANY;
    if (!much && !many) {
        return;
    }
    if (GA_FAILPOINT("rdma: bytes have been read")) {
        rdma_qp_halt(&state->endpoint->in);
    }
    if (rdma_qp_post(&state->endpoint->in, RDMA_QP_READ, (uint32_t)in->read, NULL) == GA_OK) {
        in->told = in->read;
        in->messages = 0;
    }
}

static enum ga_status in_receive(struct rdma_conn *state, void *to, size_t size, size_t *got)
{
    struct rdma_in *in = &state->in;
    if (in->arrived == in->read) {
        enum ga_status status = in_poll(state);
        bool slept = status == GA_OK && in->arrived == in->read && !in->end &&
                     atomic_exchange(&state->slept, false);
        if (slept && rdma_stream_tcp_ended(state)) {
            (void)!in_poll(state); /* bytes from before its end */
            status = GA_LOST;
            atomic_store(&state->slept, true); /* it stays lost */
        }
        if (in->arrived == in->read) {
            in_tell(state);
            return status == GA_OK && !in->end ? GA_AGAIN : GA_LOST;
        }
    }
    size = rdma_smaller(size, (size_t)(in->arrived - in->read));
    for (size_t done = 0; done < size;) {
        size_t part = rdma_straight(in->read, size - done);
        memcpy((uint8_t *)to + done, rdma_ring_in(state->endpoint) + in->read % RDMA_RING, part);
        in->read += part;
        done += part;
    }
    in_tell(state);
    *got = size;
    return GA_OK;
}

/* While the other end's bytes come over TCP. */
static enum ga_status in_receive_tcp(struct rdma_conn *state, void *to, size_t size, size_t *got)
{
    struct rdma_in *in = &state->in;
    GA_TRY(in_poll(state));
    if (atomic_load(&in->switched)) {
        return in_receive(state, to, size, got);
    }
    size = in->known ? rdma_smaller(size, in->tcp_left) : size;
    enum ga_status status = state->tcp.ops->receive(&state->tcp, to, size, got);
    if (status == GA_LOST && !in->known) { /* it may have switched just before it ended */
        GA_TRY(in_poll(state));
        return atomic_load(&in->switched) ? in_receive(state, to, size, got) : GA_LOST;
    }
    GA_TRY(status);
    in->tcp_bytes += *got;
    in->tcp_left -= in->known ? (uint32_t)*got : 0;
    atomic_store(&in->switched, in->known && in->tcp_left == 0);
    return GA_OK;
}

enum ga_status rdma_stream_receive(struct rdma_conn *state, void *to, size_t size, size_t *got)
{
    pthread_mutex_lock(&state->in.lock);
    enum ga_status status = atomic_load_explicit(&state->in.switched, memory_order_relaxed)
                                ? in_receive(state, to, size, got)
                                : in_receive_tcp(state, to, size, got);
    pthread_mutex_unlock(&state->in.lock);
    if (status == GA_LOST) {
        atomic_store(&state->ended, true);
    }
    return status;
}

/* ---- sleeping, and the end */

static bool in_sleeps(struct rdma_conn *state)
{
    struct rdma_in *in = &state->in;
    pthread_mutex_lock(&in->lock);
    bool switched = atomic_load(&in->switched);
    rdma_qp_arm(&state->endpoint->in);
    bool sleeps = in_poll(state) == GA_OK && in->arrived == in->read && !in->end &&
                  switched == atomic_load(&in->switched);
    pthread_mutex_unlock(&in->lock);
    return sleeps;
}

/* *over_tcp: waits for room of TCP. */
static bool out_sleeps(struct rdma_conn *state, bool *over_tcp)
{
    struct rdma_out *out = &state->out;
    pthread_mutex_lock(&out->lock);
    *over_tcp = !out->switched;
    bool sleeps = !atomic_load(&state->ready);
    if (out->switched) {
        rdma_qp_arm(&state->endpoint->out);
        sleeps = stores_poll(state) == GA_OK && (out_room(out) == 0 || stores_full(out));
    }
    pthread_mutex_unlock(&out->lock);
    return sleeps;
}

unsigned rdma_stream_poll_prepare(struct rdma_conn *state, short wanted, struct pollfd *fds)
{
    unsigned count = 1;
    bool over_tcp = false;
    fds[0] = (struct pollfd){.fd = state->tcp.fd, .events = POLLRDHUP};
    if ((wanted & POLLIN) != 0) {
        atomic_store(&state->slept, true);
        if (!in_sleeps(state)) {
            return 0;
        }
        fds[0].events |= atomic_load(&state->in.switched) ? 0 : POLLIN;
        fds[count++] = (struct pollfd){.fd = state->endpoint->in.channel->fd, .events = POLLIN};
    }
    if ((wanted & POLLOUT) != 0) {
        atomic_store(&state->waited, true);
        if (!out_sleeps(state, &over_tcp)) {
            return 0;
        }
        if (over_tcp) {
            fds[0].events |= POLLOUT;
        } else {
            fds[count++] =
                (struct pollfd){.fd = state->endpoint->out.channel->fd, .events = POLLIN};
        }
    }
    if ((wanted & POLLPRI) != 0) {
        atomic_store(&state->dozed, true);
        if (!rdma_one_sided_sleeps(state)) {
            return 0;
        }
        fds[count++] = (struct pollfd){.fd = state->endpoint->fetch.channel->fd, .events = POLLIN};
    }
    return count;
}

void rdma_stream_end(struct rdma_conn *state)
{
    struct rdma_out *out = &state->out;
    pthread_mutex_lock(&out->lock);
    if (out->switched && !atomic_load(&state->ended) && !rdma_stream_tcp_ended(state) &&
        rdma_qp_post(&state->endpoint->out, RDMA_QP_END, 0, NULL) == GA_OK) {
        rdma_qp_settle(&state->endpoint->out);
    }
    pthread_mutex_unlock(&out->lock);
}
