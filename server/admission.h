/* Who may connect to a backend process: newcomers that have not yet shown a ticket, the tickets,
 * and the side connection with its pings. All of it is the main thread's; only the tickets are also
 * asked by the submit thread. */
#ifndef SERVER_ADMISSION_H
#define SERVER_ADMISSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "server/channel.h"
#include "server/conn.h"
#include "server/driver.h"
#include "server/tickets.h"
#include "transport/transport.h"

#define NEWCOMERS_MOST 16u /* connections without a ticket; more wait in the listener's queue */

struct newcomer {
    struct transport_conn conn;
    struct frame_reader reader;
    uint64_t deadline_ns;
};

struct backend {
    struct channel_setup setup;
    struct channel_application application;
    struct cuda_driver driver;
    struct transport_listener listener;
    int wake_fd; /* the data connection has ended */
    struct server_host host;
    struct newcomer newcomers[NEWCOMERS_MOST];
    unsigned newcomer_count;
    uint64_t accept_at_ns; /* 0, or descriptors or memory had run out: not before */
    bool side_open;
    struct transport_side side;
    struct server_conn *conn; /* NULL: none yet */
    uint64_t conn_since_ns;
    _Atomic bool conn_ended;
    char conn_why[128];
    pthread_mutex_t ticket_lock; /* tickets, and reading of the channel */
    struct ticket_table tickets;
    _Atomic bool gpuaasd_gone;
    uint64_t idle_at_ns; /* when to tell gpuaasd that nobody is here */
};

void admission_init(struct backend *backend);
/* Reads the tickets that gpuaasd has sent. Any thread. */
void admission_tickets(struct backend *backend);
/* Whether there is room for a newcomer. */
bool admission_accepts(const struct backend *backend);
void admission_accept(struct backend *backend);
/* Looks at everybody. Not NULL: the process ends, and why. */
const char *admission_turn(struct backend *backend);
/* For how long poll may sleep. */
int admission_timeout_ms(const struct backend *backend);

/* ---- side.c */
/* Reads what the client says there, and whether it still lives. NULL: it does; else why not. */
const char *side_turn(struct backend *backend);

#endif
