/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4) of bytes that come in pieces: the name of a module's image. It is OpenSSL's,
 * which both ends have for TLS. */
#ifndef TRANSPORT_DIGEST_H
#define TRANSPORT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRANSPORT_DIGEST_BYTES 32u

struct transport_digest;

/* NULL: no memory. The other functions take NULL. */
struct transport_digest *transport_digest_begin(void);
void transport_digest_add(struct transport_digest *digest, const void *bytes, size_t size);
/* Frees the digest. False: there is none, and `out` is not set. */
bool transport_digest_end(struct transport_digest *digest, uint8_t out[TRANSPORT_DIGEST_BYTES]);

#endif
