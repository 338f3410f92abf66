/* SPDX-License-Identifier: Apache-2.0 */
/* The carrier of an application: that by which its calls come, a connection, as far as the rooms
 * below it need one. They know this table alone, so an application can be there before its
 * connection, after it, and without any (`carrier_none`). */
#ifndef SERVER_APP_CARRIER_H
#define SERVER_APP_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "api/wire.h"
#include "base/status.h"

struct event_marks;
struct server_app;

/* All are of the submit thread, but where it says so. */
struct app_carrier {
    /* Waits until the work behind the events is done, and all that waits for earlier work has been
     * told. Jobs run meanwhile. Takes the marks over. GA_LOST: nobody waits for work any more;
     * GA_TIMEOUT: at the end of the application, the work is not done in time; GA_NO_MEMORY. */
    enum ga_status (*wait)(struct server_app *app, struct event_marks *marks);
    /* Does what waits to be done and sleeps for so long at most; 0: not at all. GA_LOST: nobody
     * waits for work any more. */
    enum ga_status (*pause)(struct server_app *app, uint64_t most_ns);
    /* Whether nobody waits for work any more, and this is not the end of the application. */
    bool (*gives_up)(const struct server_app *app);
    /* Sends what can be sent now: the next call of the driver may wait for the GPU. Any
     * thread. */
    void (*flush)(struct server_app *app);
    /* Whether streams may wait for what the program has yet to do: other work ends by itself. */
    bool (*awaits_program)(struct server_app *app);
    /* Tells the program of an execution fault. Any thread. */
    void (*fault)(struct server_app *app, CUresult rc, const char *text);
    /* Ends with a log line, for lack of memory. Any thread. */
    void (*fail)(struct server_app *app, const char *why);
    /* Passes on what a kernel has printed. Any thread. */
    void (*print)(struct server_app *app, enum wire_output to, const char *text, size_t bytes);
};

#endif
