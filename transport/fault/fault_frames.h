/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of whole frames in a direction of a connection: it takes bytes and emits other bytes.
 * Only in builds for tests (GPUAAS_FAULT). */
#ifndef TRANSPORT_FAULT_FAULT_FRAMES_H
#define TRANSPORT_FAULT_FAULT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "api/wire.h"
#include "transport/transport.h"

struct fault_bytes {
    uint8_t *at;
    size_t size, room;
};

struct fault_frames {
    uint64_t cut, twice, swap, lengthen; /* the number of the affected frame, from 1; 0: none */
    uint64_t frame;                      /* the number of the current one */
    uint8_t header[sizeof(struct wire_header)];
    size_t header_bytes; /* bytes of `header` that have arrived */
    uint32_t length, at; /* of the current frame, behind the header */
    struct fault_bytes out, kept;
    size_t taken; /* of `out` */
    bool ended;   /* nothing follows a cut frame */
};

static inline bool fault_frames_armed(const struct fault_frames *frames)
{
    return (frames->cut | frames->twice | frames->swap | frames->lengthen) != 0;
}

/* Takes bytes that arrived together. Two frames are swapped only if they arrived together,
 * otherwise the next pair is swapped; so no kept frame blocks the other end. GA_NO_MEMORY. */
GA_CHECKED enum ga_status fault_frames_put(struct fault_frames *frames, const uint8_t *bytes,
                                           size_t size);
static inline bool fault_frames_any(const struct fault_frames *frames)
{
    return frames->taken != frames->out.size;
}

/* Sends all emitted bytes, because nobody calls again (GA_LOST: impossible within seconds); or
 * takes some of them (GA_AGAIN: there are none). */
GA_CHECKED enum ga_status fault_frames_send(struct fault_frames *frames,
                                            struct transport_conn *conn);
GA_CHECKED enum ga_status fault_frames_take(struct fault_frames *frames, void *to, size_t size,
                                            size_t *got);
void fault_frames_fini(struct fault_frames *frames);

#endif
