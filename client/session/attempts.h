/* SPDX-License-Identifier: Apache-2.0 */
/* Greeting servers, all at once, in bounded time. */
#ifndef CLIENT_SESSION_ATTEMPTS_H
#define CLIENT_SESSION_ATTEMPTS_H

#include <stdbool.h>

#include "client/session/server_devices.h"

#define SERVERS_MAX 256 /* that are asked at once */

enum attempt_state { CONNECTING, ASKED, ANSWERED, FAILED };

struct attempt {
    enum attempt_state state;
    bool observes;            /* the program uses no device */
    bool guess;               /* that the program will use the first device: see ticket.c */
    bool silent, silent_here; /* it was so within the last minute; to this process */
    char text[300];
    char why[300];
    CUresult result; /* what a refusal said */
    struct client_server *server;
    struct handshake_welcome welcome; /* lent from the reader's buffer */
};

/* Greets each of them, whose `text` is set. Then they have answered, or failed with the reason in
 * `why`; the server and the devices of the welcome are the caller's. */
void client_attempts_ask(struct attempt *attempts, int count);
/* It can not be used; `why` NULL: it is set already. */
void client_attempt_fail(struct attempt *attempt, const char *why);

#endif
