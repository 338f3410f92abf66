/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA beside a TCP connection: connecting and closing.
 *
 * Note: a connection that stays plain, for whatever reason, becomes a connection of tcp on the
 * spot. */
#include "transport/rdma/rdma.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "transport/rdma/rdma_state.h"
#include "transport/tcp.h"

/* ---- plain connections */

static enum ga_status rdma_conn_make(const struct transport_conn *tcp, enum rdma_phase phase,
                                     struct transport_conn *out)
{
    struct transport_conn inner = *tcp;
    struct rdma_conn *state = calloc(1, sizeof *state);
    if (state == NULL) {
        inner.ops->close(&inner);
        return GA_NO_MEMORY;
    }
    state->tcp = inner;
    state->phase = phase;
    pthread_mutex_init(&state->in.lock, NULL);
    pthread_mutex_init(&state->out.lock, NULL);
    *out = (struct transport_conn){.ops = &transport_rdma, .fd = inner.fd, .state = state};
    return GA_OK;
}

static void conn_free(struct rdma_conn *state)
{
    if (state->endpoint != NULL) {
        rdma_endpoint_free(state->endpoint);
    }
    pthread_mutex_destroy(&state->in.lock);
    pthread_mutex_destroy(&state->out.lock);
    free(state);
}

static void conn_become_tcp(struct transport_conn *conn)
{
    struct rdma_conn *state = conn->state;
    *conn = state->tcp;
    conn_free(state);
}

static enum ga_status rdma_listen(const struct transport_address *address,
                                  struct transport_listener *out, char *why, size_t why_size)
{
    GA_TRY(transport_tcp.listen(address, out, why, why_size));
    out->ops = &transport_rdma;
    return GA_OK;
}

static enum ga_status rdma_accept(struct transport_listener *listener, struct transport_conn *out)
{
    struct transport_conn tcp;
    GA_TRY(transport_tcp.accept(listener, &tcp));
    return rdma_conn_make(&tcp, RDMA_NEW, out);
}

static enum ga_status rdma_connect_begin(const struct transport_address *address,
                                         struct transport_conn *out, char *why, size_t why_size)
{
    struct transport_conn tcp;
    GA_TRY(transport_tcp.connect_begin(address, &tcp, why, why_size));
    enum ga_status status = rdma_conn_make(&tcp, RDMA_PLAIN, out);
    if (status != GA_OK) {
        snprintf(why, why_size, "no memory");
    }
    return status;
}

static enum ga_status rdma_connect_end(struct transport_conn *conn, char *why, size_t why_size)
{
    struct rdma_conn *state = conn->state;
    return transport_tcp.connect_end(&state->tcp, why, why_size);
}

/* ---- offers */

static enum ga_status offer_send(struct rdma_conn *state, const struct rdma_endpoint *endpoint,
                                 enum rdma_answer answer)
{
    struct rdma_offer offer;
    size_t sent;
    rdma_endpoint_offer(endpoint, answer, &offer);
    struct iovec piece = {&offer, sizeof offer};
    /* A new connection takes so few bytes at once; otherwise it is broken. */
    enum ga_status status = transport_tcp.send(&state->tcp, &piece, 1, &sent);
    return status == GA_OK && sent == sizeof offer ? GA_OK : GA_LOST;
}

static enum ga_status rdma_upgrade_here(struct transport_conn *conn, char *why, size_t why_size)
{
    struct rdma_conn *state = conn->state;
    if (state->phase != RDMA_PLAIN) {
        snprintf(why, why_size, "it cannot be");
        return GA_INVALID;
    }
    enum ga_status status =
        rdma_endpoint_make(state->tcp.fd, true, &state->endpoint, why, why_size);
    if (status != GA_OK) {
        conn_become_tcp(conn);
        return status;
    }
    state->phase = RDMA_ASKED;
    status = offer_send(state, state->endpoint, RDMA_OFFER);
    if (status != GA_OK) {
        snprintf(why, why_size, "the connection is lost");
    }
    return status;
}

