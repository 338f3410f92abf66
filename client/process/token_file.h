/* SPDX-License-Identifier: Apache-2.0 */
/* The file of GPUAAS_TOKEN_FILE: a line for each server or pool, and one for all others.
 *
 *   # a comment
 *   gpu1 gpuaas_...                  for the server gpu1, at whatever port
 *   gpu2:9960 gpuaas_...             for the server gpu2 at this port
 *   tls://gpu3,tls://gpu4 gpuaas_... for several, as GPUAAS_SERVERS lists them
 *   *.lab.example.org gpuaas_...     for all whose names end like this
 *   gpuaas_...                       for every other server
 *
 * Of several lines that fit the one that says most decides: a whole name before a domain, the
 * longer domain before the shorter one, with the port before without; of equals the first.
 *
 * Note: what stands in front of a name (tls://) is allowed and says nothing here: whether a token
 * may go to a server at all is decided elsewhere. */
#ifndef CLIENT_PROCESS_TOKEN_FILE_H
#define CLIENT_PROCESS_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_FILE_BYTES 65536u /* at most */

/* Lines that are left out, because they make no sense. */
struct token_file_wrong {
    unsigned count;
    unsigned line;   /* the first one; 0: none */
    const char *why; /* of the first one; static */
};

/* Copies the token for the server into `token`. A host without a port ("") is a name of shared
 * memory. False: there is no token for it. */
bool client_token_find(const char *text, const char *host, const char *port, char *token,
                       size_t token_size, struct token_file_wrong *wrong);

#endif
