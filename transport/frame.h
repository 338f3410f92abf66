/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in a stream of bytes: the receiving half, used by client, gpuaasd and backend process.
 *
 * The reader owns a buffer. Usually a whole frame is read in place (frame_next, then
 * frame_drop). The bulk of a copy bypasses the buffer: frame_values shows header and values as
 * soon as they have arrived, and frame_bulk moves the rest directly to its destination. */
#ifndef TRANSPORT_FRAME_H
#define TRANSPORT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/wire.h"
#include "base/status.h"

struct transport_conn;

struct frame_reader {
    uint8_t *buffer; /* 16-aligned, owned; frames start 16-aligned in it */
    size_t capacity;
    size_t start, end; /* unread bytes */
    uint64_t taken;    /* bytes of the current frame that frame_bulk has moved */
    bool bulky;        /* the last frame had much bulk; the next one may as well */
};

GA_CHECKED enum ga_status frame_reader_init(struct frame_reader *reader, size_t capacity);
void frame_reader_fini(struct frame_reader *reader);
/* Makes another reader with a larger buffer, which has the same unread bytes. No frame's bulk is
 * being moved. */
GA_CHECKED enum ga_status frame_reader_enlarge(const struct frame_reader *from, size_t capacity,
                                               struct frame_reader *out);

/* Receives once: GA_OK (some bytes), GA_AGAIN (none), GA_LOST. Behind a frame with much bulk it
 * reads little, so that the next frame's bulk need not be copied out of the buffer. */
GA_CHECKED enum ga_status frame_fill(struct frame_reader *reader, struct transport_conn *conn);

/* The header of the current frame. GA_AGAIN: its 16 bytes have not arrived. GA_INVALID: its
 * length is not a multiple of 16. */
GA_CHECKED enum ga_status frame_header(struct frame_reader *reader, struct wire_header *header);

/* The header and at least the first `bytes` of the values, lent until the next call. GA_AGAIN:
 * they have not arrived. GA_INVALID: the frame is shorter, or `bytes` do not fit into the
 * buffer. */
GA_CHECKED enum ga_status frame_values(struct frame_reader *reader, size_t bytes,
                                       struct wire_header *header, const uint8_t **values);

/* The whole frame, lent until the next call. GA_INVALID: it is larger than the buffer. */
GA_CHECKED enum ga_status frame_next(struct frame_reader *reader, struct wire_header *header,
                                     const uint8_t **values);
/* Drops a frame that frame_next or frame_values has shown and that is wholly in the buffer. */
void frame_drop(struct frame_reader *reader);

/* Moves up to `size` bytes of the current frame to `to`: from the buffer first, then from the
 * connection without another copy. The first call starts `skip` bytes behind the header. *got:
 * the number of bytes; GA_AGAIN: none now. The caller moves the whole rest of the frame in
 * pieces (padding included, see frame_bulk_left) and then calls frame_drop. */
GA_CHECKED enum ga_status frame_bulk(struct frame_reader *reader, struct transport_conn *conn,
                                     size_t skip, void *to, size_t size, size_t *got);
/* Bytes of the current frame that frame_bulk has not moved yet, padding included. */
size_t frame_bulk_left(const struct frame_reader *reader, size_t skip);

#endif
