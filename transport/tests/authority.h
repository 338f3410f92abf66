/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for tests: an authority and the certificates that it signs, in files. */
#ifndef TRANSPORT_TESTS_AUTHORITY_H
#define TRANSPORT_TESTS_AUTHORITY_H

#include <openssl/x509.h>

struct authority {
    EVP_PKEY *key;
    X509 *certificate;
    char path[128];
};

/* Writes `folder`/`name`.pem. */
void authority_make(struct authority *authority, const char *folder, const char *name);
void authority_free(struct authority *authority);
/* Writes `folder`/`name`.pem and .key; good for `from_s` to `until_s`, in seconds from now.
 * `names`: as "DNS:localhost,IP:127.0.0.1". */
void authority_sign(const struct authority *authority, const char *folder, const char *name,
                    const char *names, long from_s, long until_s);

#endif
