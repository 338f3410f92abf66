/* SPDX-License-Identifier: Apache-2.0 */
/* Frames are read correctly, however the stream is split. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/frame.h"
#include "transport/tcp.h"

struct wire_end {
    struct transport_conn conn;
    int peer;
};

static struct wire_end wire_open(void)
{
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    return (struct wire_end){.conn = {.ops = &transport_tcp, .fd = fds[0]}, .peer = fds[1]};
}

static void put(int fd, uint16_t opcode, uint64_t sequence, uint32_t length, uint8_t first)
{
    struct wire_header header = {.length = length, .opcode = opcode, .sequence = sequence};
    cr_assert_eq(write(fd, &header, sizeof header), (ssize_t)sizeof header);
    uint8_t bytes[2048];
    cr_assert(length <= sizeof bytes);
    for (uint32_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)(first + i);
    }
    cr_assert_eq(write(fd, bytes, length), (ssize_t)length);
}

Test(frame, whole_frames_in_order)
{
    struct wire_end end = wire_open();
    struct frame_reader reader;
    cr_assert_eq(frame_reader_init(&reader, 1024), GA_OK);
    struct wire_header header;
    const uint8_t *values;
    cr_assert_eq(frame_next(&reader, &header, &values), GA_AGAIN);
    for (int round = 0; round < 50; round++) {
        put(end.peer, 64, (uint64_t)round, (uint32_t)(round % 8) * 16, (uint8_t)round);
        enum ga_status status;
        while ((status = frame_next(&reader, &header, &values)) == GA_AGAIN) {
            cr_assert_eq(frame_fill(&reader, &end.conn), GA_OK);
        }
        cr_assert_eq(status, GA_OK);
        cr_assert_eq(header.sequence, (uint64_t)round);
        cr_assert_eq((uintptr_t)values % 16, 0);
        for (uint32_t i = 0; i < header.length; i++) {
            cr_assert_eq(values[i], (uint8_t)((uint32_t)round + i));
        }
        frame_drop(&reader);
    }
    frame_reader_fini(&reader);
    end.conn.ops->close(&end.conn);
    close(end.peer);
}

static void take_bulk(struct frame_reader *reader, struct transport_conn *conn, uint8_t *to,
                      size_t size)
{
    for (size_t done = 0, got; done < size; done += got) {
        cr_assert_eq(frame_bulk(reader, conn, 0, to + done, size - done, &got), GA_OK);
    }
}

/* Little of the second large frame enters the buffer; all of the following frames does. */
Test(frame, bulk_behind_bulk_is_not_copied)
{
    enum { BULK = 64 << 10, LARGE = 2032 };
    static uint8_t bulk[BULK], from[BULK];
    const struct wire_header large = {.length = BULK, .opcode = 70};
    struct wire_end end = wire_open();
    struct frame_reader reader;
    struct wire_header header;
    const uint8_t *values;
    cr_assert_eq(frame_reader_init(&reader, 4096), GA_OK);
    for (int round = 0; round < 2; round++) {
        memset(from, 'a' + round, sizeof from);
        cr_assert_eq(write(end.peer, &large, sizeof large), (ssize_t)sizeof large);
        cr_assert_eq(write(end.peer, from, sizeof from), (ssize_t)sizeof from);
        cr_assert_eq(frame_fill(&reader, &end.conn), GA_OK);
        cr_assert_eq(frame_values(&reader, 0, &header, &values), GA_OK);
        cr_assert(round == 0 ? reader.end == 4096 : reader.end <= 256);
        take_bulk(&reader, &end.conn, bulk, sizeof bulk);
        cr_assert_eq(frame_bulk_left(&reader, 0), 0);
        frame_drop(&reader);
        cr_assert_arr_eq(bulk, from, sizeof bulk);
    }
    put(end.peer, 71, 3, LARGE, 5);
    put(end.peer, 72, 4, 16, 6);
    unsigned fills = 0;
    for (; frame_next(&reader, &header, &values) == GA_AGAIN; fills++) {
        cr_assert_eq(frame_fill(&reader, &end.conn), GA_OK);
    }
    cr_assert_leq(fills, 2);
    cr_assert_eq(values[LARGE - 1], (uint8_t)(5 + LARGE - 1));
    frame_drop(&reader);
    cr_assert_eq(frame_next(&reader, &header, &values), GA_OK);
    cr_assert_eq(header.opcode, 72);
    frame_drop(&reader);
    frame_reader_fini(&reader);
    end.conn.ops->close(&end.conn);
    close(end.peer);
}

