/* SPDX-License-Identifier: Apache-2.0 */
/* A question to gpuaasd about what applications share, one at a time. */
#ifndef SERVER_BACKEND_CONTROL_REQUEST_H
#define SERVER_BACKEND_CONTROL_REQUEST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "server/channel.h"

struct backend;

/* Under the backend's ticket_lock. */
struct control_request {
    pthread_cond_t answered;
    uint32_t last; /* number */
    bool taken;    /* by a thread that asks */
    bool waiting;  /* for the answer */
    struct channel_request packet;
    int fd; /* that came with the answer; -1: none */
};

/* Sends a request to gpuaasd and waits for the answer, which `*packet` becomes. The descriptor
 * `*fd` goes with the request (-1: none) and stays the caller's; `*fd` becomes that of the answer,
 * which the caller closes. Not in the main thread. */
GA_CHECKED enum ga_status control_request_ask(struct backend *backend,
                                              struct channel_request *packet, int *fd);
/* Delivers an answer that has come. Takes `fd`. Under the ticket lock. */
void control_request_answered(struct backend *backend, const struct channel_request *packet,
                              int fd);

#endif
