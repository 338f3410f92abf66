/* SPDX-License-Identifier: Apache-2.0 */
/* The output queue of a data connection. */
#include "server/pipeline/send_queue.h"

#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/wait.h"
#include "server/pipeline/copy_overflow.h"

#define SEND_QUEUE_PIECES 64 /* of one system call */

void send_queue_init(struct send_queue *out, struct transport_conn *conn, struct staging *staging)
{
    *out = (struct send_queue){.conn = conn, .staging = staging};
    pthread_mutex_init(&out->lock, NULL);
    ga_cond_init(&out->drained);
    ga_list_init(&out->frames);
    ga_list_init(&out->stores);
}

/* One of its queues is done with it. */
static void frame_done(struct send_queue *out, struct send_queue_frame *frame)
{
    if (--frame->queues == 0) {
        if (frame->slot != NULL) {
            staging_give(out->staging, frame->slot);
        }
        send_queue_frame_free(frame);
    }
}

/* ---- the limit bandwidth-out; under the lock */

static int pieces_cut(struct iovec *pieces, int count, uint64_t room)
{
    for (int i = 0; i < count; i++) {
        if (pieces[i].iov_len >= room) {
            pieces[i].iov_len = room;
            return i + 1;
        }
        room -= pieces[i].iov_len;
    }
    return count;
}

/* Sends as many of them as are allowed now. GA_AGAIN: the limit or the wire takes none. */
static enum ga_status send_queue_pieces_send(struct send_queue *out, struct transport_conn *conn,
                                             struct iovec *pieces, int count, size_t *sent)
{
    uint64_t room = send_rate_room(&out->rate, out->staging->ledger);
    if (room == 0) {
        return GA_AGAIN;
    }
    return conn->ops->send(conn, pieces, pieces_cut(pieces, count, room), sent);
}

void send_queue_lift(struct send_queue *out)
{
    pthread_mutex_lock(&out->lock);
    out->rate.lifted = true;
    pthread_mutex_unlock(&out->lock);
}

uint64_t send_queue_held_ns(struct send_queue *out)
{
    pthread_mutex_lock(&out->lock);
    uint64_t held_ns = send_rate_held_ns(&out->rate);
    pthread_mutex_unlock(&out->lock);
    return held_ns;
}

uint64_t send_queue_early_ns(struct send_queue *out)
{
    pthread_mutex_lock(&out->lock);
    uint64_t early_ns = send_rate_early_ns(&out->rate, out->staging->ledger);
    pthread_mutex_unlock(&out->lock);
    return early_ns;
}

/* ---- bulk connections; under the lock */

/* That with the fewest bytes before it, in turns: a connection that is slow is asked for less. */
static unsigned bulk_choose(const struct send_queue *out)
{
    unsigned best = (out->bulk_last + 1) % out->bulk_count;
    for (unsigned i = 1; i < out->bulk_count; i++) {
        unsigned other = (out->bulk_last + 1 + i) % out->bulk_count;
        best = out->bulks[other].bytes < out->bulks[best].bytes ? other : best;
    }
    return best;
}

static void prefix_put(struct send_queue_frame *frame, uint32_t connection,
                       uint32_t compressed_bytes)
{
    const struct wire_header header = {.opcode = WIRE_BULK,
                                       .length = SEND_QUEUE_PREFIX_BYTES - sizeof header};
    const uint32_t values[4] = {connection, compressed_bytes};
    memcpy(frame->prefix, &header, sizeof header);
    memcpy(frame->prefix + sizeof header, values, sizeof values);
    frame->start = frame->prefix;
}

static void bulk_append(struct send_queue *out, struct send_queue_frame *frame, bool compressed)
{
    unsigned chosen = bulk_choose(out);
    frame->out_of_band = true;
    frame->head_bytes += compressed ? 0 : SEND_QUEUE_PREFIX_BYTES;
    frame->bulk_bytes -= frame->padding;
    prefix_put(frame, chosen + 1, compressed ? frame->bulk_bytes : 0);
    frame->queues++;
    out->bulk_last = chosen;
    out->bulks[chosen].bytes += frame->bulk_bytes;
    ga_list_append(&out->bulks[chosen].frames, &frame->bulk_link);
}

void send_queue_bulk_use(struct send_queue *out, struct transport_conn *conn)
{
    pthread_mutex_lock(&out->lock);
    struct send_queue_bulk *bulk = &out->bulks[out->bulk_count];
    *bulk = (struct send_queue_bulk){.conn = conn};
    ga_list_init(&bulk->frames);
    out->bulk_count++;
    pthread_mutex_unlock(&out->lock);
}

