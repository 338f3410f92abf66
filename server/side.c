/* The backend's end of the side connection. It alone decides whether a client is still there: a
 * data connection that does not drain is not dead. */
#include "base/clock.h"
#include "base/log.h"
#include "server/admission.h"

const char *side_turn(struct backend *backend)
{
    struct wire_header header;
    const uint8_t *values;
    enum ga_status status = transport_side_receive(&backend->side, &header, &values);
    if (status == GA_AGAIN) {
        status = transport_side_beat(&backend->side, ga_clock_ns());
    } else if (status == GA_OK) {
        status = GA_INVALID; /* there is no other message yet */
    }
    switch (status) {
    case GA_OK:
        return NULL;
    case GA_TIMEOUT:
        ga_warn("session ended: no sign of life of the client for %u s",
                backend->setup.dead_after_s);
        return "the client is silent";
    case GA_INVALID:
        ga_warn("session ended: bytes on the side connection that are no message");
        return "nonsense on the side connection";
    default:
        return "the side connection is lost";
    }
}
