/* The sending half of a link. `pumping` marks the one thread that polls for writability; others
 * wait for `room`. `exclusive` marks a frame whose bulk leaves straight from the caller's memory:
 * until it is complete nobody appends. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "client/conn/conn.h"

void (*client_link_armed)(void);

static size_t buffered(const struct client_link *link)
{
    return link->out_end - link->out_start;
}

/* Under send_lock: nothing is in the buffer. */
static void emptied(struct client_link *link)
{
    link->out_start = 0;
    link->out_end = 0;
    if (atomic_load_explicit(&link->oldest_ns, memory_order_relaxed) != 0) {
        atomic_store(&link->oldest_ns, 0);
    }
}

void link_note_full(struct client_link *link)
{
    if (link->pack.mode != PACK_OFF) {
        pack_full(&link->pack, ga_clock_ns());
    }
}

/* Under send_lock. GA_AGAIN: the socket is full. While somebody waits for room, nobody else sends:
 * who finds a ring in shared memory full takes away the doorbell that would have woken him. */
enum ga_status link_push(struct client_link *link)
{
    if (link->pumping) {
        return GA_AGAIN;
    }
    while (buffered(link) != 0) {
        struct iovec piece = {.iov_base = link->out + link->out_start, .iov_len = buffered(link)};
        size_t sent;
        (void)GA_FAILPOINT("client: before sending");
        enum ga_status status = link->data.ops->send(&link->data, &piece, 1, &sent);
        if (status == GA_AGAIN) {
            link_note_full(link);
            return status;
        }
        if (status != GA_OK) {
            client_link_lose(link, "the connection ended while sending");
            return status;
        }
        pack_took(&link->pack, sent);
        link->out_start += sent;
        link->out_sent += sent;
        client_link_count(&link->bytes_out, sent);
    }
    emptied(link);
    if (client_link_bulks(link) == 0) {
        pack_emptied(&link->pack);
    }
    return GA_OK;
}

/* What to poll for. */
struct room_polls {
    struct pollfd at[(2 + WIRE_BULKS_MOST) * TRANSPORT_AWAIT_MOST];
    unsigned count;
    bool now; /* something is possible already */
};

static void poll_add(struct room_polls *polls, struct transport_conn *conn, short wanted)
{
    unsigned more = wanted != 0 ? conn->ops->await(conn, wanted, polls->at + polls->count) : 0;
    polls->count += more;
    polls->now = polls->now || (wanted != 0 && more == 0);
}

/* Under send_lock: the sockets that are full. Whoever fills another one meanwhile waits for us, so
 * with several of them we look again soon. */
static void polls_of_full(struct client_link *link, struct room_polls *polls, bool reads)
{
    short data = buffered(link) != 0 || link->exclusive ? POLLOUT : 0;
    struct transport_conn *awaited = link_awaited(link);
    if (reads && awaited == &link->data) {
        data |= POLLIN;
    } else if (reads) {
        poll_add(polls, awaited, POLLIN);
    }
    poll_add(polls, &link->data, data);
    for (unsigned i = 0; i < client_link_bulks(link); i++) {
        poll_add(polls, &link->bulks[i].conn, link->bulks[i].left != 0 ? POLLOUT : 0);
    }
}

void link_wait_for_room(struct client_link *link)
{
    if (link->pumping) {
        pthread_cond_wait(&link->room, &link->send_lock);
        return;
    }
    struct room_polls polls;
    bool reads = link_read_free(link);
    polls.count = 0;
    polls.now = false;
    polls_of_full(link, &polls, reads);
    /* Should another thread that reads leave, we look again. */
    int timeout_ms = reads && client_link_bulks(link) == 0 ? -1 : 1;
    link->pumping = true;
    pthread_mutex_unlock(&link->send_lock);
    if (!polls.now) {
        (void)poll(polls.at, polls.count, timeout_ms);
    }
    if (reads) {
        link_read_try(link);
    }
    pthread_mutex_lock(&link->send_lock);
    link->pumping = false;
    if (client_link_bulks(link) != 0) {
        (void)link_bulk_push(link); /* whosever they are: he may be waiting for us */
    }
    pthread_cond_broadcast(&link->room);
}

static bool make_room(struct client_link *link, size_t room)
{
    if (LINK_BUFFER - link->out_end >= room) {
        return true;
    }
    if (link->out_start != 0 && LINK_BUFFER - buffered(link) >= room) {
        memmove(link->out, link->out + link->out_start, buffered(link));
        link->out_end -= link->out_start;
        link->out_start = 0;
        return true;
    }
    return false;
}

int client_link_lock(struct client_link *link, size_t room)
{
    pthread_mutex_lock(&link->send_lock);
    int dead = atomic_load(&link->dead);
    if (dead == 0 && !link->exclusive && make_room(link, room)) {
        return 0;
    }
    while ((dead = atomic_load(&link->dead)) == 0) {
        if (link->exclusive) {
            pthread_cond_wait(&link->room, &link->send_lock);
        } else if (make_room(link, room)) {
            break;
        } else if (link_push(link) == GA_AGAIN && !make_room(link, room)) {
            link_wait_for_room(link);
        }
    }
    if (dead != 0) {
        pthread_mutex_unlock(&link->send_lock);
    }
    return dead;
}

uint8_t *client_link_at(struct client_link *link)
{
    return link->out + link->out_end;
}

static void remember_switch(struct client_link *link, uint64_t context)
{
    link->context = context;
    link->switches[link->switch_count++ % LINK_SWITCHES] =
        (struct link_switch){.sequence = link->sequence + 1, .context = context};
}

