/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of whole frames, of one direction of a connection: bytes go in, other bytes come out. Only
 * in builds for tests (GPUAAS_FAULT). */
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
    uint64_t cut, twice, swap, lengthen; /* the frame that it happens to, from 1; 0: none */
    uint64_t frame;                      /* the number of the current one */
    uint8_t header[sizeof(struct wire_header)];
    size_t header_bytes; /* of `header`, that are here */
    uint32_t length, at; /* of the current frame, behind its header */
    struct fault_bytes out, kept;
    size_t taken; /* of `out` */
    bool ended;   /* behind what was cut nothing comes any more */
};

static inline bool fault_frames_armed(const struct fault_frames *frames)
{
    return (frames->cut | frames->twice | frames->swap | frames->lengthen) != 0;
}

/* All that came at once: a frame that should change places does so only with one that has come
 * with it, else the next one does; so that nobody waits for what is kept. GA_NO_MEMORY. */
GA_CHECKED enum ga_status fault_frames_put(struct fault_frames *frames, const uint8_t *bytes,
                                           size_t size);
static inline bool fault_frames_any(const struct fault_frames *frames)
{
    return frames->taken != frames->out.size;
}

/* What has come out: sends all of it, for nobody comes again for it (GA_LOST: it cannot within
 * seconds); or takes some of it (GA_AGAIN: there is nothing). */
GA_CHECKED enum ga_status fault_frames_send(struct fault_frames *frames,
                                            struct transport_conn *conn);
GA_CHECKED enum ga_status fault_frames_take(struct fault_frames *frames, void *to, size_t size,
                                            size_t *got);
void fault_frames_fini(struct fault_frames *frames);

#endif
