/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's end of the side connection. It alone decides whether a client is still there: a
 * data connection that does not drain is not dead. */
#include "server/backend/side_connection.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/backend/application.h"
#include "server/backend/backend.h"

static enum ga_status host_done(struct server_conn *conn, const struct wire_header *header,
                                const uint8_t *values)
{
    struct ga_reader reader = ga_reader_of(values, header->length);
    uint32_t id = ga_read_u32(&reader);
    if (!ga_reader_done(&reader) || conn == NULL) {
        return GA_INVALID;
    }
    GA_TRY(host_lease_done(&conn->host_calls, id, header->sequence));
    completer_expedite(&conn->completer); /* the next function's turn may have come */
    return GA_OK;
}

const char *side_turn(struct application *application)
{
    struct wire_header header;
    const uint8_t *values;
    enum ga_status status;
    while ((status = transport_side_receive(&application->side, &header, &values)) == GA_OK) {
        status = header.opcode == WIRE_HOST_DONE ? host_done(application->conn, &header, values)
                                                 : GA_INVALID;
        if (status != GA_OK) {
            break;
        }
    }
    if (status == GA_AGAIN) {
        uint64_t now_ns = ga_clock_ns();
        status = transport_side_heartbeat(&application->side, now_ns);
        if (application->conn != NULL) {
            send_queue_idle(&application->conn->out, now_ns);
        }
    }
    switch (status) {
    case GA_OK:
        return NULL;
    case GA_TIMEOUT:
        ga_warn("session ended: no sign of life of the client for %u s",
                application->backend->setup.conf.dead_after_s);
        atomic_store(&application->ledger.figures->silent, 1);
        return "the client is silent";
    case GA_INVALID:
        ga_warn("session ended: bytes on the side connection that are no message");
        return "nonsense on the side connection";
    default:
        return "the side connection is lost";
    }
}