static void bulk_frame_done(struct send_queue *out, struct send_queue_bulk *bulk)
{
    struct send_queue_frame *frame =
        ga_container(bulk->frames.next, struct send_queue_frame, bulk_link);
    ga_list_remove(&frame->bulk_link);
    bulk->bytes -= frame->bulk_bytes;
    bulk->sent = 0;
    out->bytes -= frame->bulk_bytes;
    frame_done(out, frame);
}

static enum ga_status send_queue_bulk_send(struct send_queue *out, struct send_queue_bulk *bulk,
                                           bool *some)
{
    while (!ga_list_empty(&bulk->frames)) {
        const struct send_queue_frame *frame =
            ga_container(bulk->frames.next, struct send_queue_frame, bulk_link);
        struct iovec piece = {frame->bulk + bulk->sent, frame->bulk_bytes - bulk->sent};
        size_t sent;
        (void)GA_FAILPOINT("backend: before sending");
        GA_TRY(send_queue_pieces_send(out, bulk->conn, &piece, 1, &sent));
        *some = true;
        compression_took(&out->compression, sent);
        ledger_moved(out->staging->ledger, FIGURE_BULK_OUT, sent);
        bulk->sent += sent;
        if (bulk->sent == frame->bulk_bytes) {
            bulk_frame_done(out, bulk);
        }
    }
    return GA_OK;
}

/* ---- the queue */

/* Header and values, and the bulk if it is not apart. */
static size_t frame_whole(const struct send_queue_frame *frame)
{
    return frame->stores ? frame->bulk_bytes
                         : (size_t)frame->head_bytes + (frame->out_of_band ? 0 : frame->bulk_bytes);
}

static void first_done(struct send_queue *out)
{
    struct send_queue_frame *frame = ga_container(out->frames.next, struct send_queue_frame, link);
    ga_list_remove(&frame->link);
    out->bytes -= frame_whole(frame);
    out->own_bytes -= frame->stores ? 0 : frame->head_bytes;
    frame_done(out, frame);
}

static void all_done(struct send_queue *out)
{
    while (!ga_list_empty(&out->frames)) {
        first_done(out);
    }
    for (unsigned i = 0; i < out->bulk_count; i++) {
        while (!ga_list_empty(&out->bulks[i].frames)) {
            bulk_frame_done(out, &out->bulks[i]);
        }
    }
}

/* The next bytes to send, as pieces. */
static int pieces_gather(const struct send_queue *out, struct iovec pieces[SEND_QUEUE_PIECES])
{
    int count = 0;
    size_t skip = out->sent;
    for (struct ga_list *at = out->frames.next;
         at != &out->frames && count + 2 <= SEND_QUEUE_PIECES; at = at->next) {
        struct send_queue_frame *frame = ga_container(at, struct send_queue_frame, link);
        if (frame->stores) {
            break;
        }
        if (skip < frame->head_bytes) {
            pieces[count++] = (struct iovec){frame->start + skip, frame->head_bytes - skip};
            skip = 0;
        } else {
            skip -= frame->head_bytes;
        }
        if (frame->bulk_bytes > skip && !frame->out_of_band) {
            pieces[count++] = (struct iovec){frame->bulk + skip, frame->bulk_bytes - skip};
        }
        skip = 0;
    }
    return count;
}

static void sent_account(struct send_queue *out, size_t sent)
{
    out->sent += sent;
    while (!ga_list_empty(&out->frames)) {
        struct send_queue_frame *frame =
            ga_container(out->frames.next, struct send_queue_frame, link);
        size_t whole = frame_whole(frame);
        if (frame->stores || out->sent < whole) {
            break;
        }
        out->sent -= whole;
        first_done(out);
    }
}

/* ---- bytes that go into the client's memory; under the lock */

/* The first of the queue: from now on the card reads its slot. The limit lets it go as a whole. */
static enum ga_status store_send(struct send_queue *out, struct send_queue_frame *frame)
{
    if (send_rate_room(&out->rate, out->staging->ledger) == 0) {
        return GA_AGAIN;
    }
    const struct overflow_slot *turn_of = frame->slot->of;
    const struct transport_one_sided_copy copy = {.own =
                                                      turn_of != NULL ? &turn_of->lent : &out->lent,
                                                  .here = frame->bulk,
                                                  .there = frame->address,
                                                  .key = frame->key,
                                                  .bytes = frame->bulk_bytes};
    GA_TRY(out->conn->ops->one_sided->store(out->conn, &copy));
    ledger_moved(out->staging->ledger, FIGURE_RDMA_OUT, frame->bulk_bytes);
    ga_list_remove(&frame->link);
    out->bytes -= frame->bulk_bytes;
    ga_list_append(&out->stores, &frame->link);
    atomic_fetch_add(&out->storing, 1);
    return GA_OK;
}

