/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.3 over TCP: making and closing connections. tls_stream.c moves their bytes. */
#include "transport/tls/tls.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/tcp.h"

struct tls_listener {
    SSL_CTX *context;
    struct transport_secret secret;
};

static void state_free(struct tls_conn *state)
{
    SSL_free(state->ssl);
    SSL_CTX_free(state->context);
    OPENSSL_cleanse(state->ticket, sizeof state->ticket);
    free(state->in.bytes);
    free(state->out.bytes);
    free(state->gather);
    pthread_mutex_destroy(&state->flush);
    pthread_mutex_destroy(&state->crypto);
    free(state);
}

static struct tls_conn *tls_state_make(bool server)
{
    struct tls_conn *state = calloc(1, sizeof *state);
    if (state != NULL) {
        state->server = server;
        pthread_mutex_init(&state->flush, NULL);
        pthread_mutex_init(&state->crypto, NULL);
    }
    return state;
}

/* Makes a TLS connection of a TCP connection, which it owns. */
static void tls_conn_make(const struct transport_conn *tcp, struct tls_conn *state,
                          struct transport_conn *out)
{
    state->tcp = *tcp;
    *out = (struct transport_conn){.ops = &transport_tls, .fd = tcp->fd, .state = state};
}

static enum ga_status tls_listen(const struct transport_address *address,
                                 struct transport_listener *out, char *why, size_t why_size)
{
    struct transport_listener listener;
    struct tls_listener *state = calloc(1, sizeof *state);
    if (state == NULL) {
        snprintf(why, why_size, "no memory");
        return GA_NO_MEMORY;
    }
    enum ga_status status = tls_context_listen(address->secret, &state->context, why, why_size);
    if (status == GA_OK) {
        state->secret = *address->secret;
        status = transport_tcp.listen(address, &listener, why, why_size);
    }
    if (status != GA_OK) {
        SSL_CTX_free(state->context);
        free(state);
        return status;
    }
    *out = (struct transport_listener){.ops = &transport_tls, .fd = listener.fd, .state = state};
    return GA_OK;
}

/* A server's gets memory only when it has heard something: many connections never say anything. */
static enum ga_status tls_accept(struct transport_listener *listener, struct transport_conn *out)
{
    struct tls_listener *from = listener->state;
    struct transport_conn tcp;
    GA_TRY(transport_tcp.accept(listener, &tcp));
    struct tls_conn *state = tls_state_make(true);
    if (state == NULL || SSL_CTX_up_ref(from->context) != 1) {
        tcp.ops->close(&tcp);
        free(state);
        return GA_NO_MEMORY;
    }
    state->context = from->context;
    state->secret = from->secret;
    state->ticketed = from->secret.ticket != NULL;
    tls_conn_make(&tcp, state, out);
    return GA_OK;
}

/* A client's end before it connects. */
static enum ga_status client_prepare(struct tls_conn *state,
                                     const struct transport_address *address, char *why,
                                     size_t why_size)
{
    const struct transport_secret *secret = address->secret;
    SSL_CTX *context = tls_context_connect(why, why_size);
    if (context == NULL) {
        return GA_INVALID;
    }
    memcpy(state->host, address->host, sizeof state->host);
    if (secret != NULL && secret->ticket_id != NULL) {
        state->ticketed = true;
        memcpy(state->ticket, secret->ticket_id, TRANSPORT_TICKET_ID);
        memcpy(state->ticket + TRANSPORT_TICKET_ID, secret->ticket_key, TRANSPORT_TICKET_KEY);
    }
    if (tls_ssl_make(state, context) != GA_OK) {
        snprintf(why, why_size, "no memory");
        return GA_NO_MEMORY;
    }
    return tls_secret_load(state->ssl, secret, why, why_size);
}

