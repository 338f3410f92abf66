/* SPDX-License-Identifier: Apache-2.0 */
/* A stranger at a backend process: how it says who it is, and, if it had a ticket for a side
 * connection, what it says there. */
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/backend/admission.h"
#include "server/backend/backend.h"
#include "server/backend/seats.h"
#include "tests/fuzz/conn.h"

#define TURNS_MAX 4096u

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ga_log_set_level(GA_LOG_ERROR);
    /* gpuaasd, which says nothing. The other end of the channel stays open. */
    int channel[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) == 0);
    if (channel[0] != CHANNEL_FD && channel[1] != CHANNEL_FD) {
        FUZZ_CHECK(dup2(channel[0], CHANNEL_FD) == CHANNEL_FD);
    }
    return 0;
}

static struct figures_page figures;

/* A driver that is not ours. */
static CUresult no_table(const void **table, const CUuuid *uuid)
{
    (void)table, (void)uuid;
    return CUDA_ERROR_INVALID_VALUE;
}

/* A backend process that waits for the application with the id 01 01 ... and its 02 02 ... */
static void backend_begin(struct backend *backend)
{
    struct channel_ticket ticket = {.kind = CHANNEL_TICKET, .device = 0};
    memset(ticket.id, 2, sizeof ticket.id);
    memset(ticket.key, 2, sizeof ticket.key);
    *backend = (struct backend){.setup = {.kind = CHANNEL_SETUP,
                                          .conf = {.pending_connections = 16,
                                                   .ticket_s = 3600,
                                                   .handshake_timeout_s = 3600,
                                                   .dead_after_s = 3600}}};
    struct application *application = &backend->applications[0];
    memset(application->identity.id, 1, sizeof application->identity.id);
    backend->figures = &figures;
    backend->driver.cuGetExportTable = no_table;
    admission_init(backend);
    seats_init(backend);
    FUZZ_CHECK(pending_conns_init(backend) == GA_OK);
    application_init(application, backend);
    uint64_t now = ga_clock_ns();
    FUZZ_CHECK(tickets_add(&application->tickets, &ticket, now + 3600 * GA_NS_PER_S, now));
    application->tickets.tickets[0].used[HANDSHAKE_DATA] = true; /* it would get threads */
}

static void backend_end(struct backend *backend)
{
    pending_conns_end(backend);
    if (backend->applications[0].side_open) {
        transport_side_fini(&backend->applications[0].side);
    }
    pthread_mutex_destroy(&backend->ticket_lock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct backend backend;
    struct fuzz_input input = {data, size};
    uint64_t seed = fuzz_u8(&input);
    backend_begin(&backend);
    const struct transport_conn conn = fuzz_conn_open(input.at, input.left, seed);
    FUZZ_CHECK(pending_conns_add(&backend, &conn, false) == GA_OK);
    unsigned turns = 0;
    const char *why = NULL;
    while (why == NULL && (backend.pending.table.count != 0 || backend.applications[0].side_open)) {
        FUZZ_CHECK(turns++ < TURNS_MAX + size); /* the stream ends, so must they */
        pending_conns_turn(&backend);
        admission_turn(&backend);
        why = seats_turn(&backend);
    }
    backend_end(&backend);
    fuzz_conn_close();
    return 0;
}
