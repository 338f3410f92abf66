/* SPDX-License-Identifier: Apache-2.0 */
/* A ring in shared memory whose other side writes any counters: an honest one's bytes arrive in
 * order, a liar's never lead outside the ring. */
#include "tests/fuzz/input.h"
#include "transport/shm/ring.h"

#define PIECE_MAX (RING_BYTES + 4096u)

static struct ring ring;
static uint8_t bytes[PIECE_MAX];

struct play {
    struct fuzz_input input;
    struct ring_end writer, reader;
    uint64_t written, read;
    bool lied; /* from then on only the bounds count */
};

static uint8_t byte_at(uint64_t at)
{
    return (uint8_t)(at * 31 >> 4);
}

static void write_some(struct play *play, size_t size)
{
    size_t sent = 0, first = size / 3;
    bool wake;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = byte_at(play->written + i);
    }
    const struct iovec pieces[2] = {{bytes, first}, {bytes + first, size - first}};
    if (size != 0 && ring_write(&play->writer, pieces, 2, &sent, &wake) == GA_OK) {
        FUZZ_CHECK(sent != 0 && sent <= size);
        play->written += sent;
    }
}

static void read_some(struct play *play, size_t size)
{
    size_t got = 0;
    bool wake;
    if (size == 0 || ring_read(&play->reader, bytes, size, &got, &wake) != GA_OK) {
        return;
    }
    FUZZ_CHECK(got != 0 && got <= size);
    for (size_t i = 0; i < got && !play->lied; i++) {
        FUZZ_CHECK(bytes[i] == byte_at(play->read + i));
    }
    play->read += got;
    FUZZ_CHECK(play->lied || play->read <= play->written);
}

static size_t piece_size(struct fuzz_input *input)
{
    uint64_t number = fuzz_number(input, 2);
    return (size_t)((number & 1) != 0 ? number / 2 % 300 : number * 9 % PIECE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct play play = {
        .input = {data, size}, .writer = {.ring = &ring}, .reader = {.ring = &ring}};
    atomic_store(&ring.written, 0);
    atomic_store(&ring.read, 0);
    for (unsigned turns = 0; play.input.left != 0 && turns < 64; turns++) {
        switch (fuzz_u8(&play.input) % 8) {
        case 0:
            atomic_store(&ring.written, fuzz_number(&play.input, 8));
            play.lied = true;
            break;
        case 1:
            atomic_store(&ring.read, fuzz_number(&play.input, 8));
            play.lied = true;
            break;
        case 2:
            (void)ring_reader_sleeps(&play.reader);
            break;
        case 3:
            (void)ring_writer_sleeps(&play.writer);
            break;
        case 4:
        case 5:
            write_some(&play, piece_size(&play.input));
            break;
        default:
            read_some(&play, piece_size(&play.input));
        }
    }
    return 0;
}
