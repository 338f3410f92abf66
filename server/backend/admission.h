/* Admission to a backend process: pending connections, which have not shown a ticket yet, tickets,
 * and the side connection with its pings. All of it belongs to the main thread; the submit thread
 * uses only the tickets. */
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

/* The control request under way to gpuaasd (control_request.c); under the ticket lock. */
struct backend_question {
    pthread_cond_t answered;
    uint32_t last; /* number */
    bool waiting;
    struct channel_exchange packet;
    int fd; /* descriptor that came with the answer; -1: none */
};

struct backend {
    struct channel_setup setup;
    struct channel_application application;
    struct cuda_driver driver;
    struct transport_listener listeners[2]; /* for all clients; for clients on this machine */
    unsigned listener_count;
    int wake_fd; /* the data connection has ended */
    struct server_host host;
    struct pending_conn pending_conns[PENDING_CONNS_MAX];
    unsigned pending_conn_count;
    uint64_t
        accept_at_ns; /* do not accept before, because descriptors or memory had run out; or 0 */
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
    uint64_t idle_at_ns;      /* when to tell gpuaasd that there is no session and no ticket */
};

void admission_init(struct backend *backend);
/* For transport_secret: gives the key of a ticket that may still be used; otherwise logs why not.
 */
bool admission_key(void *backend, const uint8_t *id, uint8_t *key);
/* Reads the tickets that gpuaasd has sent. Any thread. */
void admission_tickets(struct backend *backend);
/* Whether there is room for a pending connection. */
bool admission_accepts(const struct backend *backend);
void admission_accept(struct backend *backend, struct transport_listener *listener);
/* Serves all pending connections and the side connection. Not NULL: the cause why the process ends.
 */
const char *admission_turn(struct backend *backend);
/* How long poll may sleep. */
int admission_timeout_ms(const struct backend *backend);

/* ---- control_request.c */
/* Sends a request to gpuaasd and waits for the answer, which `*packet` becomes. The descriptor
 * `*fd` goes with the request (-1: none) and stays the caller's; `*fd` becomes that of the answer,
 * which the caller closes. Not in the main thread. */
GA_CHECKED enum ga_status control_request_ask(struct backend *backend,
                                              struct channel_exchange *packet, int *fd);
/* Delivers an answer that has come. Takes `fd`. Under the ticket lock. */
void control_request_answered(struct backend *backend, const struct channel_exchange *packet,
                              int fd);

/* ---- side_connection.c */
/* Reads the side connection, and pings. NULL: the client lives; otherwise why not. */
const char *side_turn(struct backend *backend);

#endif
