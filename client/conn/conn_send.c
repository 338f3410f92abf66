/* SPDX-License-Identifier: Apache-2.0 */
/* The sending half of a connection. `pumping`: one thread polls for writability, and the others
 * wait for `room`. `exclusive`: a frame's bulk leaves straight from the caller's memory, and until
 * it is complete no thread appends. */
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "client/conn/conn_internal.h"

static size_t buffered(const struct client_conn *conn)
{
    return conn->out_end - conn->out_start;
}

/* The buffer has become empty. Under send_lock. */
static void emptied(struct client_conn *conn)
{
    conn->out_start = 0;
    conn->out_end = 0;
    if (atomic_load_explicit(&conn->oldest_ns, memory_order_relaxed) != 0) {
        atomic_store(&conn->oldest_ns, 0);
    }
}

void conn_note_full(struct client_conn *conn)
{
    if (conn->compression.mode != COMPRESSION_OFF) {
        compression_full(&conn->compression, ga_clock_ns());
    }
}

/* Sends the buffer. GA_AGAIN: the socket is full. While one thread waits for room, no other sends:
 * a thread that finds a ring in shared memory full would take away the doorbell that wakes the
 * first. Under send_lock. */
enum ga_status conn_push(struct client_conn *conn)
{
    if (conn->pumping) {
        return GA_AGAIN;
    }
    while (buffered(conn) != 0) {
        struct iovec piece = {.iov_base = conn->out + conn->out_start, .iov_len = buffered(conn)};
        size_t sent;
        (void)GA_FAILPOINT("client: before sending");
        enum ga_status status = conn->data.ops->send(&conn->data, &piece, 1, &sent);
        if (status == GA_AGAIN) {
            conn_note_full(conn);
            return status;
        }
        if (status != GA_OK) {
            client_conn_lose(conn, "the connection ended while sending");
            return status;
        }
        compression_took(&conn->compression, sent);
        conn->out_start += sent;
        conn->out_sent += sent;
        client_conn_count(&conn->bytes_out, sent);
    }
    emptied(conn);
    if (client_conn_bulks(conn) == 0) {
        compression_emptied(&conn->compression);
    }
    return GA_OK;
}

/* The descriptors and events to poll for. */
struct room_polls {
    struct pollfd at[(2 + WIRE_BULKS_MAX) * TRANSPORT_POLL_MAX];
    unsigned count;
    bool now; /* something is possible already: do not sleep */
};

static void poll_add(struct room_polls *polls, struct transport_conn *transport, short wanted)
{
    unsigned more =
        wanted != 0 ? transport->ops->poll_prepare(transport, wanted, polls->at + polls->count) : 0;
    polls->count += more;
    polls->now = polls->now || (wanted != 0 && more == 0);
}

/* Collects the sockets that are full. Another thread may fill one more meanwhile and wait for this
 * one, so with several sockets the caller polls with a short limit. Under send_lock. */
static void polls_of_full(struct client_conn *conn, struct room_polls *polls, bool reads)
{
    short data = buffered(conn) != 0 || conn->exclusive ? POLLOUT : 0;
    struct transport_conn *awaited = conn_awaited(conn);
    if (reads && awaited == &conn->data) {
        data |= POLLIN;
    } else if (reads) {
        poll_add(polls, awaited, POLLIN);
    }
    poll_add(polls, &conn->data, data);
    for (unsigned i = 0; i < client_conn_bulks(conn); i++) {
        poll_add(polls, &conn->bulks[i].transport, conn->bulks[i].left != 0 ? POLLOUT : 0);
    }
}

void conn_wait_for_room(struct client_conn *conn)
{
    if (conn->pumping) {
        pthread_cond_wait(&conn->room, &conn->send_lock);
        return;
    }
    struct room_polls polls;
    bool reads = conn_read_free(conn);
    polls.count = 0;
    polls.now = false;
    polls_of_full(conn, &polls, reads);
    /* The limit of 1 ms is for a reader that leaves meanwhile: then this thread has to read. */
    int timeout_ms = reads && client_conn_bulks(conn) == 0 ? -1 : 1;
    conn->pumping = true;
    pthread_mutex_unlock(&conn->send_lock);
    if (!polls.now) {
        (void)poll(polls.at, polls.count, timeout_ms);
    }
    if (reads) {
        client_conn_read(conn);
    }
    pthread_mutex_lock(&conn->send_lock);
    conn->pumping = false;
    if (client_conn_bulks(conn) != 0) {
        (void)conn_bulk_push(conn); /* pieces of any thread: their owners may wait for this one */
    }
    pthread_cond_broadcast(&conn->room);
}

