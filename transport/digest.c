/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by OpenSSL, which picks the processor's instructions for it. By its older functions: the
 * newer ones (EVP) look the algorithm up in the library's own tables first, and crash where there
 * was no memory to make these. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "transport/digest.h"

#include <openssl/sha.h>
#include <stdlib.h>

struct transport_digest {
    SHA256_CTX state;
};

struct transport_digest *transport_digest_begin(void)
{
    struct transport_digest *digest = calloc(1, sizeof *digest);
    if (digest != NULL) {
        (void)SHA256_Init(&digest->state);
    }
    return digest;
}

void transport_digest_add(struct transport_digest *digest, const void *bytes, size_t size)
{
    if (digest != NULL) {
        (void)SHA256_Update(&digest->state, bytes, size);
    }
}

bool transport_digest_end(struct transport_digest *digest, uint8_t out[TRANSPORT_DIGEST_BYTES])
{
    if (digest == NULL) {
        return false;
    }
    if (out != NULL) {
        (void)SHA256_Final(out, &digest->state);
    }
    free(digest);
    return out != NULL;
}
