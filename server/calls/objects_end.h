/* SPDX-License-Identifier: Apache-2.0 */
/* The end of all that an application has made. */
#ifndef SERVER_CALLS_OBJECTS_END_H
#define SERVER_CALLS_OBJECTS_END_H

#include <stdbool.h>

struct server_app;

/* Waits for the work of the application until app->end_by_ns and frees its objects of every kind,
 * its memory, its reservations and its windows. False: some of it cannot be freed, which is logged;
 * the process must end. Submit thread, at the end of the connection. */
bool objects_end(struct server_app *app);

#endif
