/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in a stream of bytes. While a frame's bulk is being moved, its header and values stay
 * at `start`, `taken` counts the moved bytes, and the buffer holds no byte of the bulk. */
#include "transport/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"

#define BULKY 16384u /* bytes of bulk from which a frame counts as bulky */
#define LOOK  256u   /* room for header and values of calls with bulk */

enum ga_status frame_reader_init(struct frame_reader *reader, size_t capacity)
{
    *reader = (struct frame_reader){.capacity = capacity & ~(size_t)15};
    reader->buffer = aligned_alloc(64, (capacity + 63) & ~(size_t)63);
    return reader->buffer != NULL ? GA_OK : GA_NO_MEMORY;
}

void frame_reader_fini(struct frame_reader *reader)
{
    free(reader->buffer);
    *reader = (struct frame_reader){0};
}

enum ga_status frame_reader_enlarge(const struct frame_reader *from, size_t capacity,
                                    struct frame_reader *out)
{
    size_t unread = from->end - from->start;
    assert(from->taken == 0 && unread <= capacity);
    GA_TRY(frame_reader_init(out, capacity));
    memcpy(out->buffer, from->buffer + from->start, unread);
    out->end = unread;
    return GA_OK;
}

static struct wire_header header_at(const struct frame_reader *reader)
{
    struct wire_header header;
    memcpy(&header, reader->buffer + reader->start, sizeof header);
    return header;
}

enum ga_status frame_fill(struct frame_reader *reader, struct transport_conn *conn)
{
    size_t most = reader->capacity;
    if (reader->start == reader->end) {
        reader->start = 0;
        reader->end = 0;
        most = reader->bulky && LOOK < most ? LOOK : most;
    } else if (reader->capacity - reader->end < reader->capacity / 4) {
        memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
        reader->end -= reader->start;
        reader->start = 0;
    }
    if (reader->end == reader->capacity) {
        return GA_AGAIN; /* full of frames that the caller has not read */
    }
    size_t got;
    GA_TRY(conn->ops->receive(conn, reader->buffer + reader->end, most - reader->end, &got));
    reader->end += got;
    return GA_OK;
}

enum ga_status frame_header(struct frame_reader *reader, struct wire_header *header)
{
    if (reader->end - reader->start < sizeof *header) {
        return GA_AGAIN;
    }
    struct wire_header found = header_at(reader);
    if (found.length % 16 != 0) {
        return GA_INVALID;
    }
    *header = found;
    return GA_OK;
}

enum ga_status frame_values(struct frame_reader *reader, size_t bytes, struct wire_header *header,
                            const uint8_t **values)
{
    struct wire_header found;
    GA_TRY(frame_header(reader, &found));
    if (bytes > found.length || sizeof found + bytes > reader->capacity * 3 / 4) {
        return GA_INVALID;
    }
    if (reader->end - reader->start < sizeof found + bytes) {
        return GA_AGAIN;
    }
    *header = found;
    *values = reader->buffer + reader->start + sizeof found;
    return GA_OK;
}

enum ga_status frame_next(struct frame_reader *reader, struct wire_header *header,
                          const uint8_t **values)
{
    struct wire_header found;
    GA_TRY(frame_header(reader, &found));
    return frame_values(reader, found.length, header, values);
}

void frame_drop(struct frame_reader *reader)
{
    struct wire_header header = header_at(reader);
    reader->bulky = reader->taken >= BULKY;
    reader->start += sizeof header + header.length - reader->taken;
    assert(reader->start <= reader->end); /* the whole frame was in the buffer */
    reader->taken = 0;
}

size_t frame_bulk_left(const struct frame_reader *reader, size_t skip)
{
    return header_at(reader).length - skip - reader->taken;
}

enum ga_status frame_bulk(struct frame_reader *reader, struct transport_conn *conn, size_t skip,
                          void *to, size_t size, size_t *got)
{
    size_t left = frame_bulk_left(reader, skip);
    size = size < left ? size : left;
    size_t head = sizeof(struct wire_header) + skip;
    size_t here = reader->end - reader->start - head;
    if (size == 0 || here == 0) {
        if (size == 0) {
            *got = 0;
            return GA_OK;
        }
        GA_TRY(conn->ops->receive(conn, to, size, got));
        reader->taken += *got;
        return GA_OK;
    }
    /* Takes bulk from the buffer, then moves header and values next to the rest. */
    size_t part = here < size ? here : size;
    memcpy(to, reader->buffer + reader->start + head, part);
    memmove(reader->buffer + reader->start + part, reader->buffer + reader->start, head);
    reader->start += part;
    reader->taken += part;
    *got = part;
    return GA_OK;
}