static bool make_room(struct client_conn *conn, size_t room)
{
    if (CONN_BUFFER - conn->out_end >= room) {
        return true;
    }
    if (conn->out_start != 0 && CONN_BUFFER - buffered(conn) >= room) {
        memmove(conn->out, conn->out + conn->out_start, buffered(conn));
        conn->out_end -= conn->out_start;
        conn->out_start = 0;
        return true;
    }
    return false;
}

int client_conn_lock(struct client_conn *conn, size_t room)
{
    pthread_mutex_lock(&conn->send_lock);
    int dead = atomic_load(&conn->facts.dead);
    if (dead == 0 && !conn->exclusive && make_room(conn, room)) {
        return 0;
    }
    while ((dead = atomic_load(&conn->facts.dead)) == 0) {
        if (conn->exclusive) {
            pthread_cond_wait(&conn->room, &conn->send_lock);
        } else if (make_room(conn, room)) {
            break;
        } else if (conn_push(conn) == GA_AGAIN && !make_room(conn, room)) {
            conn_wait_for_room(conn);
        }
    }
    if (dead != 0) {
        pthread_mutex_unlock(&conn->send_lock);
    }
    return dead;
}

uint8_t *client_conn_at(struct client_conn *conn)
{
    return conn->out + conn->out_end;
}

static void remember_switch(struct client_conn *conn, uint64_t context)
{
    conn->context = context;
    conn->switches[conn->switch_count++ % CONN_SWITCHES] =
        (struct conn_switch){.sequence = conn->sequence + 1, .context = context};
}

void client_conn_context(struct client_conn *conn, uint16_t session, uint64_t context)
{
    if (context == conn->context) {
        return;
    }
    memcpy(client_conn_at(conn) + sizeof(struct wire_header), &context, sizeof context);
    (void)client_conn_frame(conn, WIRE_CONTEXT, session, sizeof context, 0, false);
    remember_switch(conn, context);
}

void client_conn_context_gone(struct client_conn *conn, uint64_t context)
{
    if (client_conn_lock(conn, 0) == 0) {
        conn->context = conn->context == context ? 0 : conn->context;
        client_conn_unlock(conn, false);
    }
}

uint64_t conn_context_of(struct client_conn *conn, uint64_t sequence)
{
    uint64_t found = 0;
    pthread_mutex_lock(&conn->send_lock);
    unsigned kept = conn->switch_count < CONN_SWITCHES ? conn->switch_count : CONN_SWITCHES;
    for (unsigned i = 1; i <= kept; i++) {
        const struct conn_switch *at = &conn->switches[(conn->switch_count - i) % CONN_SWITCHES];
        if (at->sequence <= sequence) {
            found = at->context;
            break;
        }
    }
    pthread_mutex_unlock(&conn->send_lock);
    return found;
}

uint64_t client_conn_frame(struct client_conn *conn, uint16_t opcode, uint16_t session,
                           size_t values, uint64_t bulk, bool call)
{
    uint8_t *at = client_conn_at(conn);
    uint32_t padded = wire_padded(values);
    memset(at + sizeof(struct wire_header) + values, 0, 16); /* the padding: there is room */
    struct wire_header header = {.length = padded + wire_padded(bulk),
                                 .opcode = opcode,
                                 .session = session,
                                 .sequence = conn->sequence + 1};
    conn->sequence += call;
    memcpy(at, &header, sizeof header);
    conn->out_end += sizeof header + padded;
    atomic_store_explicit(&conn->facts.submitted, conn->sequence, memory_order_release);
    (void)GA_FAILPOINT("client: call written");
    return header.sequence;
}

