/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.3 over TCP: what its files share (inside transport/).
 *
 * An SSL object is for one thread at a time, but a connection has a thread that sends and one that
 * receives. OpenSSL therefore leaves encrypted bytes in `out`, which is sent without the lock of
 * the SSL object; and a thread that waits for bytes receives them without that lock, into `in`. */
#ifndef TRANSPORT_TLS_TLS_H
#define TRANSPORT_TLS_TLS_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "transport/transport.h"

/* Plain bytes of a record: a cache line less than the most. OpenSSL copies each record between the
 * caller's memory and a place of its own, and processors have been seen (AMD Zen 3 and later, `rep
 * movsb`) that copy 20 times slower when the target lies just behind the source, modulo 4096. With
 * whole records that would be so for all of a transfer or for none; like this it is for one of 64.
 */
#define TLS_RECORD       (16384u - 64u)
#define TLS_RECORD_EXTRA 64u   /* what encryption adds, and more */
#define TLS_CONTROL      8192u /* room that is kept for the protocol's own messages */

/* Of `out` while a connection carries little, as most control and side connections do; and what is
 * received into `in` at once. An idle connection has no more than the latter. */
#define TLS_SMALL_BYTES (TLS_RECORD + TLS_RECORD_EXTRA + TLS_CONTROL)
#define TLS_LOOK        4096u

struct tls_bytes {
    uint8_t *bytes;
    size_t capacity, start, end;
};

struct tls_conn {
    struct transport_conn tcp; /* the same descriptor */
    SSL *ssl;
    bool server;
    bool began;                    /* client: TCP is connected */
    bool heard;                    /* the other end has sent something */
    atomic_bool ready;             /* the handshake is done */
    atomic_bool readable;          /* bytes have come that no receive has looked at */
    atomic_bool unsent;            /* messages of the protocol itself wait for the socket */
    atomic_bool stuck;             /* and nothing more can be read before they have left */
    pthread_mutex_t flush, crypto; /* in this order: who writes to the socket; who uses ssl */
    bool drained, ended;           /* what the socket said when it was read straight */
    struct tls_bytes in, out; /* in: the receiver's. out: filled with crypto, sent with flush */
    uint8_t *gather;          /* small pieces that make one record; NULL: none yet */
    size_t accepted;          /* plain bytes that are encrypted, and not told as sent */
    uint64_t records;         /* sent since the key was new */
    _Atomic size_t carried;   /* plain bytes, either way, until they are many */
    uint8_t ticket[TRANSPORT_TICKET_ID + TRANSPORT_TICKET_KEY]; /* the client's */
    bool ticketed;                                              /* no certificates: a ticket */
    struct transport_secret secret; /* the listener's, for its function */
    char host[256];                 /* for people */
    char error_text[300];           /* why it was lost; "" : the peer has ended it */
};

/* Records after which a key is changed, long before AES-GCM wears out (RFC 8446, 5.5). A test sets
 * it lower. */
extern uint64_t tls_key_records;

extern const struct transport_ops transport_tls;

/* ---- tls_context.c: what a connection may be. GA_INVALID with `why`. Give back with SSL_CTX_free.
 */
GA_CHECKED enum ga_status tls_context_listen(const struct transport_secret *secret, SSL_CTX **out,
                                             char *why, size_t why_size);
GA_CHECKED enum ga_status tls_context_connect(const struct transport_secret *secret, SSL_CTX **out,
                                              char *why, size_t why_size);

/* ---- tls_handshake.c; with both locks */
/* Gives the connection its SSL object over `in` and `out`. */
GA_CHECKED enum ga_status tls_ssl_make(struct tls_conn *state, SSL_CTX *context);
/* Goes on with the handshake. GA_OK: done. GA_AGAIN. GA_LOST with state->trouble. */
GA_CHECKED enum ga_status tls_handshake(struct tls_conn *state);
/* Puts into state->trouble what OpenSSL has to say about a failure, in words that help. */
void tls_error_text(struct tls_conn *state);

/* ---- tls_stream.c */
/* The handshake, driven by whoever wants something first; takes both locks. */
GA_CHECKED enum ga_status tls_settle(struct tls_conn *state);
/* As in struct transport_ops */
GA_CHECKED enum ga_status tls_send(struct transport_conn *conn, const struct iovec *pieces,
                                   int count, size_t *sent);
GA_CHECKED enum ga_status tls_receive(struct transport_conn *conn, void *to, size_t size,
                                      size_t *got);
unsigned tls_poll_prepare(struct transport_conn *conn, short wanted, struct pollfd *fds);
/* Sends what is in `out`; with the flush lock, and perhaps the other one, too. */
GA_CHECKED enum ga_status tls_flush(struct tls_conn *state, bool with_crypto);
/* Receives into `in`, which is empty. */
GA_CHECKED enum ga_status tls_fill(struct tls_conn *state);

#endif