Test(frame, bulk_goes_past_the_buffer)
{
    struct wire_end end = wire_open();
    struct frame_reader reader;
    cr_assert_eq(frame_reader_init(&reader, 256), GA_OK);
    put(end.peer, 70, 1, 16 + 1008, 0); /* 16 bytes of values, then bulk: larger than the buffer */
    put(end.peer, 71, 2, 32, 9);
    struct wire_header header;
    const uint8_t *values;
    while (frame_values(&reader, 16, &header, &values) == GA_AGAIN) {
        cr_assert_eq(frame_fill(&reader, &end.conn), GA_OK);
    }
    cr_assert_eq(values[3], 3);
    uint8_t bulk[1008];
    size_t done = 0;
    while (done < sizeof bulk) {
        size_t got, piece = sizeof bulk - done < 100 ? sizeof bulk - done : 100;
        cr_assert_eq(frame_bulk(&reader, &end.conn, 16, bulk + done, piece, &got), GA_OK);
        done += got;
    }
    cr_assert_eq(frame_bulk_left(&reader, 16), 0);
    frame_drop(&reader);
    for (size_t i = 0; i < sizeof bulk; i++) {
        cr_assert_eq(bulk[i], (uint8_t)(16 + i));
    }
    while (frame_next(&reader, &header, &values) == GA_AGAIN) {
        cr_assert_eq(frame_fill(&reader, &end.conn), GA_OK);
    }
    cr_assert_eq(header.opcode, 71);
    cr_assert_eq(values[31], 40);
    frame_reader_fini(&reader);
    end.conn.ops->close(&end.conn);
    close(end.peer);
}

/* Values may fill a frame or a buffer of 256 bytes, and no more. */
Test(frame, values_lie_in_their_frame)
{
    static const struct {
        uint32_t length;
        size_t values;
        enum ga_status status;
    } cases[] = {{32, 32, GA_OK},
                 {32, 33, GA_INVALID},
                 {32, 48, GA_INVALID},
                 {256, 256 * 3 / 4 - sizeof(struct wire_header), GA_OK},
                 {256, 256 * 3 / 4 - sizeof(struct wire_header) + 1, GA_INVALID}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire_end end = wire_open();
        struct frame_reader reader;
        struct wire_header header;
        const uint8_t *values;
        enum ga_status status;
        cr_assert_eq(frame_reader_init(&reader, 256), GA_OK);
        put(end.peer, 70, 1, cases[i].length, 0);
        put(end.peer, 71, 2, 64, 0);
        do {
            cr_assert_eq(frame_fill(&reader, &end.conn), GA_OK);
        } while ((status = frame_values(&reader, cases[i].values, &header, &values)) == GA_AGAIN);
        cr_expect_eq(status, cases[i].status, "%zu", i);
        frame_reader_fini(&reader);
        end.conn.ops->close(&end.conn);
        close(end.peer);
    }
}

Test(frame, wrong_lengths_are_invalid)
{
    struct wire_end end = wire_open();
    struct frame_reader reader;
    cr_assert_eq(frame_reader_init(&reader, 256), GA_OK);
    struct wire_header header = {.length = 17};
    cr_assert_eq(write(end.peer, &header, sizeof header), (ssize_t)sizeof header);
    cr_assert_eq(frame_fill(&reader, &end.conn), GA_OK);
    const uint8_t *values;
    cr_assert_eq(frame_next(&reader, &header, &values), GA_INVALID);
    frame_reader_fini(&reader);
    cr_assert_eq(frame_reader_init(&reader, 256), GA_OK);
    header = (struct wire_header){.length = 4096};
    cr_assert_eq(write(end.peer, &header, sizeof header), (ssize_t)sizeof header);
    cr_assert_eq(frame_fill(&reader, &end.conn), GA_OK);
    cr_assert_eq(frame_next(&reader, &header, &values), GA_INVALID);
    frame_reader_fini(&reader);
    end.conn.ops->close(&end.conn);
    close(end.peer);
}

Test(frame, a_larger_buffer_has_the_same_bytes)
{
    struct wire_end end = wire_open();
    struct frame_reader small, large;
    struct wire_header header;
    const uint8_t *values;
    cr_assert_eq(frame_reader_init(&small, 1024), GA_OK);
    for (uint16_t i = 0; i < 3; i++) {
        put(end.peer, i, i, 160, (uint8_t)(7 * i));
    }
    cr_assert_eq(frame_fill(&small, &end.conn), GA_OK);
    cr_assert_eq(frame_next(&small, &header, &values), GA_OK);
    frame_drop(&small);
    cr_assert_eq(frame_reader_enlarge(&small, 4096, &large), GA_OK);
    frame_reader_fini(&small);
    put(end.peer, 3, 3, 2048, 21); /* too large for the first one */
    for (uint16_t i = 1; i < 4; i++) {
        enum ga_status status;
        while ((status = frame_next(&large, &header, &values)) == GA_AGAIN) {
            cr_assert_eq(frame_fill(&large, &end.conn), GA_OK);
        }
        cr_assert_eq(status, GA_OK);
        cr_expect_eq(header.opcode, i);
        cr_expect_eq((uintptr_t)values % 16, 0);
        cr_expect_eq(values[header.length - 1], (uint8_t)(7 * i + header.length - 1));
        frame_drop(&large);
    }
    frame_reader_fini(&large);
    end.conn.ops->close(&end.conn);
    close(end.peer);
}
