/* SPDX-License-Identifier: Apache-2.0 */
/* Rebuilding: all that an application has in the driver is torn down and made again from what is
 * kept of it (app/creation.h), while the application goes on: it keeps its handles, addresses
 * and contents, and its clients notice nothing but the time that it takes.
 *
 * It is done between two frames, when the application has no work under way. Contents are kept in
 * host memory meanwhile. */
#ifndef SERVER_REBUILD_REBUILD_H
#define SERVER_REBUILD_REBUILD_H

#include <stddef.h>

struct server_app;

enum rebuild_outcome {
    REBUILD_DONE,
    REBUILD_BUSY,    /* work is under way, or a graph is being captured: nothing has changed */
    REBUILD_REFUSED, /* something cannot be made again: nothing has changed */
    REBUILD_LOST,    /* something that should have been made again was not: the process must end */
};

/* Submit thread, between two frames. `why` says what is in the way, or could not be made. */
enum rebuild_outcome rebuild_application(struct server_app *app, char *why, size_t why_size);

#endif
