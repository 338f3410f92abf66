/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials: certificates from files, or tickets. Only TLS 1.3, and no session resumption: a
 * connection costs one round trip more than TCP's and lives as long as its program.
 *
 * Note: to start OpenSSL and to make a context costs more than a handshake, so a process starts no
 * more of it than it needs, and its clients share one context. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/private_file.h"
#include "transport/tls/tls.h"

#define SUITES "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"

#define READ_BYTES 132000u /* eight records, which OpenSSL reads from the socket at once */

/* Certificates may be signed with these. OpenSSL looks them up by name, in a table of its own. */
static bool digests_name(void)
{
    return EVP_add_digest(EVP_sha1()) == 1 && EVP_add_digest(EVP_sha224()) == 1 &&
           EVP_add_digest(EVP_sha256()) == 1 && EVP_add_digest(EVP_sha384()) == 1 &&
           EVP_add_digest(EVP_sha512()) == 1;
}

/* Starts OpenSSL as a guest: without work at exit, without the machine's configuration file, and
 * without the names of all algorithms. Must be the first call of OpenSSL, because any other call
 * would start the library with defaults. */
static bool library_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint64_t less = OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS;
    if (OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG | less, NULL) != 1) {
        return false;
    }
    (void)pthread_once(&once, tls_provider_start);
    return digests_name();
}

static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text != NULL ? text : "OpenSSL does not say why";
}

/* Nobody can be asked for a password. */
static int no_password(char *buffer, int size, int writing, void *user)
{
    (void)buffer, (void)size, (void)writing, (void)user;
    return -1;
}

static SSL_CTX *context_new(bool server, char *why, size_t why_size)
{
    SSL_CTX *context = NULL;
    if (library_start()) {
        ERR_clear_error();
        context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    }
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, SUITES) != 1) {
        snprintf(why, why_size, "OpenSSL does not start: %s", reason());
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_BYTES);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    (void)SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_msg_callback(context, tls_message);
    return context;
}

/* ---- certificates */

static enum ga_status file_error(const char *what, const char *path, char *why, size_t why_size)
{
    bool there = access(path, R_OK) == 0;
    snprintf(why, why_size, "cannot use the %s in %s: %s", what, path,
             there ? reason() : strerror(errno));
    return GA_INVALID;
}

/* The owner's key and certificate are for one listener, or for one connection. */
struct tls_owner {
    SSL_CTX *context; /* NULL: `ssl` */
    SSL *ssl;
};

static bool chain_use(const struct tls_owner *owner, const char *path)
{
    return owner->context != NULL ? SSL_CTX_use_certificate_chain_file(owner->context, path) == 1
                                  : SSL_use_certificate_chain_file(owner->ssl, path) == 1;
}

static bool key_use(const struct tls_owner *owner, const char *path)
{
    return owner->context != NULL
               ? SSL_CTX_use_PrivateKey_file(owner->context, path, SSL_FILETYPE_PEM) == 1
               : SSL_use_PrivateKey_file(owner->ssl, path, SSL_FILETYPE_PEM) == 1;
}

static enum ga_status identity_load(const struct tls_owner *owner,
                                    const struct transport_secret *secret, char *why,
                                    size_t why_size)
{
    if ((secret->cert == NULL) != (secret->key == NULL)) {
        snprintf(why, why_size, "a certificate needs its key, and a key its certificate");
        return GA_INVALID;
    }
    if (secret->cert == NULL) {
        return GA_OK;
    }
    if (ga_file_lacks(secret->key, GA_FILE_OF_KEY)) {
        snprintf(why, why_size, "%s holds no private key (PEM): is it the right file?",
                 secret->key);
        return GA_INVALID;
    }
    if (!ga_file_is_private(secret->key)) { /* a reader of it can speak in its owner's name */
        snprintf(why, why_size,
                 "every user may read or change %s, which holds a private key: chmod o= %s",
                 secret->key, secret->key);
        return GA_INVALID;
    }
    if (!chain_use(owner, secret->cert)) {
        return file_error("certificate", secret->cert, why, why_size);
    }
    if (!key_use(owner, secret->key)) {
        return file_error("key (of that certificate, and without a password)", secret->key, why,
                          why_size);
    }
    return GA_OK;
}

static enum ga_status listener_load(SSL_CTX *context, const struct transport_secret *secret,
                                    char *why, size_t why_size)
{
    const struct tls_owner owner = {.context = context};
    /* Programs show tokens here; where they show tickets, they send data. */
    SSL_CTX_set_options(context, SSL_OP_CLEANSE_PLAINTEXT);
    GA_TRY(identity_load(&owner, secret, why, why_size));
    if (secret->ca != NULL && SSL_CTX_load_verify_file(context, secret->ca) != 1) {
        return file_error("certificates of authorities", secret->ca, why, why_size);
    }
    int demand = secret->optional ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(context, secret->ca != NULL ? SSL_VERIFY_PEER | demand : SSL_VERIFY_NONE,
                       NULL);
    return GA_OK;
}

/* Trusts `ca`, else the machine's authorities. */
static enum ga_status authorities_load(SSL *ssl, const char *ca, char *why, size_t why_size)
{
    X509_STORE *store = X509_STORE_new();
    if (store == NULL || SSL_set1_verify_cert_store(ssl, store) != 1 ||
        SSL_set1_chain_cert_store(ssl, store) != 1) {
        X509_STORE_free(store);
        snprintf(why, why_size, "no memory");
        return GA_NO_MEMORY;
    }
    X509_STORE_free(store); /* the connection has it */
    if (ca != NULL && X509_STORE_load_file(store, ca) != 1) {
        return file_error("certificates of authorities", ca, why, why_size);
    }
    if (ca == NULL) {
        (void)X509_STORE_set_default_paths(store);
    }
    return GA_OK;
}