/* Answers the client's offer, at the server's end. */
static enum ga_status offer_take(struct rdma_conn *state, const struct rdma_offer *offer)
{
    char why[300] = "";
    struct rdma_endpoint *endpoint = NULL;
    enum ga_status status = rdma_endpoint_make(state->tcp.fd, false, &endpoint, why, sizeof why);
    if (status == GA_OK) {
        status = rdma_endpoint_connect(endpoint, offer, why, sizeof why);
    }
    if (status != GA_OK) {
        ga_warn("a client asks for RDMA, and gets TCP: %s", why);
        if (endpoint != NULL) {
            rdma_endpoint_free(endpoint);
        }
        return offer_send(state, NULL, RDMA_NO);
    }
    state->endpoint = endpoint;
    return offer_send(state, endpoint, RDMA_YES);
}

/* Reads the server's answer, at the client's end. */
static enum ga_status answer_take(struct transport_conn *conn, const struct rdma_offer *answer)
{
    char why[300] = "the server cannot (it says why)";
    struct rdma_conn *state = conn->state;
    bool yes = answer->answer == RDMA_YES;
    if (!yes && answer->answer != RDMA_NO) {
        return GA_LOST;
    }
    if (!yes || rdma_endpoint_connect(state->endpoint, answer, why, sizeof why) != GA_OK) {
        ga_warn("no RDMA for a connection, its bytes go over TCP: %s", why);
        conn_become_tcp(conn);
        return GA_OK;
    }
    state->phase = RDMA_UPGRADED;
    atomic_store_explicit(&state->ready, true, memory_order_release);
    return GA_OK;
}

/* The number of first bytes that an offer needs; 0: it is not an offer. */
static size_t head_wanted(const struct rdma_conn *state)
{
    const uint32_t magic = RDMA_MAGIC;
    size_t looked = state->head_got < sizeof magic ? state->head_got : sizeof magic;
    return memcmp(state->head, &magic, looked) == 0 ? sizeof state->head : 0;
}

/* Reads the first bytes of the other end: an offer, an answer, or bytes of a plain client.
 * GA_AGAIN: they have not all arrived. May make the connection one of tcp. */
static enum ga_status head_read(struct transport_conn *conn)
{
    struct rdma_conn *state = conn->state;
    size_t wanted;
    while ((wanted = head_wanted(state)) > state->head_got) {
        size_t got;
        GA_TRY(transport_tcp.receive(&state->tcp, state->head + state->head_got,
                                     wanted - state->head_got, &got));
        state->head_got += got;
    }
    struct rdma_offer offer;
    memcpy(&offer, state->head, sizeof offer);
    if (state->phase == RDMA_ASKED) {
        return wanted != 0 ? answer_take(conn, &offer) : GA_LOST;
    }
    if (wanted == 0) {
        state->phase = RDMA_PLAIN;
        return GA_OK;
    }
    if (offer.answer != RDMA_OFFER) {
        return GA_LOST;
    }
    GA_TRY(offer_take(state, &offer));
    if (state->endpoint == NULL) {
        conn_become_tcp(conn);
        return GA_OK;
    }
    state->phase = RDMA_UPGRADED;
    return GA_OK;
}

/* Returns the bytes that were read before the client turned out to be plain. */
static enum ga_status head_give(struct transport_conn *conn, void *to, size_t size, size_t *got)
{
    struct rdma_conn *state = conn->state;
    size_t part = state->head_got - state->head_given;
    if (part == 0) {
        conn_become_tcp(conn);
        return conn->ops->receive(conn, to, size, got);
    }
    part = part < size ? part : size;
    memcpy(to, state->head + state->head_given, part);
    state->head_given += part;
    *got = part;
    if (state->head_given == state->head_got) {
        conn_become_tcp(conn);
    }
    return GA_OK;
}

/* ---- bytes */

static enum ga_status rdma_send_here(struct transport_conn *conn, const struct iovec *pieces,
                                     int count, size_t *sent)
{
    struct rdma_conn *state = conn->state;
    if (state->phase == RDMA_NEW) {
        GA_TRY(head_read(conn));
        if (conn->ops != &transport_rdma) {
            return conn->ops->send(conn, pieces, count, sent);
        }
    }
    return state->endpoint != NULL ? rdma_stream_send(state, pieces, count, sent)
                                   : transport_tcp.send(&state->tcp, pieces, count, sent);
}

