/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the other end of a TLS connection is: what its certificate says. */
#include <ctype.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "transport/tls/tls.h"

#define URI_START "gpuaas://"

static bool digest_of(const uint8_t *bytes, int size, uint8_t out[TRANSPORT_DIGEST_BYTES])
{
    struct transport_digest *digest = size > 0 ? transport_digest_begin() : NULL;
    transport_digest_add(digest, bytes, size > 0 ? (size_t)size : 0);
    return transport_digest_end(digest, out);
}

static bool digests_of(const X509 *certificate, struct transport_identity *out)
{
    uint8_t *whole = NULL, *key = NULL;
    int whole_bytes = i2d_X509(certificate, &whole);
    int key_bytes = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    bool made =
        digest_of(whole, whole_bytes, out->certificate) && digest_of(key, key_bytes, out->key);
    OPENSSL_free(whole);
    OPENSSL_free(key);
    return made;
}

/* An authority that is not ours may have signed anything. */
static bool uri_is_ours(const ASN1_IA5STRING *text)
{
    const char *at = (const char *)ASN1_STRING_get0_data(text);
    int length = ASN1_STRING_length(text);
    bool ours = length >= (int)strlen(URI_START) && length < TRANSPORT_URI_BYTES &&
                memcmp(at, URI_START, strlen(URI_START)) == 0;
    for (int i = 0; ours && i < length; i++) {
        ours = isgraph((unsigned char)at[i]);
    }
    return ours;
}

/* With several there would be a choice of who it is. */
static void uri_of(const X509 *certificate, char uri[TRANSPORT_URI_BYTES])
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    unsigned found = 0;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_URI && uri_is_ours(name->d.uniformResourceIdentifier)) {
            const ASN1_IA5STRING *text = name->d.uniformResourceIdentifier;
            size_t length = (size_t)ASN1_STRING_length(text);
            memcpy(uri, ASN1_STRING_get0_data(text), length);
            uri[length] = 0;
            found++;
        }
    }
    if (found != 1) {
        uri[0] = 0;
    }
    GENERAL_NAMES_free(names);
}

/* The peer has shown in the handshake that it has the private key of its certificate. */
bool tls_identify(const struct transport_conn *conn, struct transport_identity *out)
{
    struct tls_conn *state = conn->state;
    X509 *certificate = NULL;
    pthread_mutex_lock(&state->crypto);
    if (state->server && atomic_load(&state->ready) &&
        (SSL_get_verify_mode(state->ssl) & SSL_VERIFY_PEER) != 0 &&
        SSL_get_verify_result(state->ssl) == X509_V_OK) {
        certificate = SSL_get1_peer_certificate(state->ssl);
    }
    pthread_mutex_unlock(&state->crypto);
    if (certificate == NULL) {
        return false;
    }
    out->proof = TRANSPORT_PROVES_KEY;
    bool known = digests_of(certificate, out);
    uri_of(certificate, out->uri);
    X509_free(certificate);
    return known;
}