void client_link_context(struct client_link *link, uint16_t session, uint64_t context)
{
    if (context == link->context) {
        return;
    }
    memcpy(client_link_at(link) + sizeof(struct wire_header), &context, sizeof context);
    (void)client_link_frame(link, WIRE_CONTEXT, session, sizeof context, 0, false);
    remember_switch(link, context);
}

uint64_t link_context_of(struct client_link *link, uint64_t sequence)
{
    uint64_t found = 0;
    pthread_mutex_lock(&link->send_lock);
    unsigned kept = link->switch_count < LINK_SWITCHES ? link->switch_count : LINK_SWITCHES;
    for (unsigned i = 1; i <= kept; i++) {
        const struct link_switch *at = &link->switches[(link->switch_count - i) % LINK_SWITCHES];
        if (at->sequence <= sequence) {
            found = at->context;
            break;
        }
    }
    pthread_mutex_unlock(&link->send_lock);
    return found;
}

uint64_t client_link_frame(struct client_link *link, uint16_t opcode, uint16_t session,
                           size_t values, uint64_t bulk, bool call)
{
    uint8_t *at = client_link_at(link);
    uint32_t padded = wire_padded(values);
    memset(at + sizeof(struct wire_header) + values, 0, 16); /* the padding: there is room */
    struct wire_header header = {.length = padded + wire_padded(bulk),
                                 .opcode = opcode,
                                 .session = session,
                                 .sequence = link->sequence + 1};
    link->sequence += call;
    memcpy(at, &header, sizeof header);
    link->out_end += sizeof header + padded;
    atomic_store_explicit(&link->submitted, link->sequence, memory_order_release);
    (void)GA_FAILPOINT("client: call written");
    return header.sequence;
}

void client_link_bulk(struct client_link *link, const void *from, uint64_t bytes)
{
    static const uint8_t zeros[16];
    uint64_t total = (bytes + 15) & ~UINT64_C(15), done = 0;
    bool full = false;
    link->exclusive = true;
    while (done < total && atomic_load(&link->dead) == 0) {
        if (link->pumping) { /* nobody else sends then, see link_push */
            full = true;
            link_wait_for_room(link);
            continue;
        }
        struct iovec pieces[3] = {
            {.iov_base = link->out + link->out_start, .iov_len = buffered(link)}};
        int count = buffered(link) != 0 ? 1 : 0;
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
        enum ga_status status = link->data.ops->send(&link->data, pieces, count, &sent);
        if (status == GA_AGAIN) {
            link_note_full(link);
            full = true;
            link_wait_for_room(link);
            continue;
        }
        if (status != GA_OK) {
            client_link_lose(link, "the connection ended while sending");
            break;
        }
        client_link_count(&link->bytes_out, sent);
        pack_took(&link->pack, sent);
        size_t head = sent < buffered(link) ? sent : buffered(link);
        link->out_start += head;
        link->out_sent += head;
        done += sent - head;
    }
    link->exclusive = false;
    if (!full) {
        pack_emptied(&link->pack);
    }
    if (buffered(link) == 0) {
        emptied(link);
    }
    pthread_cond_broadcast(&link->room);
}

/* The program has waited for everything before: whoever executes it now stands still. Through a
 * socket it still goes along with the next calls: sent by itself, a launch that is waited for takes
 * 1.7 times as long. */
static bool starts_anew(const struct client_link *link)
{
    return link->data.ops->sends_lightly &&
           link->sequence == atomic_load_explicit(&link->answered, memory_order_relaxed) + 1;
}

void client_link_unlock(struct client_link *link, bool now)
{
    bool arm = false;
    if (now || buffered(link) >= LINK_BATCH || starts_anew(link)) {
        (void)link_push(link); /* what does not leave now is in the buffer */
        /* Of what has left without anybody's waiting the answer has to be looked for. */
        arm = !now && atomic_load_explicit(&link->unwaited, memory_order_relaxed) != 0;
    }
    if (buffered(link) != 0 && atomic_load_explicit(&link->oldest_ns, memory_order_relaxed) == 0) {
        atomic_store(&link->oldest_ns, ga_clock_ns());
        arm = true;
    }
    pthread_mutex_unlock(&link->send_lock);
    if (arm && client_link_armed != NULL) {
        client_link_armed();
    }
}

void client_link_flush(struct client_link *link)
{
    pthread_mutex_lock(&link->send_lock);
    if (atomic_load(&link->dead) == 0 && !link->exclusive) {
        (void)link_push(link);
    }
    pthread_mutex_unlock(&link->send_lock);
}

void client_link_rest(struct client_link *link, uint64_t now_ns)
{
    if (link->data.ops->rest == NULL) {
        return;
    }
    pthread_mutex_lock(&link->send_lock);
    if (!link->exclusive && buffered(link) == 0) {
        link->data.ops->rest(&link->data, now_ns);
    }
    pthread_mutex_unlock(&link->send_lock);
}

void link_send_until(struct client_link *link, uint64_t target)
{
    if (target == 0 && atomic_load(&link->oldest_ns) == 0) {
        return; /* what this thread has written has left: else it would have been marked */
    }
    pthread_mutex_lock(&link->send_lock);
    if (target == 0) {
        target = link->out_sent + buffered(link);
    }
    while (link->out_sent < target && atomic_load(&link->dead) == 0) {
        if (link->exclusive) {
            pthread_cond_wait(&link->room, &link->send_lock);
        } else if (link_push(link) == GA_AGAIN) {
            link_wait_for_room(link);
        }
    }
    pthread_mutex_unlock(&link->send_lock);
}