static enum ga_status rdma_receive_here(struct transport_conn *conn, void *to, size_t size,
                                        size_t *got)
{
    struct rdma_conn *state = conn->state;
    if (state->phase == RDMA_NEW || state->phase == RDMA_ASKED) {
        GA_TRY(head_read(conn));
        if (conn->ops != &transport_rdma) {
            return conn->ops->receive(conn, to, size, got);
        }
        state = conn->state;
    }
    if (state->endpoint != NULL) {
        return rdma_stream_receive(state, to, size, got);
    }
    return state->head_got != 0 ? head_give(conn, to, size, got)
                                : transport_tcp.receive(&state->tcp, to, size, got);
}

static unsigned rdma_poll_prepare_here(struct transport_conn *conn, short wanted,
                                       struct pollfd *fds)
{
    struct rdma_conn *state = conn->state;
    if (state->phase == RDMA_NEW) {
        wanted = POLLIN; /* until the kind of client is known */
    } else if (state->phase == RDMA_PLAIN && state->head_given != state->head_got) {
        return 0;
    }
    return state->phase == RDMA_UPGRADED ? rdma_stream_poll_prepare(state, wanted, fds)
                                         : transport_tcp.poll_prepare(&state->tcp, wanted, fds);
}

/* ---- the rest */

static unsigned rdma_descriptors(const struct transport_conn *conn, int *fds)
{
    const struct rdma_conn *state = conn->state;
    unsigned count = 0;
    fds[count++] = conn->fd;
    if (state->endpoint != NULL) {
        fds[count++] = state->endpoint->in.channel->fd;
        fds[count++] = state->endpoint->out.channel->fd;
        fds[count++] = state->endpoint->fetch.channel->fd;
        fds[count++] = state->endpoint->card.context->cmd_fd;
        fds[count++] = state->endpoint->card.context->async_fd;
    }
    return count;
}

static enum ga_status rdma_set_dead_after(struct transport_conn *conn, unsigned timeout_ms)
{
    struct rdma_conn *state = conn->state;
    return transport_tcp.set_dead_after(&state->tcp, timeout_ms);
}

static enum ga_status rdma_local_address(int fd, char *url, size_t size)
{
    char tcp[300];
    GA_TRY(transport_tcp.local_address(fd, tcp, sizeof tcp));
    int written = snprintf(url, size, "rdma%s", tcp + strlen("tcp"));
    return written > 0 && (size_t)written < size ? GA_OK : GA_INVALID;
}

static void rdma_close(struct transport_conn *conn)
{
    struct rdma_conn *state = conn->state;
    int before = ga_cancel_off();
    if (state->endpoint != NULL) {
        rdma_stream_end(state);
    }
    state->tcp.ops->close(&state->tcp);
    conn_free(state);
    *conn = (struct transport_conn){.ops = &transport_rdma, .fd = -1};
    ga_cancel_back(before);
}

static void rdma_close_listener(struct transport_listener *listener)
{
    transport_tcp.close_listener(listener);
}

RDMA_UNCANCELLED(enum ga_status, rdma_upgrade,
                 (struct transport_conn * conn, char *why, size_t why_size), (conn, why, why_size))
RDMA_UNCANCELLED(enum ga_status, rdma_send,
                 (struct transport_conn * conn, const struct iovec *pieces, int count,
                  size_t *sent),
                 (conn, pieces, count, sent))
RDMA_UNCANCELLED(enum ga_status, rdma_receive,
                 (struct transport_conn * conn, void *to, size_t size, size_t *got),
                 (conn, to, size, got))
RDMA_UNCANCELLED(unsigned, rdma_poll_prepare,
                 (struct transport_conn * conn, short wanted, struct pollfd *fds),
                 (conn, wanted, fds))

const struct transport_ops transport_rdma = {
    .scheme = "rdma",
    .listen = rdma_listen,
    .accept = rdma_accept,
    .connect_begin = rdma_connect_begin,
    .connect_end = rdma_connect_end,
    .upgrade = rdma_upgrade,
    .one_sided = &rdma_one_sided,
    .send = rdma_send,
    .receive = rdma_receive,
    .idle = rdma_stream_idle,
    .poll_prepare = rdma_poll_prepare,
    .descriptors = rdma_descriptors,
    .set_dead_after = rdma_set_dead_after,
    .local_address = rdma_local_address,
    .close_listener = rdma_close_listener,
    .close = rdma_close,
};
