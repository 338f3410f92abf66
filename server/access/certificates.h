/* SPDX-License-Identifier: Apache-2.0 */
/* How long the certificates that gpuaasd uses are valid: its own ([server] tls_cert), and those of
 * the authorities of clients (tls_client_ca). One that is not valid is refused at the start and by
 * a reload; one that ends soon is told in the log each day. */
#ifndef SERVER_ACCESS_CERTIFICATES_H
#define SERVER_ACCESS_CERTIFICATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

struct conf_server;

enum certificates_kind { CERTIFICATE_SERVER, CERTIFICATE_CLIENT_CA, CERTIFICATE_KINDS };

struct certificates {
    struct transport_validity of[CERTIFICATE_KINDS]; /* `until` 0: there is none */
    int64_t told[CERTIFICATE_KINDS];                 /* when the log has said that it ends */
};

/* The word of a kind in metrics, and its key. */
const char *certificates_word(enum certificates_kind kind);
const char *certificates_path(const struct conf_server *server, enum certificates_kind kind);

/* `now` is the time of day, in seconds.
 *
 * Whether the file of the key `key` can be used now. False, with `why`. */
bool certificates_usable(const struct conf_server *server, enum certificates_kind kind, int64_t now,
                         const char **key, char *why, size_t why_size);
/* The files have just been loaded. */
void certificates_loaded(struct certificates *certificates, const struct conf_server *server,
                         int64_t now);
/* To be called each second: tells the log what ends soon, and what has ended. */
void certificates_look(struct certificates *certificates, const struct conf_server *server,
                       int64_t now);
/* Says what is wrong with the server's own; false: it is valid for longer than a day. */
bool certificates_wrong(const struct certificates *certificates, const struct conf_server *server,
                        int64_t now, char *why, size_t why_size);

#endif
