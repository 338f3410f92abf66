/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket in gpuaasd's loop whose connections cannot be accepted for now, since
 * descriptors or memory have run out. They stay in the kernel's queue, which would call the loop
 * again at once: it looks after them a few times a second instead. */
#ifndef SERVER_CLIENTS_ACCEPT_PAUSE_H
#define SERVER_CLIENTS_ACCEPT_PAUSE_H

#include <stdbool.h>
#include <uv.h>

#include "server/timers.h"

struct clients;

struct accept_pause {
    struct clients *room;
    uv_poll_t *poll; /* of the socket */
    uv_poll_cb readable;
    struct server_timer timer;
    bool exhausted; /* that has been logged */
};

void accept_pause_init(struct accept_pause *pause, struct clients *clients, uv_poll_t *poll,
                       uv_poll_cb readable);
/* None could be accepted. Strangers make room where there are any; else nobody is called until the
 * pause is over. Logged once, `where` is the address. */
void accept_pause_begin(struct accept_pause *pause, const char *where);
/* All have been accepted. */
void accept_pause_over(struct accept_pause *pause);
void accept_pause_fini(struct accept_pause *pause);

#endif
