/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a node, in the place of libuv's: it has the handles of control connections, and no
 * others. The functions of libuv that the rooms call are defined in loop.c. */
#ifndef TESTS_WORLD_LOOP_H
#define TESTS_WORLD_LOOP_H

#include <uv.h>

struct world_loop {
    uv_loop_t uv;
    uv_handle_t *closing; /* which libuv has not called back yet */
};

/* Something can be read or written at the handle; nothing happens if it does not look for that. */
void loop_ready(uv_poll_t *poll, int events);
/* The end of a turn: those that close are called back. */
void loop_closes(struct world_loop *loop);

#endif
