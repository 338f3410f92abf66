/* SPDX-License-Identifier: Apache-2.0 */
/* The TLS handshake, and the reasons of its failures in words. */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handshake.h"
#include "transport/socket.h"
#include "transport/tcp.h"
#include "transport/tls/tls.h"

#define RECORD_HANDSHAKE 0x16 /* the first byte of a TLS handshake */
#define RECORD_ALERT     0x15
#define DRAIN_MAX        16u
#define NO_DEVICE        100 /* the CUresult for a program that greeted without TLS */

/* ---- the two ends of an SSL object */

/* Reads past `in` into OpenSSL's own buffer, which saves a copy of large data. */
static int straight_read(BIO *bio, char *to, int size)
{
    struct tls_conn *state = BIO_get_data(bio);
    size_t got = 0;
    if (atomic_load(&state->ready)) {
        enum ga_status status = transport_tcp.receive(&state->tcp, to, (size_t)size, &got);
        state->drained = status == GA_AGAIN;
        state->ended = status == GA_LOST;
    }
    if (got == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    return (int)got;
}

static int in_read(BIO *bio, char *to, int size)
{
    struct tls_conn *state = BIO_get_data(bio);
    size_t here = state->in.end - state->in.start;
    BIO_clear_retry_flags(bio);
    if (state->messages > TLS_MESSAGES_MAX) {
        snprintf(state->error_text, sizeof state->error_text,
                 "it sends messages of TLS alone, and too many of them");
        return -1;
    }
    if (here == 0) {
        return straight_read(bio, to, size);
    }
    here = here < (size_t)size ? here : (size_t)size;
    memcpy(to, state->in.bytes + state->in.start, here);
    state->in.start += here;
    return (int)here;
}

static int out_write(BIO *bio, const char *from, int size)
{
    struct tls_conn *state = BIO_get_data(bio);
    struct tls_bytes *out = &state->out;
    if (out->bytes == NULL) {
        out->bytes = malloc(TLS_SMALL_BYTES);
        out->capacity = out->bytes != NULL ? TLS_SMALL_BYTES : 0;
    }
    size_t room = out->capacity - out->end;
    BIO_clear_retry_flags(bio);
    if (out->bytes == NULL || room == 0) {
        BIO_set_retry_write(bio);
        return -1;
    }
    room = room < (size_t)size ? room : (size_t)size;
    memcpy(out->bytes + out->end, from, room);
    out->end += room;
    return (int)room;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH; /* tls_flush sends later */
}

static pthread_once_t method_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method;

static void method_make(void)
{
    method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "gpuaas");
    if (method != NULL) {
        (void)BIO_meth_set_read(method, in_read);
        (void)BIO_meth_set_write(method, out_write);
        (void)BIO_meth_set_ctrl(method, bio_control);
    }
}

void tls_message(int sent, int version, int type, const void *bytes, size_t size, SSL *ssl,
                 void *user)
{
    struct tls_conn *state = SSL_get_app_data(ssl);
    (void)version, (void)user;
    if (!sent && type == SSL3_RT_HANDSHAKE) {
        state->messages++;
    }
    if (sent && type == SSL3_RT_HANDSHAKE && size != 0 &&
        *(const uint8_t *)bytes == SSL3_MT_FINISHED) {
        atomic_store(&state->finished, true);
    }
}

/* ---- beginning */

/* Sets the name or address that the certificate must be for. */
static bool expect_host(SSL *ssl, const char *host)
{
    uint8_t binary[16];
    if (inet_pton(AF_INET, host, binary) == 1 || inet_pton(AF_INET6, host, binary) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

enum ga_status tls_ssl_make(struct tls_conn *state, SSL_CTX *context)
{
    (void)pthread_once(&method_once, method_make);
    free(state->in.bytes); /* of a try that has failed */
    state->in = (struct tls_bytes){.bytes = malloc(TLS_LOOK), .capacity = TLS_LOOK};
    if (state->in.bytes == NULL) {
        return GA_NO_MEMORY;
    }
    BIO *bio = method != NULL ? BIO_new(method) : NULL;
    state->ssl = bio != NULL ? SSL_new(context) : NULL;
    if (state->ssl == NULL) {
        BIO_free(bio);
        return GA_NO_MEMORY;
    }
    BIO_set_data(bio, state);
    BIO_set_init(bio, 1);
    SSL_set_bio(state->ssl, bio, bio);
    SSL_set_app_data(state->ssl, state);
    if (state->server) {
        SSL_set_accept_state(state->ssl);
        return GA_OK;
    }
    SSL_set_connect_state(state->ssl);
    return state->ticketed || expect_host(state->ssl, state->host) ? GA_OK : GA_NO_MEMORY;
}

/* ---- failures */

/* Explains a rejected certificate of the other end. */
static void certificate_error(struct tls_conn *state, long verdict)
{
    const char *text = X509_verify_cert_error_string(verdict);
    const char *whose = state->server ? "the client's" : "its";
    char *out = state->error_text;
    const size_t size = sizeof state->error_text;
    switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        snprintf(out, size, "%s certificate has expired: a new one must be made", whose);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        snprintf(out, size, "%s certificate is not valid yet: one of the two clocks must be wrong",
                 whose);
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        snprintf(out, size,
                 "its certificate is not for the name \"%.100s\": write a name of the certificate "
                 "in GPUAAS_SERVERS, or give the server a certificate for this one",
                 state->host);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        snprintf(out, size, "%s certificate is from no authority that is trusted here: %s", whose,
                 state->server ? "tls_client_ca names those for clients"
                               : "name the file with the authority's certificate in GPUAAS_CA");
        break;
    default:
        snprintf(out, size, "%s certificate is not accepted: %s", whose, text);
        break;
    }
}

static const char *ticket_words(const struct tls_conn *state, int code)
{
    if (!state->server) {
        return code > SSL_AD_REASON_OFFSET ? "the ticket is refused" : NULL;
    }
    return atomic_load(&state->ready)             ? NULL
           : code == SSL_R_BINDER_DOES_NOT_VERIFY ? "it does not know the key of its ticket"
                                                  : "it has shown no ticket that is good here";
}

/* Cause and cure of the other end's alert. NULL: OpenSSL's own text is as good. */
static const char *alert_words(const struct tls_conn *state, int code)
{
    switch (code) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return "it wants a certificate of this client: name its files in GPUAAS_CERT and "
               "GPUAAS_KEY";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return state->server
                   ? "the client does not know the authority of our certificate (its GPUAAS_CA)"
                   : "it does not know the authority of this client's certificate (GPUAAS_CERT, "
                     "and tls_client_ca there)";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return state->server ? "the client finds our certificate expired (tls_cert)"
                             : "this client's certificate (GPUAAS_CERT) has expired";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        return state->server ? "the client does not accept our certificate: is its name another?"
                             : "it does not accept this client's certificate (GPUAAS_CERT)";
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
        return "it does not speak TLS 1.3";
    default:
        return NULL;
    }
}

