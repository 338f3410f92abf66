/* SPDX-License-Identifier: Apache-2.0 */
/* Our own certificate authority; a part of auth.h.
 *
 * It is a folder (mode 0700) with two files: `ca.key`, the private key with its certificate, and
 * `ca.pem`, the bundle that servers and clients get: the certificate in use and earlier ones that
 * have not ended. Files are made under another name and renamed, so that a crash leaves the old one
 * or the new one.
 *
 * Keys are P-256. Certificates of tenants and administrators have one URI (auth_uri_write) and are
 * for clients; those of servers have names and addresses and are for servers. All are entered in
 * the store by their SHA-256: one that the store does not know admits nobody. */
#ifndef AUTH_CA_H
#define AUTH_CA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "store/store.h"

#define AUTH_CA_YEARS     10  /* the life of the authority's own certificate */
#define AUTH_CA_NAMES_MAX 32u /* names and addresses of a server's certificate */
#define AUTH_CERT_DAYS    90  /* what people get who say nothing */

/* Makes the folder, or uses an empty one. GA_CONFLICT: there is an authority already. `name` is for
 * people: "gpuaas of the physics department". */
GA_CHECKED enum ga_status auth_ca_init(const char *folder, const char *name, int64_t now, char *why,
                                       size_t why_size);
/* Makes a new key. The old certificate stays in the bundle: what it has signed is valid until it
 * ends. GA_NOT_FOUND: there is no authority.
 * Note: a client knows the new one only when it has the new bundle; servers should get certificates
 * of the new one after that. */
GA_CHECKED enum ga_status auth_ca_rotate(const char *folder, int64_t now, char *why,
                                         size_t why_size);

struct auth_ca_facts {
    char name[STORE_TEXT_MAX + 1];
    int64_t begins, ends;
    uint8_t hash[STORE_HASH_BYTES]; /* SHA-256 of the certificate in use */
    unsigned earlier;               /* further certificates of the bundle */
};

GA_CHECKED enum ga_status auth_ca_show(const char *folder, struct auth_ca_facts *out, char *why,
                                       size_t why_size);

struct auth_cert_request {
    enum store_scope scope;
    const char *tenant;       /* of a tenant's */
    const char *user;         /* "": none */
    const char *name;         /* an administrator's name; else for people */
    const char *const *names; /* of a server: DNS names and IP addresses; at least one */
    size_t name_count;
    int64_t ttl_s; /* at least a minute, and not beyond the authority's own end */
};

/* Makes a key and a certificate (PEM) in the files `cert` and `key`, which must not be there; NULL:
 * they are lost, as for a trial. The
 * key has mode 0600; `cert` holds no secret. Enters the certificate in the store. If something
 * fails, nothing is valid. Statuses as of store_credential_put; GA_NOT_FOUND: also no authority;
 * GA_CONFLICT: also a file is there; GA_NO_MEMORY: also the disk is full. */
GA_CHECKED enum ga_status auth_cert_issue(const char *folder, struct store *store,
                                          const struct auth_cert_request *request, int64_t now,
                                          const char *cert, const char *key,
                                          struct store_credential *out, char *why, size_t why_size);

#endif
