/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates as OpenSSL has them: made, signed, and as PEM. */
#ifndef AUTH_CERTIFICATE_H
#define AUTH_CERTIFICATE_H

#include <openssl/bio.h>
#include <openssl/x509.h>

#include "auth/ca.h"

#define CERTIFICATE_SKEW_S 300 /* clocks of others may be so much slower */

/* The fields of a certificate that is to be signed. */
struct certificate_subject {
    const char *name; /* commonName */
    const char *uri;  /* NULL: none */
    const char *const *names;
    size_t name_count;
    bool authority, server;
    int64_t begins, ends;
};

/* Functions return NULL, or false, if there is no memory (or OpenSSL fails otherwise). */

/* A name that a server's certificate may have: a DNS name (perhaps "*." in front), an address. */
bool certificate_name_is_valid(const char *name);
/* A certificate for `key`, signed by `signer` with `signer_key`; NULL, and `key` itself: by itself.
 */
X509 *certificate_make(const struct certificate_subject *subject, EVP_PKEY *key, X509 *signer,
                       EVP_PKEY *signer_key);
/* SHA-256 of its DER form. */
bool certificate_hash(const X509 *certificate, uint8_t hash[STORE_HASH_BYTES]);
int64_t certificate_begins(const X509 *certificate);
int64_t certificate_ends(const X509 *certificate);

#endif
