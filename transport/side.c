/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of a side connection. */
#include "transport/side.h"

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

void transport_side_init(struct transport_side *side, const struct transport_conn *conn,
                         const struct frame_reader *reader, unsigned dead_after_ms)
{
    side->conn = *conn;
    side->reader = *reader;
    side->shown = false;
    side->out_bytes = 0;
    pthread_mutex_init(&side->lock, NULL);
    ga_liveness_init(&side->liveness, dead_after_ms * GA_NS_PER_MS, ga_clock_ns());
    if (conn->ops->set_dead_after(&side->conn, dead_after_ms) != GA_OK) {
        ga_debug("this transport cannot tell a dead peer by itself: pings alone decide");
    }
}

void transport_side_fini(struct transport_side *side)
{
    side->conn.ops->close(&side->conn);
    frame_reader_fini(&side->reader);
    pthread_mutex_destroy(&side->lock);
}

/* ---- sending; under the lock */

static enum ga_status side_out_send(struct transport_side *side)
{
    while (side->out_bytes != 0) {
        struct iovec piece = {side->out, side->out_bytes};
        size_t sent;
        GA_TRY(side->conn.ops->send(&side->conn, &piece, 1, &sent));
        side->out_bytes -= sent;
        memmove(side->out, side->out + sent, side->out_bytes);
    }
    return GA_OK;
}

static enum ga_status out_append(struct transport_side *side, uint16_t opcode, uint64_t sequence,
                                 const void *values, size_t size)
{
    const struct wire_header header = {
        .length = (uint32_t)size, .opcode = opcode, .sequence = sequence};
    if (sizeof header + size > sizeof side->out - side->out_bytes) {
        return GA_AGAIN;
    }
    memcpy(side->out + side->out_bytes, &header, sizeof header);
    if (size != 0) {
        memcpy(side->out + side->out_bytes + sizeof header, values, size);
    }
    side->out_bytes += sizeof header + size;
    enum ga_status status = side_out_send(side);
    return status == GA_AGAIN ? GA_OK : status;
}

enum ga_status transport_side_send(struct transport_side *side, uint16_t opcode, uint64_t sequence,
                                   const void *values, size_t size)
{
    pthread_mutex_lock(&side->lock);
    enum ga_status status = out_append(side, opcode, sequence, values, size);
    pthread_mutex_unlock(&side->lock);
    return status;
}

unsigned transport_side_poll_prepare(struct transport_side *side, struct pollfd *fds)
{
    pthread_mutex_lock(&side->lock);
    short events = side->out_bytes != 0 ? POLLIN | POLLOUT : POLLIN;
    pthread_mutex_unlock(&side->lock);
    return side->conn.ops->poll_prepare(&side->conn, events, fds);
}

/* Sends what waits; the rest waits on. */
static enum ga_status flush(struct transport_side *side)
{
    pthread_mutex_lock(&side->lock);
    enum ga_status status = side_out_send(side);
    pthread_mutex_unlock(&side->lock);
    return status == GA_AGAIN ? GA_OK : status;
}

/* ---- receiving */

static enum ga_status pong(struct transport_side *side, uint64_t sequence)
{
    enum ga_status status = transport_side_send(side, WIRE_PONG, sequence, NULL, 0);
    return status == GA_AGAIN ? GA_OK : status; /* the peer has enough pings to read */
}

enum ga_status transport_side_receive(struct transport_side *side, struct wire_header *header,
                                      const uint8_t **values)
{
    GA_TRY(flush(side));
    for (;;) {
        if (side->shown) {
            frame_drop(&side->reader);
            side->shown = false;
        }
        enum ga_status status = frame_next(&side->reader, header, values);
        if (status == GA_AGAIN) {
            GA_TRY(frame_fill(&side->reader, &side->conn));
            ga_liveness_heard(&side->liveness);
            continue;
        }
        GA_TRY(status);
        side->shown = true;
        if (header->opcode == WIRE_PING) {
            GA_TRY(pong(side, header->sequence));
        } else if (header->opcode != WIRE_PONG) {
            return GA_OK;
        }
    }
}

/* ---- liveness */

/* Whether there are unread bytes: then the peer is not silent. */
static bool readable(struct transport_side *side)
{
    struct pollfd fds[TRANSPORT_POLL_MAX];
    unsigned count = side->conn.ops->poll_prepare(&side->conn, POLLIN, fds);
    return count == 0 || poll(fds, count, 0) > 0;
}

enum ga_status transport_side_heartbeat(struct transport_side *side, uint64_t now_ns)
{
    enum ga_liveness_answer answer = ga_liveness_look(&side->liveness, now_ns);
    if (answer == GA_LIVENESS_DEAD && !readable(side)) {
        return GA_TIMEOUT;
    }
    pthread_mutex_lock(&side->lock);
    enum ga_status status = side_out_send(side);
    if (status == GA_OK && answer == GA_LIVENESS_PING) {
        status = out_append(side, WIRE_PING, 0, NULL, 0);
    }
    pthread_mutex_unlock(&side->lock);
    return status == GA_AGAIN ? GA_OK : status;
}

uint64_t transport_side_interval_ns(const struct transport_side *side)
{
    return ga_liveness_interval_ns(&side->liveness);
}
