/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a client, which the files of clients share. */
#ifndef SERVER_CLIENTS_CLIENT_STATE_H
#define SERVER_CLIENTS_CLIENT_STATE_H

#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/applications/claims_line.h"
#include "server/clients/client_send.h"
#include "server/clients/clients.h"
#include "server/pending.h"
#include "server/workers.h"

#define CLIENT_OPENS_MAX 64u /* pending OPENs; our library sends one after the other */

enum control_client_state { CLIENT_NEW, CLIENT_GREETED, CLIENT_LEAVING };

struct control_client_open {
    uint64_t sequence;
    uint32_t device; /* in the list that clients see */
    uint32_t gpu;    /* which serves it: index into the same list */
    bool in_line;    /* it waits in the client's place in the line (claims_line.h) */
};

struct control_client {
    struct ga_list link;
    struct clients *room;
    struct control_application *application; /* NULL: it has not said which */
    struct application_client base;          /* what the application knows of it */
    struct transport_conn conn;
    bool tls;
    uv_poll_t poll;
    unsigned handles; /* that have not been closed, and the job while a worker has it */
    bool closed;
    struct pending_entry limited; /* among those that have not greeted, or that use nothing */
    bool counted;                 /* it is one of `clients` */
    struct worker_job job;        /* a step (client_steps.h) */
    bool stepping;                /* a worker has it, and with it the connection and the reader */
    enum ga_status step_status;   /* the worker's answer */
    enum control_client_state state;
    struct auth_grant *admin; /* it is authenticated as an administrator (client_admin.h) */
    bool taken;               /* the connection is somebody else's */
    struct frame_reader reader;
    bool more; /* it has had its turn, and there may be more to read */
    struct control_client_out out;
    char address[TRANSPORT_PEER_BYTES]; /* for the log; see control_client_address */
    struct control_client_open opens[CLIENT_OPENS_MAX];
    uint32_t open_count;
    struct claims_place place; /* of the first of those that wait for others' claims */
};

/* For the log: where it is. Finding that out takes time, which not every connection is worth. */
const char *control_client_address(struct control_client *client);
/* For the log: what the application is called. */
const char *control_client_label(const struct control_client *client);
void control_client_close(struct control_client *client);
/* One of its handles has been closed. */
void control_client_release(struct control_client *client);
/* Sends what is queued; false: the client has been closed. */
bool control_client_flush(struct control_client *client);
/* Whether it speaks our protocol; otherwise it has been refused. */
bool control_client_version(struct control_client *client, const struct handshake_hello *hello,
                            uint64_t sequence);
/* Queues a REFUSED for the message `sequence`, logs, counts and audits it. */
void control_client_refuse(struct control_client *client, uint64_t sequence,
                           const struct refusal *refusal);
/* As control_client_refuse, with a text that has no numbers. */
void control_client_refuse_as(struct control_client *client, uint64_t sequence,
                              enum refusal_reason reason, int32_t result, const char *why);

#endif
