/* SPDX-License-Identifier: Apache-2.0 */
/* An application in a backend process: one program, whose calls come by one data connection. State
 * that belongs to it and not to the process is here; a process has an array of them. */
#ifndef SERVER_BACKEND_APPLICATION_H
#define SERVER_BACKEND_APPLICATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/backend/exports.h"
#include "server/backend/tickets.h"
#include "server/channel.h"
#include "server/conn/conn.h"
#include "transport/transport.h"

struct backend;
struct rebuild_trigger;

enum application_state {
    APPLICATION_NONE, /* nobody has the seat */
    APPLICATION_SERVED,
    APPLICATION_ENDING,  /* its connection winds up */
    APPLICATION_ENDED,   /* nothing of it is left */
    APPLICATION_REMAINS, /* something of it cannot be ended: the process must end */
};

struct application {
    struct backend *backend;
    uint32_t seat; /* its index among the backend's */
    enum application_state state;
    struct channel_application identity;    /* as gpuaasd has told it */
    _Atomic bool arrived, leaving;          /* gpuaasd wants it to begin; to end */
    _Atomic bool asked;                     /* gpuaasd is to be told that it is served */
    _Atomic bool alone;                     /* its client can show no tickets any more */
    struct transport_listener listeners[2]; /* for everybody; for this machine */
    unsigned listener_count;
    struct server_host host;
    struct conn_host conn_host;
    struct ledger ledger;
    struct quota quota;              /* from when gpuaasd has told of it, under the ticket_lock */
    struct rebuild_trigger *rebuild; /* of tests; else NULL */
    struct ticket_table tickets;     /* under the backend's ticket_lock, like: */
    struct exports exports;
    struct channel_notice notice; /* the same; the last one that gpuaasd has told */
    _Atomic bool notified;        /* it waits to be passed on */
    bool side_open;
    struct transport_side side;
    struct server_app *app;   /* from its connection on; NULL: none yet */
    struct server_conn *conn; /* the same */
    uint64_t conn_since_ns;
    _Atomic bool conn_ended;
    bool conn_clean; /* set before conn_ended, like: */
    char conn_why[128];
    uint64_t idle_at_ns;            /* when to tell gpuaasd that nobody is here */
    uint64_t heard_bytes, heard_ns; /* bytes in when it was last looked at, and the last change */
    uint64_t over_ns;               /* it ends then, by a limit that the program was told; 0: no */
};

/* Makes it one that is served; `seat` and `identity` are set. */
void application_init(struct application *application, struct backend *backend);
/* Listens for its connections and tells gpuaasd where. False: it cannot, which gpuaasd has been
 * told. */
bool application_listen(struct application *application);
/* Looks at its connections. Not NULL: the client is gone, and why. */
const char *application_turn(struct application *application);
/* Holds the limits of time, once it has a connection. Not NULL: one is over, and why it ends. */
const char *application_life_turn(struct application *application);
/* Begins its end: the state is APPLICATION_ENDING, or what comes after it. May be repeated. */
void application_end(struct application *application);
/* Frees the seat of an application that has ended. */
void application_clear(struct application *application);
/* Looks whether the end is over. */
void application_end_turn(struct application *application);
/* Starts its data connection; the hello's ticket has been used. Takes connection and reader over
 * when it answers GA_OK. */
GA_CHECKED enum ga_status application_connect(struct application *application,
                                              const struct transport_conn *conn,
                                              const struct frame_reader *reader,
                                              const struct handshake_data_hello *hello,
                                              uint64_t sequence);
/* Opens its side connection. The same. */
GA_CHECKED enum ga_status application_side_open(struct application *application,
                                                const struct transport_conn *conn,
                                                const struct frame_reader *reader,
                                                uint64_t sequence);
/* Prepares for what gpuaasd has told of it, before it is served. Under the ticket lock. */
void application_told(struct application *application, const struct channel_application *told);
/* Answers gpuaasd, which asks for the descriptor of what it shares. Under the ticket lock. */
void application_fetched(const struct application *application,
                         const struct channel_request *packet);
/* Passes a notice of gpuaasd on to its client, if one waits and there is a way. */
void application_notify(struct application *application);
/* Asks its client to give cached device memory back. False: it has nothing, or cannot. */
bool application_reclaim(struct application *application);

#endif
