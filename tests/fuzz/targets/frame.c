/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of frames: whatever the pieces in which bytes arrive, it shows exactly the frames that
 * were sent. */
#include "api/wire.h"
#include "tests/fuzz/conn.h"
#include "transport/frame.h"

struct stream {
    const uint8_t *bytes;
    size_t size, at; /* `at`: where the current frame begins */
    struct transport_conn conn;
    struct frame_reader reader;
    uint64_t random;
};

static struct wire_header sent_header(const struct stream *stream)
{
    struct wire_header header;
    FUZZ_CHECK(stream->size - stream->at >= sizeof header);
    memcpy(&header, stream->bytes + stream->at, sizeof header);
    return header;
}

/* Whether [from, from + size) of the current frame's content is what was sent. */
static bool is_sent(const struct stream *stream, size_t from, const void *bytes, size_t size)
{
    size_t at = stream->at + sizeof(struct wire_header) + from;
    return size == 0 || (at + size <= stream->size && memcmp(stream->bytes + at, bytes, size) == 0);
}

/* A frame looked at in place; what a reader does that wants all of it. */
static enum ga_status whole_frame(struct stream *stream)
{
    struct wire_header header;
    const uint8_t *values;
    GA_TRY(frame_next(&stream->reader, &header, &values));
    struct wire_header sent = sent_header(stream);
    FUZZ_CHECK(memcmp(&header, &sent, sizeof sent) == 0 && is_sent(stream, 0, values, sent.length));
    frame_drop(&stream->reader);
    stream->at += sizeof sent + sent.length;
    return GA_OK;
}

/* A frame whose bulk bytes go past the buffer. GA_LOST: the stream ends within it. */
static enum ga_status bulk_frame(struct stream *stream)
{
    struct wire_header header;
    const uint8_t *values;
    GA_TRY(frame_header(&stream->reader, &header));
    size_t skip = fuzz_random(&stream->random) % 5 * 16;
    skip = skip < header.length ? skip : 0;
    GA_TRY(frame_values(&stream->reader, skip, &header, &values));
    FUZZ_CHECK(is_sent(stream, 0, values, skip));
    size_t done = skip;
    size_t left;
    while ((left = frame_bulk_left(&stream->reader, skip)) != 0) {
        uint8_t piece[1000];
        size_t got = 0;
        size_t size = 1 + fuzz_random(&stream->random) % sizeof piece;
        FUZZ_CHECK(left == header.length - done);
        enum ga_status status = frame_bulk(&stream->reader, &stream->conn, skip, piece, size, &got);
        if (status == GA_LOST) {
            return status;
        }
        FUZZ_CHECK(status == GA_AGAIN ||
                   (status == GA_OK && got != 0 && is_sent(stream, done, piece, got)));
        done += status == GA_OK ? got : 0;
    }
    frame_drop(&stream->reader);
    stream->at += sizeof header + header.length;
    return GA_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t capacities[] = {64, 256, 4096, 131072};
    struct fuzz_input input = {data, size};
    size_t capacity = capacities[fuzz_u8(&input) % 4];
    uint64_t seed = fuzz_u16(&input);
    struct stream stream = {.bytes = input.at, .size = input.left, .random = seed + 1};
    stream.conn = fuzz_conn_open(input.at, input.left, seed);
    FUZZ_CHECK(frame_reader_init(&stream.reader, capacity) == GA_OK);
    enum ga_status status;
    do {
        status =
            (fuzz_random(&stream.random) & 1) != 0 ? whole_frame(&stream) : bulk_frame(&stream);
        if (status == GA_AGAIN) {
            status = frame_fill(&stream.reader, &stream.conn);
        }
    } while (status == GA_OK || status == GA_AGAIN);
    if (status == GA_INVALID) {
        uint32_t length = sent_header(&stream).length;
        FUZZ_CHECK(length % 16 != 0 || sizeof(struct wire_header) + length > capacity * 3 / 4);
    } else {
        FUZZ_CHECK(status == GA_LOST && fuzz_conn_left() == 0);
    }
    frame_reader_fini(&stream.reader);
    fuzz_conn_close();
    return 0;
}