/* Those whose slots have been read. When the connection is lost nobody can say so, and the slots
 * are never used again. */
static void stores_reap(struct send_queue *out)
{
    uint64_t count;
    if (ga_list_empty(&out->stores) ||
        out->conn->ops->one_sided->stored(out->conn, &count) != GA_OK) {
        return;
    }
    for (; out->stored != count; out->stored++) {
        struct send_queue_frame *frame =
            ga_container(out->stores.next, struct send_queue_frame, link);
        ga_list_remove(&frame->link);
        frame_done(out, frame);
        atomic_fetch_sub(&out->storing, 1);
    }
}

void send_queue_store(struct send_queue *out, struct send_queue_frame *store)
{
    store->stores = true;
    store->queues = 1;
    pthread_mutex_lock(&out->lock);
    out->bytes += store->bulk_bytes;
    ga_list_append(&out->frames, &store->link);
    if (out->lost) {
        all_done(out);
    }
    pthread_mutex_unlock(&out->lock);
}

bool send_queue_is_storing(struct send_queue *out)
{
    return atomic_load(&out->storing) != 0;
}

/* ---- sending */

static enum ga_status send_queue_frames_send(struct send_queue *out, bool *some)
{
    while (!ga_list_empty(&out->frames)) {
        struct send_queue_frame *first =
            ga_container(out->frames.next, struct send_queue_frame, link);
        if (first->stores) {
            GA_TRY(store_send(out, first));
            *some = true;
            continue;
        }
        struct iovec pieces[SEND_QUEUE_PIECES];
        int count = pieces_gather(out, pieces);
        size_t sent;
        (void)GA_FAILPOINT("backend: before sending");
        enum ga_status status = send_queue_pieces_send(out, out->conn, pieces, count, &sent);
        if (status == GA_AGAIN && out->compression.mode != COMPRESSION_OFF &&
            out->bulk_count == 0) {
            compression_full(&out->compression, ga_clock_ns());
        }
        GA_TRY(status);
        (void)GA_FAILPOINT("backend: sent");
        compression_took(&out->compression, sent);
        ledger_moved(out->staging->ledger, FIGURE_FRAMES_OUT, sent);
        sent_account(out, sent);
        *some = true;
    }
    if (out->bulk_count == 0) {
        compression_emptied(&out->compression);
    }
    return GA_OK;
}

static void send_queue_put(struct send_queue *out, struct send_queue_frame *frame, bool expedited)
{
    ga_writer_finish(&frame->writer);
    bool compressed = frame->start == frame->prefix;
    frame->head_bytes = (uint32_t)(sizeof(struct wire_header) + frame->writer.at) +
                        (compressed ? SEND_QUEUE_PREFIX_BYTES : 0);
    frame->queues = 1;
    pthread_mutex_lock(&out->lock);
    if (out->bulk_count != 0 && frame->bulk_bytes >= SEND_QUEUE_BULK_MIN) {
        bulk_append(out, frame, compressed);
    }
    uint32_t length = (uint32_t)frame->writer.at + (frame->out_of_band ? 0 : frame->bulk_bytes);
    memcpy(frame->head + offsetof(struct wire_header, length), &length, sizeof length);
    out->bytes += frame->head_bytes + frame->bulk_bytes;
    out->own_bytes += frame->head_bytes;
    bool alone = ga_list_empty(&out->frames);
    ga_list_append(&out->frames, &frame->link);
    if (out->lost) {
        all_done(out);
    } else if (expedited && alone && out->conn->ops->send_is_cheap) {
        bool some = false;                         /* nobody waits for room: nothing was here */
        (void)!send_queue_frames_send(out, &some); /* the flushing thread gets its error, too */
    }
    pthread_mutex_unlock(&out->lock);
}

void send_queue_append(struct send_queue *out, struct send_queue_frame *frame)
{
    send_queue_put(out, frame, false);
}

void send_queue_expedite(struct send_queue *out, struct send_queue_frame *frame)
{
    send_queue_put(out, frame, true);
}

/* ---- compression */

void send_queue_frame_compressed(struct send_queue_frame *frame, uint32_t compressed_bytes)
{
    prefix_put(frame, 0, compressed_bytes);
    frame->bulk_bytes = wire_padded(compressed_bytes);
    frame->padding = frame->bulk_bytes - compressed_bytes;
    memset(frame->bulk + compressed_bytes, 0, frame->padding);
}

