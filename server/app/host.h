/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what an application asks of the process that it is in; that of its connection is
 * struct conn_host. */
#ifndef SERVER_APP_HOST_H
#define SERVER_APP_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "server/channel.h"

struct gate;
struct ledger;
struct output_redirection;
struct server_app;
struct server_session;

/* Callbacks of an application to its process. */
struct server_host {
    void *user;
    const char *client; /* its address, for the log. NULL: as the process has it */
    /* The index of the GPU of this ordinal of the driver in the list that clients see, and the
     * memory that a context on it takes, as measured. NULL: 0. */
    uint32_t (*gpu)(void *user, int ordinal, uint64_t *context_bytes);
    /* The session has begun: said before its client knows. May be NULL. */
    void (*bound)(void *user, uint32_t gpu);
    /* A request to the sharing registry of gpuaasd (sharing_registry.h). The descriptor `*fd` is
     * that of what is shared (-1: none) and stays the caller's; it becomes that of the answer, the
     * caller's too. */
    enum ga_status (*request)(void *user, struct channel_request *packet, int *fd);
    /* As request, without an answer: it may get lost. Does not wait. NULL: nobody is told. */
    void (*tell)(void *user, struct channel_request *packet, int fd);
    /* gpuaasd keeps images of modules for their owners. */
    bool keeps_images;
    struct output_redirection *output; /* what its driver prints; NULL: goes where it goes */
    struct ledger *ledger;             /* of the application */
    /* The gate of a new session, which lasts as long as the session. May be NULL: there are none.
     */
    struct gate *(*gate)(void *user, struct server_session *session);
    /* Frees all that the application has made (calls/objects_end.h). False: some of it cannot be
     * freed. NULL: the process ends with the application, and nothing need be freed. */
    bool (*objects_free)(struct server_app *app);
    bool shares_process; /* with other applications: its contexts are its own */
    bool scrubs; /* memory that the driver gives may have been another application's (scrub.h) */
    uint64_t end_ns; /* how long the end waits for the application's work */
};

#endif
