/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.3 over TCP: the bytes of a connection.
 *
 * Note: encrypted bytes that wait for the socket are not sent yet. They count as sent once the
 * socket has taken all of them. Until then `send` returns GA_AGAIN, and the caller repeats the
 * call with the same bytes, so no bytes are left that nobody flushes. The receiver sends the
 * protocol's own messages (answers to key updates). */
#include "transport/tls/tls.h"

#include <limits.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/tcp.h"

/* For connections that carry much data */
#define LARGE_RECORDS 8u
#define LARGE_BYTES   (LARGE_RECORDS * (TLS_RECORD + TLS_RECORD_EXTRA) + TLS_CONTROL)
#define LARGE_FROM    (256u << 10) /* plain bytes carried */

uint64_t tls_key_records = UINT64_C(1) << 22; /* 64 GiB */

static bool carries_much(const struct tls_conn *state)
{
    return atomic_load_explicit(&state->carried, memory_order_relaxed) >= LARGE_FROM;
}

/* ---- the socket's side */

enum ga_status tls_flush(struct tls_conn *state, bool with_crypto)
{
    struct tls_bytes *out = &state->out;
    size_t sent = 0;
    for (;;) {
        if (!with_crypto) {
            pthread_mutex_lock(&state->crypto);
        }
        out->start += sent;
        if (out->start == out->end) {
            out->start = 0;
            out->end = 0;
            if (!carries_much(state)) {
                free(out->bytes);
                *out = (struct tls_bytes){0};
            }
        }
        struct iovec piece = {out->bytes + out->start, out->end - out->start};
        if (!with_crypto) {
            pthread_mutex_unlock(&state->crypto);
        }
        if (piece.iov_len == 0) {
            return GA_OK;
        }
        GA_TRY(transport_tcp.send(&state->tcp, &piece, 1, &sent));
    }
}

enum ga_status tls_fill(struct tls_conn *state)
{
    size_t got;
    GA_TRY(transport_tcp.receive(&state->tcp, state->in.bytes, state->in.capacity, &got));
    state->in.start = 0;
    state->in.end = got;
    return GA_OK;
}

/* Enlarges an empty buffer. Without memory the small one stays. */
static void tls_bytes_grow(struct tls_bytes *buffer)
{
    uint8_t *bytes = malloc(LARGE_BYTES);
    if (bytes != NULL) {
        free(buffer->bytes);
        *buffer = (struct tls_bytes){.bytes = bytes, .capacity = LARGE_BYTES};
    }
}

/* The crypto lock is held. */
static void tls_count(struct tls_conn *state, size_t bytes)
{
    size_t before = atomic_load_explicit(&state->carried, memory_order_relaxed);
    if (before < LARGE_FROM) {
        atomic_store_explicit(&state->carried, before + bytes, memory_order_relaxed);
        if (before + bytes >= LARGE_FROM) {
            (void)SSL_clear_mode(state->ssl, SSL_MODE_RELEASE_BUFFERS);
        }
    }
}

/* The first operation drives the handshake. */
enum ga_status tls_settle(struct tls_conn *state)
{
    if (atomic_load_explicit(&state->ready, memory_order_acquire)) {
        return GA_OK;
    }
    pthread_mutex_lock(&state->flush);
    pthread_mutex_lock(&state->crypto);
    enum ga_status status = GA_OK;
    if (state->ssl == NULL && tls_ssl_make(state, state->context) != GA_OK) {
        snprintf(state->error_text, sizeof state->error_text, "no memory for it");
        status = GA_LOST;
    } else if (!atomic_load(&state->ready)) {
        status = state->error_text[0] == 0 ? tls_handshake(state) : GA_LOST;
    }
    pthread_mutex_unlock(&state->crypto);
    pthread_mutex_unlock(&state->flush);
    return status;
}

/* ---- sending; with the flush lock */

