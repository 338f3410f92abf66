/* The side connection: pings both ways. It alone decides whether a client is still there: a data
 * connection that does not drain is not dead. */
#include "base/clock.h"
#include "base/log.h"
#include "server/admission.h"

#define PING_EVERY_NS (2 * GA_NS_PER_S)
#define DEAD_AFTER_MS 30000u

enum ga_status side_send(struct transport_conn *conn, const void *frame, size_t size)
{
    struct iovec piece = {(void *)(uintptr_t)frame, size};
    size_t sent;
    GA_TRY(conn->ops->send(conn, &piece, 1, &sent));
    return sent == size ? GA_OK : GA_LOST; /* so few bytes always fit into a live socket */
}

void side_open(struct side *side, const struct transport_conn *conn,
               const struct frame_reader *reader)
{
    *side = (struct side){.open = true, .conn = *conn, .reader = *reader};
    side->heard_ns = ga_clock_ns();
    side->sent_ns = side->heard_ns;
    if (conn->ops->set_dead_after(&side->conn, DEAD_AFTER_MS) != GA_OK) {
        ga_debug("this transport cannot tell a dead peer by itself");
    }
}

static enum ga_status ping_send(struct side *side, uint16_t opcode, uint64_t sequence)
{
    const struct wire_header header = {.opcode = opcode, .sequence = sequence};
    enum ga_status status = side_send(&side->conn, &header, sizeof header);
    side->sent_ns = ga_clock_ns();
    return status == GA_AGAIN ? GA_OK : status; /* it is full of pings already */
}

static enum ga_status side_frames(struct side *side)
{
    for (;;) {
        struct wire_header header;
        const uint8_t *values;
        enum ga_status status = frame_next(&side->reader, &header, &values);
        if (status == GA_AGAIN) {
            status = frame_fill(&side->reader, &side->conn);
            if (status != GA_OK) {
                return status == GA_AGAIN ? GA_OK : status;
            }
            side->heard_ns = ga_clock_ns();
            continue;
        }
        GA_TRY(status);
        if (header.opcode == WIRE_PING) {
            GA_TRY(ping_send(side, WIRE_PONG, header.sequence));
        } else if (header.opcode != WIRE_PONG) {
            return GA_INVALID;
        }
        frame_drop(&side->reader);
    }
}

enum ga_status side_turn(struct side *side)
{
    GA_TRY(side_frames(side));
    uint64_t now = ga_clock_ns();
    if (now - side->heard_ns > DEAD_AFTER_MS * GA_NS_PER_MS) {
        return GA_LOST;
    }
    if (now - side->heard_ns >= PING_EVERY_NS && now - side->sent_ns >= PING_EVERY_NS) {
        return ping_send(side, WIRE_PING, 0);
    }
    return GA_OK;
}