void tls_error_text(struct tls_conn *state)
{
    long verdict = SSL_get_verify_result(state->ssl);
    unsigned long error = ERR_peek_last_error();
    int code = ERR_GET_REASON(error);
    const char *words = state->ticketed ? ticket_words(state, code) : alert_words(state, code);
    const char *text = ERR_reason_error_string(error);
    if (state->error_text[0] != 0) {
        return;
    }
    if (verdict != X509_V_OK && !state->ticketed && code == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        certificate_error(state, verdict);
    } else if (words != NULL) {
        snprintf(state->error_text, sizeof state->error_text, "%s", words);
    } else {
        snprintf(state->error_text, sizeof state->error_text, "TLS: %s",
                 text != NULL ? text : "an error without a name");
    }
}

/* Answers a program that does not use TLS in our protocol, so that it can report the reason. */
static void plain_refuse(struct tls_conn *state)
{
    _Alignas(16) uint8_t frame[sizeof(struct wire_header) + 256];
    struct ga_writer writer = ga_writer_of(frame + sizeof(struct wire_header), 256);
    const struct handshake_refused refused = {
        .result = NO_DEVICE,
        .reason = "it speaks TLS alone on this port: write tls:// in front of its name"};
    handshake_refused_write(&writer, &refused);
    const struct wire_header header = {.length = (uint32_t)writer.at, .opcode = WIRE_REFUSED};
    memcpy(frame, &header, sizeof header);
    struct iovec piece = {frame, sizeof header + writer.at};
    size_t sent;
    (void)!socket_send(state->tcp.fd, &piece, 1, &sent);
}

/* Checks by the first byte whether the other end speaks TLS. */
static enum ga_status first_byte(struct tls_conn *state)
{
    uint8_t first = state->in.bytes[0];
    if (first == RECORD_HANDSHAKE || first == RECORD_ALERT) {
        return GA_OK;
    }
    if (state->server) {
        plain_refuse(state);
    }
    snprintf(state->error_text, sizeof state->error_text, "%s",
             state->server ? "the client speaks no TLS, and this port nothing else"
                           : "it speaks no TLS on this port: leave tls:// out, if what lies "
                             "between can be trusted");
    return GA_LOST;
}

/* ---- going on; with both locks */

static enum ga_status handshake_fill(struct tls_conn *state)
{
    bool first = !state->heard;
    enum ga_status status = tls_fill(state);
    if (status == GA_LOST && state->error_text[0] == 0) {
        snprintf(state->error_text, sizeof state->error_text,
                 "it closed the connection in the TLS handshake%s",
                 first && !state->server && !state->ticketed
                     ? ": perhaps it speaks no TLS on this port (then leave tls:// out)"
                     : "");
    }
    if (status == GA_OK && first) {
        state->heard = true;
        status = first_byte(state);
    }
    return status;
}

/* Checks what the handshake has proved: a ticket proves no certificate. */
static enum ga_status handshake_end(struct tls_conn *state)
{
    if (state->ticketed && SSL_session_reused(state->ssl) != 1) {
        snprintf(state->error_text, sizeof state->error_text, "the ticket is refused");
        return GA_LOST;
    }
    OPENSSL_cleanse(state->ticket, sizeof state->ticket);
    atomic_store(&state->readable,
                 state->in.start != state->in.end || SSL_has_pending(state->ssl) != 0);
    atomic_store(&state->ready, true);
    return GA_OK;
}

/* Reads the remaining bytes: unread ones would turn the close into a reset, which discards our
 * last bytes. */
static void drain(struct tls_conn *state)
{
    for (unsigned i = 0; i < DRAIN_MAX && tls_fill(state) == GA_OK; i++) {
    }
}

enum ga_status tls_handshake(struct tls_conn *state)
{
    for (;;) {
        ERR_clear_error();
        int rc = SSL_do_handshake(state->ssl);
        int error = SSL_get_error(state->ssl, rc);
        enum ga_status status = tls_flush(state, true);
        atomic_store(&state->unsent, status == GA_AGAIN);
        if (rc == 1) {
            return handshake_end(state);
        }
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
            tls_error_text(state);
            drain(state);
            return GA_LOST;
        }
        if (status == GA_AGAIN || error == SSL_ERROR_WANT_WRITE) {
            return status == GA_LOST ? GA_LOST : GA_AGAIN;
        }
        GA_TRY(handshake_fill(state)); /* even if lost: it may tell why */
    }
}
