/* SPDX-License-Identifier: Apache-2.0 */
/* The client's environment variables. api/environment.def is the only list of them; it has their
 * values, defaults and limits. */
#ifndef CLIENT_PROCESS_ENVIRONMENT_H
#define CLIENT_PROCESS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

#define ENVIRONMENT_SERVERS "GPUAAS_SERVERS"

/* Reads GPUAAS_DEAD_AFTER, GPUAAS_CONNECT_TIMEOUT, GPUAAS_TRANSPORT, GPUAAS_COMPRESSION,
 * GPUAAS_CLIENT_CACHE and GPUAAS_TRACE, and warns of each wrong value. The functions below that
 * give one of them must be called after it. */
void client_environment_apply(void);
/* GPUAAS_DEAD_AFTER: seconds without a sign of life after which a server counts as gone. */
unsigned client_environment_dead_after_s(void);
/* GPUAAS_CONNECT_TIMEOUT: seconds to wait for the greeting of a server that has taken the
 * connection. */
unsigned client_environment_connect_s(void);
/* GPUAAS_TRANSPORT, in the order of the words in the table: which way data goes. If that way is
 * not possible, data goes over TCP. */
enum client_transport {
    CLIENT_TRANSPORT_AUTO, /* the fastest: shared memory, then RDMA, then TCP */
    CLIENT_TRANSPORT_RDMA,
    CLIENT_TRANSPORT_TCP, /* TLS if the server is reached by tls:// */
    CLIENT_TRANSPORT_TLS, /* servers that are not reached by tls:// are refused */
};
enum client_transport client_environment_transport(void);
/* GPUAAS_COMPRESSION, in the order of the words in the table. */
enum compression_mode client_environment_compression(void);
/* GPUAAS_CLIENT_CACHE: the most freed bytes of each device that are kept. UINT64_MAX: unset. */
uint64_t client_environment_cache_bytes(void);

/* GPUAAS_TOKEN, or the token for this server in the file that GPUAAS_TOKEN_FILE names; valid until
 * the next call. NULL: none. Not every server may be told: see servers.c. */
const char *client_environment_token(const char *host, const char *port);
/* GPUAAS_TOKEN_IN_CLEAR: servers are told even where the network could overhear it. */
bool client_environment_token_in_clear(void);
/* GPUAAS_CERT, GPUAAS_KEY, GPUAAS_CA: files, for connections to tls:// servers. */
const struct transport_secret *client_environment_secret(void);

#endif
