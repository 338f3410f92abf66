/* SPDX-License-Identifier: Apache-2.0 */
/* The file of GPUAAS_TOKEN_FILE: a line for each server, and one for all others.
 *
 *   # a comment
 *   gpu1 gpuaas_...         for the server gpu1, at whatever port
 *   gpu2:9960 gpuaas_...    for the server gpu2 at this port
 *   gpuaas_...              for every other server
 *
 * Of several lines that fit the one that says most decides: host and port, then the host. */
#ifndef CLIENT_PROCESS_TOKEN_FILE_H
#define CLIENT_PROCESS_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_FILE_BYTES 65536u /* at most */

/* Copies the token for the server into `token`. `wrong` becomes the number of the first line that
 * has more than two words or too long a token, 0: none; the line is skipped. False: there is no
 * token for it. */
bool client_token_find(const char *text, const char *host, const char *port, char *token,
                       size_t token_size, unsigned *wrong);

#endif