static enum ga_status tls_connect_begin(const struct transport_address *address,
                                        struct transport_conn *out, char *why, size_t why_size)
{
    struct transport_conn tcp;
    struct tls_conn *state = tls_state_make(false);
    if (state == NULL) {
        snprintf(why, why_size, "no memory");
        return GA_NO_MEMORY;
    }
    enum ga_status status = client_prepare(state, address, why, why_size);
    if (status == GA_OK) {
        status = transport_tcp.connect_begin(address, &tcp, why, why_size);
    }
    if (status != GA_OK) {
        state_free(state);
        return status;
    }
    tls_conn_make(&tcp, state, out);
    return GA_OK;
}

static enum ga_status tls_connect_end(struct transport_conn *conn, char *why, size_t why_size)
{
    struct tls_conn *state = conn->state;
    if (!state->began) {
        GA_TRY(state->tcp.ops->connect_end(&state->tcp, why, why_size));
        state->began = true;
    }
    enum ga_status status = tls_settle(state);
    if (status == GA_LOST) {
        snprintf(why, why_size, "%s", state->error_text);
    }
    return status;
}

static const char *tls_conn_error_text(const struct transport_conn *conn)
{
    const struct tls_conn *state = conn->state;
    return state->error_text[0] != 0 ? state->error_text : NULL;
}

static enum ga_status tls_renew(struct transport_listener *listener,
                                const struct transport_secret *secret, char *why, size_t why_size)
{
    struct tls_listener *state = listener->state;
    SSL_CTX *context;
    GA_TRY(tls_context_listen(secret, &context, why, why_size));
    SSL_CTX_free(state->context); /* connections have references of their own */
    state->context = context;
    return GA_OK;
}

/* ---- the rest is TCP's */

static unsigned tls_descriptors(const struct transport_conn *conn, int *fds)
{
    fds[0] = conn->fd;
    return 1;
}

static bool tls_begun(const struct transport_conn *conn)
{
    const struct tls_conn *state = conn->state;
    return state->server && atomic_load(&state->finished);
}

static enum ga_status tls_set_dead_after(struct transport_conn *conn, unsigned timeout_ms)
{
    struct tls_conn *state = conn->state;
    return transport_tcp.set_dead_after(&state->tcp, timeout_ms);
}

static enum ga_status tls_local_address(int fd, char *url, size_t size)
{
    GA_TRY(transport_tcp.local_address(fd, url, size));
    url[1] = 'l'; /* the text began with "tcp://" */
    url[2] = 's';
    return GA_OK;
}

static void tls_close_listener(struct transport_listener *listener)
{
    struct tls_listener *state = listener->state;
    SSL_CTX_free(state->context);
    free(state);
    transport_tcp.close_listener(listener);
}

/* Sends the closing alert, if that is possible now: it shows that nobody has cut the connection. */
static void say_end(struct tls_conn *state)
{
    pthread_mutex_lock(&state->flush);
    pthread_mutex_lock(&state->crypto);
    if (atomic_load(&state->ready) && state->out.start == state->out.end) {
        ERR_clear_error();
        (void)SSL_shutdown(state->ssl);
        (void)!tls_flush(state, true);
    }
    pthread_mutex_unlock(&state->crypto);
    pthread_mutex_unlock(&state->flush);
}

static void tls_close(struct transport_conn *conn)
{
    struct tls_conn *state = conn->state;
    say_end(state);
    state->tcp.ops->close(&state->tcp);
    state_free(state);
    *conn = (struct transport_conn){.ops = &transport_tls, .fd = -1};
}

const struct transport_ops transport_tls = {
    .scheme = "tls",
    .prepare = tls_prepare,
    .listen = tls_listen,
    .accept = tls_accept,
    .renew = tls_renew,
    .connect_begin = tls_connect_begin,
    .connect_end = tls_connect_end,
    .send = tls_send,
    .receive = tls_receive,
    .poll_prepare = tls_poll_prepare,
    .descriptors = tls_descriptors,
    .set_dead_after = tls_set_dead_after,
    .identify = tls_identify,
    .begun = tls_begun,
    .error_text = tls_conn_error_text,
    .local_address = tls_local_address,
    .close_listener = tls_close_listener,
    .close = tls_close,
};
