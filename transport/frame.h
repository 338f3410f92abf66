/* SPDX-License-Identifier: Apache-2.0 */
/* Frames out of a stream of bytes: the receiving half, used by client, control and backend.
 *
 * The reader owns one buffer. Usually a whole frame is looked at in place (frame_next, then
 * frame_drop). A copy's bulk goes past the buffer: frame_values shows the header and the values as
 * soon as they are here, then frame_bulk moves the rest straight to where it belongs. */
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
    uint64_t taken;    /* bytes of the current frame already moved out by frame_bulk */
    bool bulky;        /* the last frame had much bulk, and so may the next one */
};

GA_CHECKED enum ga_status frame_reader_init(struct frame_reader *reader, size_t capacity);
void frame_reader_fini(struct frame_reader *reader);

/* Receives once: GA_OK (something came), GA_AGAIN (nothing there), GA_LOST. Behind a frame with
 * much bulk it takes little, so that the bulk of the next one need not be copied out of the buffer.
 */
GA_CHECKED enum ga_status frame_fill(struct frame_reader *reader, struct transport_conn *conn);

/* The header of the current frame: GA_AGAIN until its 16 bytes are here, GA_INVALID when its length
 * is no multiple of 16. */
GA_CHECKED enum ga_status frame_header(struct frame_reader *reader, struct wire_header *header);

/* Header and at least the first `bytes` of the values, lent until the next call on the reader.
 * GA_AGAIN: not here yet. GA_INVALID: the frame is shorter than that, or `bytes` does not fit. */
GA_CHECKED enum ga_status frame_values(struct frame_reader *reader, size_t bytes,
                                       struct wire_header *header, const uint8_t **values);

/* The whole frame, lent until the next call. GA_INVALID: it is larger than the buffer. */
GA_CHECKED enum ga_status frame_next(struct frame_reader *reader, struct wire_header *header,
                                     const uint8_t **values);
/* Done with the frame that frame_next or frame_values showed and that is wholly in the buffer. */
void frame_drop(struct frame_reader *reader);

/* Moves up to `size` bytes of the current frame, starting `skip` bytes behind its header at the
 * first call, to `to`; from the buffer first, then from the connection without another copy.
 * *got: how many; GA_AGAIN: none now. The caller asks for the whole rest of the frame piece by
 * piece (padding included, see frame_bulk_left) and then calls frame_drop. */
GA_CHECKED enum ga_status frame_bulk(struct frame_reader *reader, struct transport_conn *conn,
                                     size_t skip, void *to, size_t size, size_t *got);
/* Bytes of the current frame that frame_bulk has not moved yet, padding included. */
size_t frame_bulk_left(const struct frame_reader *reader, size_t skip);

#endif
