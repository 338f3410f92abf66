/* SPDX-License-Identifier: Apache-2.0 */
/* The ring alone: order, full, empty, wake-ups, and a peer that writes invalid counters. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transport/shm/ring.h"

struct ends {
    struct ring *ring;
    struct ring_end writer, reader;
};

static struct ends ends_make(void)
{
    struct ring *ring = aligned_alloc(128, sizeof *ring);
    memset(ring, 0, sizeof *ring);
    return (struct ends){ring, {.ring = ring}, {.ring = ring}};
}

static enum ga_status write_bytes(struct ends *ends, const void *from, size_t size, size_t *sent,
                                  bool *wake)
{
    struct iovec pieces[2] = {{(void *)(uintptr_t)from, size / 3},
                              {(uint8_t *)(uintptr_t)from + size / 3, size - size / 3}};
    *wake = false;
    return ring_write(&ends->writer, pieces, 2, sent, wake);
}

Test(ring, bytes_come_out_as_they_went_in)
{
    struct ends ends = ends_make();
    uint8_t *out = malloc(RING_BYTES), *in = malloc(RING_BYTES);
    uint64_t written = 0, read = 0;
    uint32_t seed = 1;
    while (read < 20 * (uint64_t)RING_BYTES) {
        size_t size = (seed = seed * 1664525 + 1013904223) % RING_BYTES, sent, got;
        bool wake;
        for (size_t i = 0; i < size; i++) {
            out[i] = (uint8_t)((written + i) * 31 >> 4);
        }
        if (size != 0 && write_bytes(&ends, out, size, &sent, &wake) == GA_OK) {
            cr_assert_leq(sent, size);
            written += sent;
        }
        size = (seed = seed * 1664525 + 1013904223) % RING_BYTES + 1;
        if (ring_read(&ends.reader, in, size, &got, &wake) == GA_OK) {
            for (size_t i = 0; i < got; i++) {
                cr_assert_eq(in[i], (uint8_t)((read + i) * 31 >> 4));
            }
            read += got;
        }
        cr_assert_leq(read, written);
    }
    free(out);
    free(in);
    free(ends.ring);
}

Test(ring, full_and_empty_say_again)
{
    struct ends ends = ends_make();
    uint8_t *bytes = calloc(1, RING_BYTES + 10);
    size_t count;
    bool wake;
    cr_assert_eq(ring_read(&ends.reader, bytes, 10, &count, &wake), GA_AGAIN);
    cr_assert_eq(write_bytes(&ends, bytes, RING_BYTES + 10, &count, &wake), GA_OK);
    cr_assert_eq(count, RING_BYTES);
    cr_assert_eq(write_bytes(&ends, bytes, 1, &count, &wake), GA_AGAIN);
    cr_assert_eq(ring_read(&ends.reader, bytes, RING_BYTES + 10, &count, &wake), GA_OK);
    cr_assert_eq(count, RING_BYTES);
    cr_assert_eq(ring_read(&ends.reader, bytes, 10, &count, &wake), GA_AGAIN);
    free(bytes);
    free(ends.ring);
}

Test(ring, who_sleeps_is_woken_once)
{
    struct ends ends = ends_make();
    uint8_t *bytes = calloc(1, RING_BYTES);
    size_t count;
    bool wake;
    cr_assert(ring_reader_sleeps(&ends.reader));
    cr_assert_eq(write_bytes(&ends, bytes, 3, &count, &wake), GA_OK);
    cr_assert(wake);
    cr_assert_eq(write_bytes(&ends, bytes, 3, &count, &wake), GA_OK);
    cr_assert_not(wake);
    cr_assert_not(ring_reader_sleeps(&ends.reader)); /* there are bytes */
    cr_assert_eq(write_bytes(&ends, bytes, RING_BYTES - 6, &count, &wake), GA_OK);
    cr_assert(ring_writer_sleeps(&ends.writer));
    cr_assert_eq(ring_read(&ends.reader, bytes, 1, &count, &wake), GA_OK);
    cr_assert_not(wake, "for one byte of room nobody is woken");
    cr_assert_eq(ring_read(&ends.reader, bytes, RING_BYTES / 2, &count, &wake), GA_OK);
    cr_assert(wake);
    cr_assert_not(ring_writer_sleeps(&ends.writer));
    free(bytes);
    free(ends.ring);
}

Test(ring, counters_that_lie_are_the_end)
{
    struct ends ends = ends_make();
    uint8_t byte = 0;
    size_t count;
    bool wake;
    atomic_store(&ends.ring->written, RING_BYTES + 1);
    cr_assert_eq(ring_read(&ends.reader, &byte, 1, &count, &wake), GA_LOST);
    ends.reader.other = 0;
    atomic_store(&ends.ring->written, UINT64_MAX);
    cr_assert_eq(ring_read(&ends.reader, &byte, 1, &count, &wake), GA_LOST);
    atomic_store(&ends.ring->written, 0);
    atomic_store(&ends.ring->read, 1); /* more than was written */
    ends.writer.other = UINT64_MAX - RING_BYTES + 1;
    cr_assert_eq(write_bytes(&ends, &byte, 1, &count, &wake), GA_LOST);
    free(ends.ring);
}

static unsigned resident(const struct ring *ring)
{
    unsigned char pages[sizeof *ring / 4096 + 1];
    unsigned count = 0;
    cr_assert_eq(mincore((void *)(uintptr_t)ring, sizeof *ring, pages), 0);
    for (size_t i = 0; i < sizeof *ring / 4096; i++) {
        count += pages[i] & 1;
    }
    return count;
}

Test(ring, an_empty_one_gives_its_memory_back_and_goes_on)
{
    struct ring *ring =
        mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct ends ends = {ring, {.ring = ring}, {.ring = ring}};
    uint8_t *bytes = malloc(RING_BYTES), *in = malloc(RING_BYTES);
    size_t sent, got;
    bool wake;
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < RING_BYTES; i++) {
            bytes[i] = (uint8_t)(i * 3 + round);
        }
        cr_assert_eq(write_bytes(&ends, bytes, RING_BYTES - 100, &sent, &wake), GA_OK);
        unsigned full = resident(ring);
        cr_assert_gt(full, 100);
        cr_assert_not(ring_idle(&ends.writer), "somebody has not read it");
        cr_assert_eq(resident(ring), full);
        for (size_t at = 0; at < sent; at += got) {
            cr_assert_eq(ring_read(&ends.reader, in + at, sent - at, &got, &wake), GA_OK);
        }
        cr_assert_eq(memcmp(bytes, in, sent), 0);
        cr_assert(ring_idle(&ends.writer));
        cr_assert_lt(resident(ring), 4);
    }
    free(bytes);
    free(in);
    munmap(ring, sizeof *ring);
}
