/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are broken on purpose. The bounds of frames are those of the input: an error in an
 * output frame does not change where the next one begins here. */
#include "transport/fault/fault_frames.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CUT_BYTES 16u
#define TOO_LONG  0x40000000u /* more than any frame may have */
#define ROOM_MIN  4096u
#define PAUSE_US  500
#define PAUSES    10000u

static enum ga_status frames_append(struct fault_bytes *to, const uint8_t *bytes, size_t size)
{
    if (to->size + size > to->room) {
        size_t room = 2 * (to->size + size) + ROOM_MIN;
        uint8_t *at = realloc(to->at, room);
        if (at == NULL) {
            return GA_NO_MEMORY;
        }
        to->at = at;
        to->room = room;
    }
    if (size != 0) {
        memcpy(to->at + to->size, bytes, size);
        to->size += size;
    }
    return GA_OK;
}

/* Emits some bytes of the current frame. */
static enum ga_status frames_emit(struct fault_frames *frames, const uint8_t *bytes, size_t size)
{
    if (frames->frame == frames->swap) {
        return frames_append(&frames->kept, bytes, size);
    }
    if (frames->frame == frames->twice) {
        GA_TRY(frames_append(&frames->kept, bytes, size));
    }
    return frames_append(&frames->out, bytes, size);
}

static enum ga_status begin_frame(struct fault_frames *frames)
{
    struct wire_header header;
    memcpy(&header, frames->header, sizeof header);
    frames->frame++;
    frames->length = header.length;
    frames->at = 0;
    if (frames->frame == frames->lengthen) {
        header.length |= TOO_LONG;
    }
    bool cut = frames->frame == frames->cut && header.length == 0;
    return frames_emit(frames, (const uint8_t *)&header, cut ? sizeof header / 2 : sizeof header);
}

static enum ga_status frames_release(struct fault_frames *frames)
{
    GA_TRY(frames_append(&frames->out, frames->kept.at, frames->kept.size));
    frames->kept.size = 0;
    return GA_OK;
}

static enum ga_status end_frame(struct fault_frames *frames)
{
    frames->header_bytes = 0;
    frames->ended = frames->frame == frames->cut;
    bool due =
        frames->frame == frames->twice || (frames->swap != 0 && frames->frame == frames->swap + 1);
    return due ? frames_release(frames) : GA_OK;
}

static enum ga_status frames_body(struct fault_frames *frames, const uint8_t *bytes, size_t size)
{
    uint32_t whole = frames->length;
    if (frames->frame == frames->cut && whole != 0) {
        whole -= CUT_BYTES;
    }
    size_t kept = frames->at < whole ? whole - frames->at : 0;
    frames->at += (uint32_t)size;
    return frames_emit(frames, bytes, kept < size ? kept : size);
}

enum ga_status fault_frames_put(struct fault_frames *frames, const uint8_t *bytes, size_t size)
{
    while (size != 0 && !frames->ended) {
        size_t part;
        if (frames->header_bytes < sizeof frames->header) {
            part = sizeof frames->header - frames->header_bytes;
            part = part < size ? part : size;
            memcpy(frames->header + frames->header_bytes, bytes, part);
            frames->header_bytes += part;
            if (frames->header_bytes < sizeof frames->header) {
                return GA_OK;
            }
            GA_TRY(begin_frame(frames));
        } else {
            part = frames->length - frames->at;
            part = part < size ? part : size;
            GA_TRY(frames_body(frames, bytes, part));
        }
        bytes += part;
        size -= part;
        if (frames->at == frames->length) {
            GA_TRY(end_frame(frames));
        }
    }
    if (frames->swap != 0 && frames->frame == frames->swap && frames->header_bytes == 0) {
        frames->swap++; /* there is no frame behind it */
        return frames_release(frames);
    }
    return GA_OK;
}

static void taken(struct fault_frames *frames, size_t size)
{
    frames->taken += size;
    if (frames->taken == frames->out.size) {
        frames->taken = 0;
        frames->out.size = 0;
    }
}

enum ga_status fault_frames_send(struct fault_frames *frames, struct transport_conn *conn)
{
    unsigned pauses = 0;
    while (fault_frames_any(frames)) {
        const struct iovec piece = {frames->out.at + frames->taken,
                                    frames->out.size - frames->taken};
        size_t sent = 0;
        enum ga_status status = conn->ops->send(conn, &piece, 1, &sent);
        if (status == GA_AGAIN && pauses++ < PAUSES) {
            (void)usleep(PAUSE_US);
        } else if (status != GA_OK) {
            return GA_LOST;
        }
        taken(frames, sent);
    }
    return GA_OK;
}

enum ga_status fault_frames_take(struct fault_frames *frames, void *to, size_t size, size_t *got)
{
    if (!fault_frames_any(frames)) {
        return GA_AGAIN;
    }
    size_t left = frames->out.size - frames->taken;
    *got = left < size ? left : size;
    memcpy(to, frames->out.at + frames->taken, *got);
    taken(frames, *got);
    return GA_OK;
}

void fault_frames_fini(struct fault_frames *frames)
{
    free(frames->out.at);
    free(frames->kept.at);
}
