/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says; read once. */
#ifndef CLIENT_PROCESS_ENVIRONMENT_H
#define CLIENT_PROCESS_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

#define ENVIRONMENT_SERVERS "GPUAAS_SERVERS"

/* GPUAAS_TOKEN, or the first line of the file that GPUAAS_TOKEN_FILE names. NULL: none. The text
 * stays valid. Not for every server: see servers.c. */
const char *client_environment_token(void);
/* GPUAAS_DEAD_AFTER: seconds without a sign of life after which a server counts as gone. */
unsigned client_environment_dead_after_s(void);
/* GPUAAS_TRANSPORT: which way data goes. What is not possible goes over TCP. */
enum client_transport {
    CLIENT_TRANSPORT_AUTO, /* the fastest: shared memory, then RDMA, then TCP */
    CLIENT_TRANSPORT_RDMA,
    CLIENT_TRANSPORT_TCP, /* or TLS, where the server is reached by tls:// */
    CLIENT_TRANSPORT_TLS, /* likewise; other servers are refused */
};
enum client_transport client_environment_transport(void);
/* GPUAAS_COMPRESSION: whether bytes of copies are packed. */
enum compression_mode client_environment_compression(void);
/* GPUAAS_CERT, GPUAAS_KEY, GPUAAS_CA: files, for connections to tls:// servers. */
const struct transport_secret *client_environment_secret(void);
/* GPUAAS_CLIENT_CACHE: at most so many bytes of each device are kept when they are freed. */
uint64_t client_environment_cache_bytes(void);
/* Reads them once: GPUAAS_TRACE=summary|calls, GPUAAS_LOG, GPUAAS_DEAD_AFTER and the others. */
void client_environment_apply(void);

/* One device of the list that GPUAAS_DEVICES or CUDA_VISIBLE_DEVICES chooses from. */
struct client_choice {
    const uint8_t *uuid;
};

/* Which of `count` devices a list like "1,0" or "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6" (a
 * prefix is enough) means, in its order. The first entry that means none ends the list, as in CUDA.
 * Gives the number of `chosen` ones; text NULL: all. */
int client_environment_choose(const char *text, const struct client_choice *devices, int count,
                              int *chosen);

#endif
