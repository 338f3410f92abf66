/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's end of an application's side connection. */
#ifndef SERVER_BACKEND_SIDE_CONNECTION_H
#define SERVER_BACKEND_SIDE_CONNECTION_H

struct application;

/* Reads the side connection, and pings. NULL: the client lives; otherwise why not. */
const char *side_turn(struct application *application);

#endif
