/* Who may connect to a backend process: pending connections that have not yet shown a ticket, the
 * tickets, and the side connection with its pings. All of it is the main thread's; only the tickets
 * are also asked by the submit thread. */
#ifndef SERVER_BACKEND_ADMISSION_H
#define SERVER_BACKEND_ADMISSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "server/backend/tickets.h"
#include "server/channel.h"
#include "server/driver/driver.h"
#include "server/session/conn.h"
#include "transport/transport.h"

#define PENDING_CONNS_MAX                                                                          \
    16u /* connections without a ticket; more wait in the listener's queue                         \
         */

struct pending_conn {
    struct transport_conn conn;
    struct frame_reader reader;
    uint64_t deadline_ns;
};

/* To gpuaasd (control_request.c); under the ticket lock. */
struct backend_question {
    pthread_cond_t answered;
    uint32_t last; /* number */
    bool waiting;
    struct channel_exchange packet;
    int fd; /* that came with the answer; -1: none */
};

struct backend {
    struct channel_setup setup;
    struct channel_application application;
    struct cuda_driver driver;
    struct transport_listener listeners[2]; /* for everybody; for this machine */
    unsigned listener_count;
    int wake_fd; /* the data connection has ended */
    struct server_host host;
    struct pending_conn pending_conns[PENDING_CONNS_MAX];
    unsigned pending_conn_count;
    uint64_t accept_at_ns; /* 0, or descriptors or memory had run out: not before */
    bool side_open;
    struct transport_side side;
    struct server_conn *conn; /* NULL: none yet */
    uint64_t conn_since_ns;
    _Atomic bool conn_ended;
    char conn_why[128];
    pthread_mutex_t ticket_lock; /* tickets, and reading of the channel */
    struct ticket_table tickets;
    struct backend_question question;
    _Atomic bool gpuaasd_gone;
    _Atomic bool trim_wanted; /* other applications lack memory */
    uint64_t idle_at_ns;      /* when to tell gpuaasd that nobody is here */
};

void admission_init(struct backend *backend);
/* For transport_secret: the key of a ticket that may still be used; else it logs why not. */
bool admission_key(void *backend, const uint8_t *id, uint8_t *key);
/* Reads the tickets that gpuaasd has sent. Any thread. */
void admission_tickets(struct backend *backend);
/* Whether there is room for a pending connection. */
bool admission_accepts(const struct backend *backend);
void admission_accept(struct backend *backend, struct transport_listener *listener);
/* Looks at everybody. Not NULL: the process ends, and why. */
const char *admission_turn(struct backend *backend);
/* For how long poll may sleep. */
int admission_timeout_ms(const struct backend *backend);

/* ---- control_request.c */
/* Asks gpuaasd and waits for its answer, which `*packet` becomes. A descriptor goes with it (-1:
 * none; it stays the caller's), and `*fd` becomes the answer's, the caller's to close. Not in the
 * main thread. */
GA_CHECKED enum ga_status control_request_ask(struct backend *backend,
                                              struct channel_exchange *packet, int *fd);
/* An answer has come; with the ticket lock. Takes `fd`. */
void control_request_answered(struct backend *backend, const struct channel_exchange *packet,
                              int fd);

/* ---- side_connection.c */
/* Reads what the client says there, and whether it still lives. NULL: it does; else why not. */
const char *side_turn(struct backend *backend);

#endif
