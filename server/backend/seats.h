/* SPDX-License-Identifier: Apache-2.0 */
/* The seats of a backend process: applications come, are served, and end. As yet gpuaasd gives a
 * process to one application at a time, and its first end is that of the process; only tests have
 * it otherwise (struct channel_setup: seats, outlives). All of it is the main thread's. */
#ifndef SERVER_BACKEND_SEATS_H
#define SERVER_BACKEND_SEATS_H

#include <stdbool.h>
#include <stdint.h>

struct backend;
struct quota;

void seats_init(struct backend *backend);
/* Looks at all applications. Not NULL: the cause why the process ends. */
const char *seats_turn(struct backend *backend);
/* Ends all applications, as far as that is possible, because the process ends. True: nothing of
 * them is left. */
bool seats_end(struct backend *backend);
/* How long poll may sleep before the next turn, as poll has it. */
int seats_timeout_ms(const struct backend *backend);

/* The quota of the application that gpuaasd has announced for this seat. NULL: there is none. Under
 * the ticket lock. */
struct quota *seats_quota(struct backend *backend, uint32_t seat);

#endif