/* Encrypts `bytes` of plain text, at most a record. The crypto lock is held. */
static enum ga_status encrypt(struct tls_conn *state, const uint8_t *from, size_t bytes)
{
    ERR_clear_error();
    if (++state->records > tls_key_records) {
        state->records = 0;
        (void)SSL_key_update(state->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    int rc = SSL_write(state->ssl, from, (int)bytes);
    if (rc <= 0) {
        int error = SSL_get_error(state->ssl, rc);
        if (error == SSL_ERROR_WANT_WRITE) {
            return GA_AGAIN;
        }
        tls_error_text(state);
        return GA_LOST;
    }
    state->accepted += (size_t)rc;
    tls_count(state, (size_t)rc);
    return GA_OK;
}

/* The bytes of the next record: in place, or collected in `gather` if they are many small
 * pieces. */
struct cut {
    const struct iovec *pieces;
    int count;
    size_t skip; /* of the first piece */
};

static size_t cut_next(struct cut *cut, uint8_t *gather, const uint8_t **at)
{
    size_t got = 0;
    while (cut->count != 0 && got < TLS_RECORD) {
        const uint8_t *from = (const uint8_t *)cut->pieces->iov_base + cut->skip;
        size_t here = cut->pieces->iov_len - cut->skip;
        size_t part = here < TLS_RECORD - got ? here : TLS_RECORD - got;
        if (got == 0 && (part == TLS_RECORD || cut->count == 1 || gather == NULL)) {
            *at = from;
        } else if (part != 0) {
            memcpy(gather + got, from, part);
            *at = gather;
        }
        got += part;
        cut->skip += part;
        if (part == here) {
            cut->pieces++;
            cut->count--;
            cut->skip = 0;
        }
        if (*at == from && got != 0) {
            break;
        }
    }
    return got;
}

/* Encrypts as many records as fit into `out`. */
static enum ga_status encrypt_all(struct tls_conn *state, const struct iovec *pieces, int count)
{
    struct cut cut = {.pieces = pieces, .count = count};
    if (count > 1 && state->gather == NULL) {
        state->gather = malloc(TLS_RECORD); /* without memory, records stay small */
    }
    for (;;) {
        const uint8_t *at = NULL;
        size_t bytes = cut_next(&cut, state->gather, &at);
        if (bytes == 0) {
            return GA_OK;
        }
        pthread_mutex_lock(&state->crypto);
        if (state->out.end == 0 && state->out.capacity < LARGE_BYTES && carries_much(state)) {
            tls_bytes_grow(&state->out);
        }
        enum ga_status status = encrypt(state, at, bytes);
        bool full =
            state->out.capacity - state->out.end < TLS_RECORD + TLS_RECORD_EXTRA + TLS_CONTROL / 2;
        pthread_mutex_unlock(&state->crypto);
        if (status != GA_OK || full) {
            return state->accepted != 0 && status == GA_AGAIN ? GA_OK : status;
        }
    }
}

static size_t total(const struct iovec *pieces, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += pieces[i].iov_len;
    }
    return bytes;
}

static enum ga_status send_locked(struct tls_conn *state, const struct iovec *pieces, int count,
                                  size_t *sent)
{
    GA_TRY(tls_flush(state, false));
    if (state->accepted == 0) {
        GA_TRY(encrypt_all(state, pieces, count));
        GA_TRY(tls_flush(state, false));
    }
    size_t given = total(pieces, count);
    size_t part = state->accepted < given ? state->accepted : given;
    state->accepted -= part;
    *sent = part;
    return part != 0 ? GA_OK : GA_AGAIN;
}

enum ga_status tls_send(struct transport_conn *conn, const struct iovec *pieces, int count,
                        size_t *sent)
{
    struct tls_conn *state = conn->state;
    GA_TRY(tls_settle(state));
    pthread_mutex_lock(&state->flush);
    enum ga_status status = send_locked(state, pieces, count, sent);
    pthread_mutex_unlock(&state->flush);
    return status;
}

/* ---- receiving */

/* Plain bytes have come. */
static void messages_forget(struct tls_conn *state, size_t bytes)
{
    state->messages_bytes += bytes;
    if (state->messages_bytes >= TLS_MESSAGES_BYTES) {
        state->messages_bytes = 0;
        state->messages = 0;
    }
}

/* Decrypts received bytes. GA_AGAIN: none. */
static enum ga_status decrypt(struct tls_conn *state, uint8_t *to, size_t size, size_t *got)
{
    int error = SSL_ERROR_NONE;
    size_t done = 0;
    pthread_mutex_lock(&state->crypto);
    ERR_clear_error();
    state->drained = false;
    while (done < size && error == SSL_ERROR_NONE) {
        size_t part = size - done < INT_MAX ? size - done : INT_MAX;
        int rc = SSL_read(state->ssl, to + done, (int)part);
        if (rc > 0) {
            done += (size_t)rc;
            messages_forget(state, (size_t)rc);
        } else {
            error = SSL_get_error(state->ssl, rc);
        }
    }
    tls_count(state, done);
    bool stuck = error == SSL_ERROR_WANT_WRITE;
    bool failed = error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ && !stuck;
    if (failed && error != SSL_ERROR_ZERO_RETURN) {
        tls_error_text(state);
    }
    bool replies = state->out.start != state->out.end;
    atomic_store(&state->stuck, stuck);
    bool ended = failed || state->ended;
    atomic_store_explicit(&state->readable, error != SSL_ERROR_WANT_READ || ended,
                          memory_order_relaxed);
    pthread_mutex_unlock(&state->crypto);
    if (replies || atomic_load(&state->unsent)) {
        pthread_mutex_lock(&state->flush);
        enum ga_status flushed = tls_flush(state, false);
        atomic_store(&state->unsent, flushed == GA_AGAIN);
        pthread_mutex_unlock(&state->flush);
    }
    *got = done;
    return done != 0 ? GA_OK : ended ? GA_LOST : GA_AGAIN;
}

enum ga_status tls_receive(struct transport_conn *conn, void *to, size_t size, size_t *got)
{
    struct tls_conn *state = conn->state;
    GA_TRY(tls_settle(state));
    for (;;) {
        if (atomic_load_explicit(&state->readable, memory_order_relaxed) ||
            atomic_load_explicit(&state->unsent, memory_order_relaxed)) {
            enum ga_status status = decrypt(state, to, size, got);
            if (status != GA_AGAIN || state->drained) {
                return status;
            }
        }
        if (atomic_load_explicit(&state->stuck, memory_order_relaxed)) {
            return GA_AGAIN; /* an answer of the protocol must be sent first */
        }
        GA_TRY(tls_fill(state));
        atomic_store_explicit(&state->readable, true, memory_order_relaxed);
    }
}

unsigned tls_poll_prepare(struct transport_conn *conn, short wanted, struct pollfd *fds)
{
    struct tls_conn *state = conn->state;
    if (!state->server && !state->began) {
        return transport_tcp.poll_prepare(&state->tcp, POLLOUT, fds);
    }
    short events = wanted;
    if (!atomic_load(&state->ready)) {
        events = POLLIN;
    } else if (atomic_load(&state->stuck)) {
        events = POLLOUT;
    } else if ((wanted & POLLIN) != 0 && atomic_load(&state->readable)) {
        return 0;
    }
    if (atomic_load(&state->unsent)) {
        events |= POLLOUT;
    }
    fds[0] = (struct pollfd){.fd = conn->fd, .events = events};
    return 1;
}
