/* SPDX-License-Identifier: Apache-2.0 */
/* An application as gpuaasd sees it: one program of a user, which has named itself in a HELLO. It
 * has control connections (as yet one) and backend processes (one for each driver whose devices it
 * has opened). When its last control connection ends, the program may still be there: then its
 * processes go on, and their ends are its end.
 *
 * What a reader would get wrong: a struct control_application outlives its connections, until the
 * deaths of its processes are reported. */
#ifndef SERVER_APPLICATIONS_APPLICATION_H
#define SERVER_APPLICATIONS_APPLICATION_H

#include "auth/auth.h"
#include "base/list.h"
#include "base/number_map.h"
#include "server/applications/close_reason.h"
#include "server/processes/devices.h"
#include "server/processes/owner.h"
#include "server/tenants/tenant.h"
#include "server/usage/feedback.h"

struct applications;
struct seat;
struct refusal;
struct status_sink;

/* A control connection of an application, as the application knows it. Rooms above have the whole
 * client. */
struct application_client;

struct application_client_ops {
    /* Whether an open of it waits for this seat; for any, if that is NULL. */
    bool (*waits)(const struct application_client *client, const struct seat *seat);
    /* Whether an open of it waits for others' claims. */
    bool (*waits_for_claims)(const struct application_client *client);
    /* Answers the opens that waited for this seat; `reason` NULL: it is ready. Flush next. */
    void (*answer)(struct application_client *client, struct seat *seat, int32_t result,
                   const char *reason);
    /* Sends what is queued. The client may be closed by it, and the application end. */
    void (*flush)(struct application_client *client);
    void (*close)(struct application_client *client);
};

struct application_client {
    const struct application_client_ops *ops;
    struct ga_list beside; /* of the application's */
};

struct control_application {
    struct ga_list link;         /* of all that are admitted */
    struct ga_number_node known; /* of the same, by number */
    struct applications *room;
    struct owner owner;
    struct tenant *tenant;            /* a use of it; NULL: it is not admitted yet */
    struct ga_list fellow;            /* of the tenant's applications */
    struct member *member;            /* a use of the user; NULL: none is known */
    char user[TENANT_NAME_MAX];       /* of the tenant; "": not known */
    char credential[TENANT_NAME_MAX]; /* the number of what has proved it; "": none */
    uint8_t id[16];
    char address[TRANSPORT_PEER_BYTES], label[96]; /* for the log: where it is; program and pid */
    char program[FEEDBACK_PROGRAM_BYTES];          /* as it calls itself */
    char host[CONF_TEXT_MAX]; /* of this node, as it has reached it; its data ports are there */
    bool tls;                 /* its data is encrypted */
    const char *way;          /* of its control connection: "tls", "tcp", "shm" */
    uint64_t since_ns;        /* it has greeted */
    uint64_t began_ns;        /* its first session, if that is known: control_application_began */
    uint32_t alone_number;    /* of it as a tenant of its own, where nobody is asked whose it is */
    bool observer;            /* it only looks, so it is no session (HANDSHAKE_HELLO_OBSERVER) */
    bool admitted;
    bool session;           /* it has opened a device: what is counted and audited as a session */
    bool counted;           /* its usage has the session (account.c) */
    bool alone, alone_told; /* it has no control connection, and has others; that was logged */
    enum application_closes closes;
    uint64_t terminated_ns;    /* as timers_awake; 0: it is not to go (terminate.h) */
    bool terminated_there;     /* it has not left by itself before that */
    int32_t terminated_result; /* CUresult for what it asks for now */
    enum application_closes terminated_closes;
    char terminated_why[WIRE_NOTICE_MAX + 1];
    struct auth_grant *grant; /* what it has been admitted with; NULL: auth = off. Owned */
    uint64_t over_ns;         /* of timers_awake: over a limit of time since then; 0: over none */
    struct limits shown;      /* of its tenant, as they were when it was admitted */
    uint32_t *gpus; /* that it sees, by its own numbers: indexes into the list of gpuaasd */
    uint32_t gpu_count;
    struct ga_list clients;              /* struct application_client, by `beside` */
    struct seat *seats[DEVICES_DRIVERS]; /* in a backend process; NULL: none */
    unsigned users;                      /* connections, seats, and code that works with it */
};

/* An application that says this `hello` by a connection from `address`; nobody finds it yet. The
 * caller has a use of it. NULL: no memory. */
struct control_application *control_application_make(struct applications *room,
                                                     const struct handshake_hello *hello,
                                                     const struct transport_conn *conn,
                                                     const char *address, bool tls);
/* Enters it among those of gpuaasd, and of this tenant. False: there is one of this id. */
bool control_application_admit(struct control_application *application, struct tenant *tenant);
/* Begins and ends a use; the last one frees it. */
void control_application_keep(struct control_application *application);
void control_application_drop(struct control_application *application);
/* How it is lost, if it ends now and for no other reason. */
void control_application_lost(struct control_application *application,
                              enum application_closes closes);
/* The application has lost its control connection. If its program is there all the same, as its
 * backend processes see, it is alone from now on, until they end; else its processes end, and it is
 * forgotten. */
void control_application_left(struct control_application *application);
/* Ends its processes and forgets it, whether its program is there or not. This may be its last use;
 * its control connections, if it has any, the caller closes. */
void control_application_end(struct control_application *application);
/* Ends all applications that are left without control connections. */
void control_applications_end(struct applications *room);
/* The one of this one's id and owner and of this tenant that is alone, with a use for the caller,
 * and not alone any more; NULL: there is none, or its data goes another way (tls). */
struct control_application *
control_application_rejoin(const struct control_application *application,
                           const struct tenant *tenant);

/* Gives it a seat in a backend process of this driver, where it has none. An error with `why`. */
GA_CHECKED enum ga_status control_application_start(struct control_application *application,
                                                    enum conf_driver driver, char *why,
                                                    size_t why_size);
/* The name of its tenant, also before it is admitted. */
const char *control_application_tenant(const struct control_application *application);
/* Counts and audits that the application was refused something. */
void control_application_refused(const struct control_application *application,
                                 const struct refusal *refusal);
/* Whether its control connection has ended, and no process has said since that its program is there
 * all the same. */
static inline bool control_application_seems_gone(const struct control_application *application)
{
    return application->alone && !application->alone_told;
}
/* Whether it has a seat in any backend process. */
bool control_application_has_seat(const struct control_application *application);
/* When its session has begun, which is what `wall-time` counts from: it has opened a device. 0: not
 * yet. */
uint64_t control_application_began(struct control_application *application, uint64_t now);
/* Its opens that wait for others' claims are decided again. Whether any still waits. It may end. */
bool control_application_open_again(struct control_application *application);
/* As control_application_open_again, for all. */
void control_applications_open_again(struct applications *room);
/* Whether it has had a ticket of the GPU, an index into the list that clients see. */
bool control_application_uses(const struct control_application *application, uint32_t gpu);
/* Leaves a seat of its, which serves it no more. */
void control_application_abandon(struct control_application *application, struct seat *seat);

/* The one of this id that is admitted; NULL: none. */
struct control_application *control_application_find(struct applications *room,
                                                     const uint8_t id[16]);
/* Tells the sink each application. */
void control_application_status(const struct applications *room, const struct status_sink *sink);

#endif
