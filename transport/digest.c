/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by OpenSSL, which picks the processor's instructions for it. */
#include "transport/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

struct transport_digest {
    EVP_MD_CTX *context;
    bool failed;
};

/* OpenSSL as a guest: see library_start in tls/tls_context.c. This may be its first call. */
static bool digest_library_start(void)
{
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1;
}

struct transport_digest *transport_digest_begin(void)
{
    struct transport_digest *digest = calloc(1, sizeof *digest);
    if (digest == NULL || !digest_library_start() || (digest->context = EVP_MD_CTX_new()) == NULL ||
        EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1) {
        (void)transport_digest_end(digest, NULL);
        return NULL;
    }
    return digest;
}

void transport_digest_add(struct transport_digest *digest, const void *bytes, size_t size)
{
    if (digest != NULL) {
        digest->failed |= EVP_DigestUpdate(digest->context, bytes, size) != 1;
    }
}

bool transport_digest_end(struct transport_digest *digest, uint8_t out[TRANSPORT_DIGEST_BYTES])
{
    if (digest == NULL) {
        return false;
    }
    uint8_t made[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    bool good = out != NULL && !digest->failed &&
                EVP_DigestFinal_ex(digest->context, made, &size) == 1 &&
                size == TRANSPORT_DIGEST_BYTES;
    for (unsigned i = 0; good && i < size; i++) {
        out[i] = made[i];
    }
    EVP_MD_CTX_free(digest->context);
    free(digest);
    return good;
}