/* The wire is full when none of its connections takes more. */
static void compression_notice(struct send_queue *out)
{
    unsigned full = 0;
    for (unsigned i = 0; i < out->bulk_count; i++) {
        full += !ga_list_empty(&out->bulks[i].frames);
    }
    if (full == out->bulk_count) {
        compression_full(&out->compression, ga_clock_ns());
    } else if (full == 0) {
        compression_emptied(&out->compression);
    }
}

enum ga_status send_queue_flush(struct send_queue *out)
{
    bool some = false;
    if (atomic_load(&out->bytes) == 0 && !send_queue_is_storing(out) && !atomic_load(&out->lost)) {
        return GA_OK;
    }
    pthread_mutex_lock(&out->lock);
    enum ga_status status = out->lost ? GA_LOST : send_queue_frames_send(out, &some);
    for (unsigned i = 0; i < out->bulk_count && status != GA_LOST; i++) {
        enum ga_status bulk = send_queue_bulk_send(out, &out->bulks[i], &some);
        status = bulk == GA_OK ? status : bulk;
    }
    if (out->bulk_count != 0 && out->compression.mode != COMPRESSION_OFF) {
        compression_notice(out);
    }
    stores_reap(out);
    out->lost = status == GA_LOST;
    if (some || out->lost) {
        pthread_cond_broadcast(&out->drained);
    }
    pthread_mutex_unlock(&out->lock);
    return status;
}

unsigned send_queue_poll_prepare(struct send_queue *out, struct pollfd *fds)
{
    unsigned count = 0, more;
    bool now = false;
    pthread_mutex_lock(&out->lock);
    if (!ga_list_empty(&out->frames)) {
        count = out->conn->ops->poll_prepare(out->conn, POLLOUT, fds);
        now = count == 0;
    }
    for (unsigned i = 0; i < out->bulk_count; i++) {
        if (!ga_list_empty(&out->bulks[i].frames)) {
            struct transport_conn *conn = out->bulks[i].conn;
            count += more = conn->ops->poll_prepare(conn, POLLOUT, fds + count);
            now = now || more == 0;
        }
    }
    pthread_mutex_unlock(&out->lock);
    return now ? 0 : count;
}

bool send_queue_is_empty(struct send_queue *out)
{
    pthread_mutex_lock(&out->lock);
    bool empty = out->bytes == 0;
    pthread_mutex_unlock(&out->lock);
    return empty;
}

void send_queue_idle(struct send_queue *out, uint64_t now_ns)
{
    pthread_mutex_lock(&out->lock);
    if (out->conn->ops->idle != NULL && ga_list_empty(&out->frames) && !out->lost) {
        out->conn->ops->idle(out->conn, now_ns);
    }
    pthread_mutex_unlock(&out->lock);
}

bool send_queue_is_full(const struct send_queue *out, uint64_t bytes)
{
    return atomic_load(&out->own_bytes) >= bytes;
}

enum ga_status send_queue_wait_room(struct send_queue *out, uint64_t bytes, uint64_t most_ns)
{
    uint64_t until = ga_clock_ns() + most_ns;
    bool late = false;
    pthread_mutex_lock(&out->lock);
    while (send_queue_is_full(out, bytes) && !out->lost && !late) {
        late = !ga_cond_wait_until(&out->drained, &out->lock, until);
    }
    bool full = send_queue_is_full(out, bytes);
    enum ga_status status = out->lost ? GA_LOST : full ? GA_TIMEOUT : GA_OK;
    pthread_mutex_unlock(&out->lock);
    return status;
}

void send_queue_end(struct send_queue *out)
{
    pthread_mutex_lock(&out->lock);
    out->lost = true;
    all_done(out);
    pthread_cond_broadcast(&out->drained);
    pthread_mutex_unlock(&out->lock);
}

void send_queue_close(struct send_queue *out)
{
    pthread_mutex_lock(&out->lock);
    out->conn->ops->close(out->conn);
    ga_list_each (at, next, &out->stores) {
        struct send_queue_frame *frame = ga_container(at, struct send_queue_frame, link);
        ga_list_remove(&frame->link);
        frame_done(out, frame);
    }
    atomic_store(&out->storing, 0);
    pthread_mutex_unlock(&out->lock);
}

void send_queue_fini(struct send_queue *out)
{
    pthread_cond_destroy(&out->drained);
    pthread_mutex_destroy(&out->lock);
}