/* ---- tickets: external keys (RFC 8446, 4.2.11), with fresh Diffie-Hellman keys besides */

static SSL_SESSION *ticket_session(SSL *ssl, const uint8_t *key)
{
    static const unsigned char suite[] = {0x13, 0x01}; /* TLS_AES_128_GCM_SHA256 */
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session == NULL || cipher == NULL ||
        SSL_SESSION_set1_master_key(session, key, TRANSPORT_TICKET_KEY) != 1 ||
        SSL_SESSION_set_cipher(session, cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
        SSL_SESSION_free(session);
        return NULL;
    }
    return session;
}

static int ticket_show(SSL *ssl, const EVP_MD *digest, const unsigned char **id, size_t *id_size,
                       SSL_SESSION **session)
{
    const struct tls_conn *state = SSL_get_app_data(ssl);
    *session = NULL;
    if (digest != NULL && !EVP_MD_is_a(digest, "SHA256")) {
        return 0; /* the server chose a cipher that the key is not for */
    }
    *session = ticket_session(ssl, state->ticket + TRANSPORT_TICKET_ID);
    *id = state->ticket;
    *id_size = TRANSPORT_TICKET_ID;
    return *session != NULL;
}

static int tls_ticket_find(SSL *ssl, const unsigned char *id, size_t id_size, SSL_SESSION **session)
{
    const struct tls_conn *state = SSL_get_app_data(ssl);
    uint8_t key[TRANSPORT_TICKET_KEY];
    *session = NULL;
    if (id_size != TRANSPORT_TICKET_ID ||
        !state->secret.ticket(state->secret.user, (const uint8_t *)id, key)) {
        return 1; /* continues, and fails because there is no certificate */
    }
    *session = ticket_session(ssl, key);
    OPENSSL_cleanse(key, sizeof key);
    return *session != NULL;
}

/* ---- both */

/* That of all listeners of tickets, whose tickets are those of their connections. Never freed. */
static SSL_CTX *context_of_tickets(char *why, size_t why_size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static SSL_CTX *made;
    pthread_mutex_lock(&lock);
    if (made == NULL && (made = context_new(true, why, why_size)) != NULL) {
        SSL_CTX_set_psk_find_session_callback(made, tls_ticket_find);
    }
    SSL_CTX *context = made;
    pthread_mutex_unlock(&lock);
    return context;
}

void tls_prepare(void)
{
    char why[300];
    if (context_of_tickets(why, sizeof why) == NULL) {
        ga_debug("TLS cannot be prepared: %s", why); /* code that needs it gets an error */
    }
}

enum ga_status tls_context_listen(const struct transport_secret *secret, SSL_CTX **out, char *why,
                                  size_t why_size)
{
    if (secret == NULL || (secret->ticket == NULL && secret->cert == NULL)) {
        snprintf(why, why_size, "TLS needs a certificate and its key");
        return GA_INVALID;
    }
    if (secret->ticket != NULL) {
        *out = context_of_tickets(why, why_size);
        return *out != NULL && SSL_CTX_up_ref(*out) == 1 ? GA_OK : GA_INVALID;
    }
    SSL_CTX *context = context_new(true, why, why_size);
    enum ga_status status =
        context != NULL ? listener_load(context, secret, why, why_size) : GA_INVALID;
    if (status != GA_OK) {
        SSL_CTX_free(context);
        return status;
    }
    *out = context;
    return GA_OK;
}

/* It trusts nobody: authorities are those of a connection. Never freed. */
SSL_CTX *tls_context_connect(char *why, size_t why_size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static SSL_CTX *made;
    pthread_mutex_lock(&lock);
    if (made == NULL && (made = context_new(false, why, why_size)) != NULL) {
        SSL_CTX_set_verify(made, SSL_VERIFY_PEER, NULL);
    }
    SSL_CTX *context = made;
    pthread_mutex_unlock(&lock);
    return context;
}

enum ga_status tls_secret_load(SSL *ssl, const struct transport_secret *secret, char *why,
                               size_t why_size)
{
    static const struct transport_secret none;
    secret = secret != NULL ? secret : &none;
    if (secret->ticket_id != NULL) { /* and certificates are rejected */
        SSL_set_psk_use_session_callback(ssl, ticket_show);
        return GA_OK;
    }
    const struct tls_owner owner = {.ssl = ssl};
    GA_TRY(identity_load(&owner, secret, why, why_size));
    return authorities_load(ssl, secret->ca, why, why_size);
}

static bool tls_time_read(const ASN1_TIME *time, int64_t *seconds)
{
    struct tm tm;
    bool good = ASN1_TIME_to_tm(time, &tm) == 1;
    *seconds = good ? (int64_t)timegm(&tm) : 0;
    return good;
}

/* The later, or the earlier one. */
static int64_t tls_time_pick(int64_t a, int64_t b, bool later)
{
    return (a > b) == later ? a : b;
}

bool transport_certificates_look(const char *path, bool any, struct transport_validity *out)
{
    FILE *file = fopen(path, "re");
    X509 *certificate;
    bool found = false;
    while (file != NULL && (certificate = PEM_read_X509(file, NULL, no_password, NULL)) != NULL) {
        struct transport_validity one;
        if (tls_time_read(X509_get0_notBefore(certificate), &one.from) &&
            tls_time_read(X509_get0_notAfter(certificate), &one.until)) {
            out->from = found ? tls_time_pick(out->from, one.from, !any) : one.from;
            out->until = found ? tls_time_pick(out->until, one.until, any) : one.until;
            found = true;
        }
        X509_free(certificate);
    }
    ERR_clear_error(); /* the end of the file is one */
    if (file != NULL) {
        fclose(file);
    }
    return found;
}
