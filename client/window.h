/* The address windows of this process: reserved here so that the host's malloc cannot collide with
 * device addresses. Candidates stand in one table per build. */
#ifndef CLIENT_WINDOW_H
#define CLIENT_WINDOW_H

#include <stdbool.h>

#include "api/handshake.h"

/* The next candidate that could be reserved; false: none left. */
bool client_window_next(struct handshake_window *window);
/* Reserves what a server proposes; false: something is there. */
bool client_window_reserve(const struct handshake_window *window);
void client_window_release(const struct handshake_window *window);

#endif
