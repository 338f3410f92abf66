/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.3 over TCP: the shared header of its files (inside transport/).
 *
 * Only one thread at a time may use an SSL object, but a connection has a thread that sends and
 * one that receives. OpenSSL therefore leaves encrypted bytes in `out`, which is sent without
 * the lock of the SSL object, and a thread that waits for bytes receives them into `in` without
 * that lock. */
#ifndef TRANSPORT_TLS_TLS_H
#define TRANSPORT_TLS_TLS_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "transport/transport.h"

/* Plain bytes of a record: a cache line less than the maximum. OpenSSL copies each record
 * between the caller's memory and its own. Some processors (AMD Zen 3 and later, `rep movsb`)
 * copy 20 times slower if the target is just behind the source, modulo 4096. Whole records would
 * make this true for all of a transfer or for none; with this size it is true for one record of
 * 64. */
#define TLS_RECORD       (16384u - 64u)
#define TLS_RECORD_EXTRA 64u   /* at least what encryption adds */
#define TLS_CONTROL      8192u /* room for the protocol's own messages */

/* The size of `out` while a connection carries little, as most control and side connections do,
 * and of one receive into `in`. An idle connection has no more than the latter. */
#define TLS_SMALL_BYTES (TLS_RECORD + TLS_RECORD_EXTRA + TLS_CONTROL)
#define TLS_LOOK        4096u

struct tls_bytes {
    uint8_t *bytes;
    size_t capacity, start, end;
};

struct tls_conn {
    struct transport_conn tcp; /* the same descriptor */
    SSL *ssl;                  /* a server's: NULL until the other end has said something */
    SSL_CTX *context;          /* a server's, for `ssl`; owned */
    bool server;
    bool began;                    /* client: TCP is connected */
    bool heard;                    /* the other end has sent something */
    atomic_bool finished;          /* we have sent our part of the handshake, signed if need be */
    atomic_bool ready;             /* the handshake is done */
    atomic_bool readable;          /* bytes have arrived that no receive has seen */
    atomic_bool unsent;            /* messages of the protocol itself wait for the socket */
    atomic_bool stuck;             /* nothing more can be read until they have been sent */
    pthread_mutex_t flush, crypto; /* in this order: for writing to the socket; for using ssl */
    bool drained, ended;           /* results of reading the socket directly */
    struct tls_bytes in, out; /* in: the receiver's. out: filled with crypto, sent with flush */
    uint8_t *gather;          /* collects small pieces into a record; NULL: none yet */
    size_t accepted;          /* plain bytes that are encrypted, but not reported as sent */
    uint64_t records;         /* records sent with the current key */
    unsigned messages;        /* of the protocol itself, that have come */
    size_t messages_bytes;    /* plain bytes that have come with them; both begin anew */
    _Atomic size_t carried;   /* plain bytes of both directions, until they are many */
    uint8_t ticket[TRANSPORT_TICKET_ID + TRANSPORT_TICKET_KEY]; /* the client's */
    bool ticketed;                  /* a ticket instead of certificates */
    struct transport_secret secret; /* the listener's, for its ticket function */
    char host[256];                 /* for people */
    char error_text[300];           /* why the connection was lost; "": the peer has ended it */
};

/* Records after which the key is changed, long before the limit of AES-GCM (RFC 8446, 5.5). A
 * test sets it lower. */
extern uint64_t tls_key_records;

/* Most messages of the protocol (a handshake has some six, then key updates; a client passes over
 * hello requests) for so many plain bytes. OpenSSL goes on reading behind one, so a receive would
 * last as long as the other end sends them. */
#define TLS_MESSAGES_MAX   32u
#define TLS_MESSAGES_BYTES (64u << 10)

extern const struct transport_ops transport_tls;

/* ---- tls_provider.c */
/* Makes fewer of OpenSSL's algorithms ready, where that is possible. Once, before any is used. */
void tls_provider_start(void);

/* ---- tls_context.c: credentials */
/* GA_INVALID with `why`. Freed by SSL_CTX_free. */
GA_CHECKED enum ga_status tls_context_listen(const struct transport_secret *secret, SSL_CTX **out,
                                             char *why, size_t why_size);
/* As in struct transport_ops: the context of all listeners of tickets. */
void tls_prepare(void);
/* The context of all connections that this process begins, without credentials. NULL with `why`. */
SSL_CTX *tls_context_connect(char *why, size_t why_size);
/* Gives such a connection its credentials; a ticket is that of its struct tls_conn. GA_INVALID and
 * GA_NO_MEMORY with `why`. */
GA_CHECKED enum ga_status tls_secret_load(SSL *ssl, const struct transport_secret *secret,
                                          char *why, size_t why_size);

/* ---- tls_identity.c: as in struct transport_ops */
bool tls_identify(const struct transport_conn *conn, struct transport_identity *out);

/* ---- tls_handshake.c; with both locks */
/* Makes the connection's SSL object over `in` and `out`, and `in`. */
GA_CHECKED enum ga_status tls_ssl_make(struct tls_conn *state, SSL_CTX *context);
/* Continues the handshake. GA_OK: done. GA_AGAIN. GA_LOST with state->error_text. */
GA_CHECKED enum ga_status tls_handshake(struct tls_conn *state);
/* Writes OpenSSL's reason of a failure, in helpful words, into state->error_text. */
void tls_error_text(struct tls_conn *state);

/* OpenSSL tells it each message; counts those that come. */
void tls_message(int sent, int version, int type, const void *bytes, size_t size, SSL *ssl,
                 void *user);

/* ---- tls_stream.c */
/* The handshake, driven by the first operation, for which there should be bytes at a server; takes
 * both locks. */
GA_CHECKED enum ga_status tls_settle(struct tls_conn *state);
/* As in struct transport_ops */
GA_CHECKED enum ga_status tls_send(struct transport_conn *conn, const struct iovec *pieces,
                                   int count, size_t *sent);
GA_CHECKED enum ga_status tls_receive(struct transport_conn *conn, void *to, size_t size,
                                      size_t *got);
unsigned tls_poll_prepare(struct transport_conn *conn, short wanted, struct pollfd *fds);
/* Sends `out`. The flush lock is held, and perhaps the crypto lock. */
GA_CHECKED enum ga_status tls_flush(struct tls_conn *state, bool with_crypto);
/* Receives into `in`, which is empty. */
GA_CHECKED enum ga_status tls_fill(struct tls_conn *state);

#endif