void client_conn_bulk(struct client_conn *conn, const void *from, uint64_t bytes)
{
    static const uint8_t zeros[16];
    uint64_t total = (bytes + 15) & ~UINT64_C(15), done = 0;
    bool full = false;
    conn->exclusive = true;
    while (done < total && atomic_load(&conn->facts.dead) == 0) {
        if (conn->pumping) { /* no other thread sends then, see conn_push */
            full = true;
            conn_wait_for_room(conn);
            continue;
        }
        struct iovec pieces[3] = {
            {.iov_base = conn->out + conn->out_start, .iov_len = buffered(conn)}};
        int count = buffered(conn) != 0 ? 1 : 0;
        if (done < bytes) {
            pieces[count++] = (struct iovec){.iov_base = (uint8_t *)(uintptr_t)from + done,
                                             .iov_len = bytes - done};
        }
        uint64_t zeros_done = done > bytes ? done - bytes : 0;
        if (total != bytes) {
            pieces[count++] = (struct iovec){.iov_base = (uint8_t *)(uintptr_t)zeros,
                                             .iov_len = total - bytes - zeros_done};
        }
        size_t sent;
        (void)GA_FAILPOINT("client: before sending bulk");
        enum ga_status status = conn->data.ops->send(&conn->data, pieces, count, &sent);
        if (status == GA_AGAIN) {
            conn_note_full(conn);
            full = true;
            conn_wait_for_room(conn);
            continue;
        }
        if (status != GA_OK) {
            client_conn_lose(conn, "the connection ended while sending");
            break;
        }
        client_conn_count(&conn->bytes_out, sent);
        compression_took(&conn->compression, sent);
        size_t head = sent < buffered(conn) ? sent : buffered(conn);
        conn->out_start += head;
        conn->out_sent += head;
        done += sent - head;
    }
    conn->exclusive = false;
    if (!full) {
        compression_emptied(&conn->compression);
    }
    if (buffered(conn) == 0) {
        emptied(conn);
    }
    pthread_cond_broadcast(&conn->room);
}

/* Whether this is the first call after a wait for everything before, so that the server is idle.
 * Over a socket such a call still leaves together with the next ones: sent by itself, a launch and
 * a wait take 1.7 times as long. */
static bool starts_anew(const struct client_conn *conn)
{
    return conn->data.ops->send_is_cheap &&
           conn->sequence == atomic_load_explicit(&conn->answered, memory_order_relaxed) + 1;
}

void client_conn_unlock(struct client_conn *conn, bool now)
{
    bool arm = false;
    if (now || buffered(conn) >= CONN_BATCH || starts_anew(conn)) {
        (void)conn_push(conn); /* the rest stays in the buffer */
        /* No thread waits for these answers, so the service thread has to read them. */
        arm = !now && atomic_load_explicit(&conn->unwaited, memory_order_relaxed) != 0;
    }
    if (buffered(conn) != 0 && atomic_load_explicit(&conn->oldest_ns, memory_order_relaxed) == 0) {
        atomic_store(&conn->oldest_ns, ga_clock_ns());
        arm = true;
    }
    pthread_mutex_unlock(&conn->send_lock);
    if (arm) {
        conn->hooks->armed();
    }
}

void client_conn_flush(struct client_conn *conn)
{
    pthread_mutex_lock(&conn->send_lock);
    if (atomic_load(&conn->facts.dead) == 0 && !conn->exclusive) {
        (void)conn_push(conn);
    }
    pthread_mutex_unlock(&conn->send_lock);
}

void conn_send_until(struct client_conn *conn, uint64_t target)
{
    if (target == 0 && atomic_load(&conn->oldest_ns) == 0) {
        return; /* this thread's calls have left: otherwise oldest_ns would be set */
    }
    pthread_mutex_lock(&conn->send_lock);
    if (target == 0) {
        target = conn->out_sent + buffered(conn);
    }
    while (conn->out_sent < target && atomic_load(&conn->facts.dead) == 0) {
        if (conn->exclusive) {
            pthread_cond_wait(&conn->room, &conn->send_lock);
        } else if (conn_push(conn) == GA_AGAIN) {
            conn_wait_for_room(conn);
        }
    }
    pthread_mutex_unlock(&conn->send_lock);
}
