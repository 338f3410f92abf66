/* SPDX-License-Identifier: Apache-2.0 */
/* The decision to compress, and compressed bytes. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "transport/compress.h"

#define CHUNK 262144u
#define MS    GA_NS_PER_MS

/* A socket that takes `bytes` in `ns`, and is full before and after. */
static void wire(struct compression *compression, uint64_t *now, uint64_t bytes, uint64_t ns)
{
    compression_full(compression, *now);
    compression_took(compression, bytes);
    *now += ns;
    compression_full(compression, *now);
}

Test(compression, a_slow_wire_is_worth_it)
{
    struct compression compression = {.mode = COMPRESSION_AUTO};
    uint64_t now = MS;
    cr_expect_not(compression_wanted(&compression), "nothing is known");
    wire(&compression, &now, CHUNK, 2 * MS); /* 8 ns a byte: 1 Gbit/s */
    for (int i = 0; i < 100; i++) {
        cr_expect(compression_wanted(&compression));
        compression_tried(&compression, CHUNK, CHUNK / 2, MS / 2); /* 2 ns a byte */
        wire(&compression, &now, CHUNK / 2, MS);
    }
    cr_expect_eq(compression.plain_bytes, 100 * CHUNK);
    cr_expect_eq(compression.compressed_bytes, 50 * CHUNK);
    compression_emptied(&compression);
    cr_expect(compression_wanted(&compression),
              "a socket that holds much says nothing about the wire");
    for (int i = 0; i < 100; i++) {
        compression_took(&compression, CHUNK);
    }
    cr_expect_not(compression_wanted(&compression), "the wire takes all there is");
}

Test(compression, a_fast_wire_is_left_alone)
{
    struct compression compression = {.mode = COMPRESSION_AUTO};
    uint64_t now = MS;
    wire(&compression, &now, 16 * CHUNK, MS); /* 0.24 ns a byte */
    for (int i = 0; i < 1000; i++) {
        cr_expect_not(compression_wanted(&compression));
        wire(&compression, &now, 16 * CHUNK, MS);
    }
}

/* How many of `pieces` are tried when packing takes `ns` and leaves `left` bytes. */
static unsigned tried(struct compression *compression, unsigned pieces, uint64_t left, uint64_t ns)
{
    unsigned count = 0;
    uint64_t now = MS;
    wire(compression, &now, CHUNK, 2 * MS);
    for (unsigned i = 0; i < pieces; i++) {
        bool wanted = compression_wanted(compression);
        if (wanted) {
            compression_tried(compression, CHUNK, left, ns);
        }
        count += wanted;
        wire(compression, &now, CHUNK, 2 * MS);
    }
    return count;
}

Test(compression, bytes_that_do_not_get_smaller_are_tried_seldom)
{
    struct compression compression = {.mode = COMPRESSION_AUTO};
    cr_expect_lt(tried(&compression, 1000, 0, MS / 2), 14);
    cr_expect_eq(compression.plain_bytes, 0);
    /* Others come, and are found in the end. */
    cr_expect_gt(tried(&compression, 2000, CHUNK / 4, MS / 2), 1000);
}

Test(compression, a_slow_processor_leaves_it)
{
    struct compression compression = {.mode = COMPRESSION_AUTO};
    cr_expect_lt(tried(&compression, 1000, CHUNK / 2, 3 * MS), 14,
                 "a chunk takes 2 ms on the wire");
}

Test(compression, modes)
{
    struct compression off = {.mode = COMPRESSION_OFF}, always = {.mode = COMPRESSION_ALWAYS};
    uint64_t now = MS;
    wire(&off, &now, CHUNK, 100 * MS);
    cr_expect_not(compression_wanted(&off));
    for (int i = 0; i < 10; i++) {
        cr_expect(compression_wanted(&always));
        compression_tried(&always, CHUNK, 0, 100 * MS);
    }
}

Test(compression, what_was_closed_is_opened)
{
    static uint8_t from[CHUNK], compressed[CHUNK], to[CHUNK + 64];
    for (size_t bytes = 65; bytes <= CHUNK; bytes = bytes * 3 + 1) {
        for (size_t i = 0; i < bytes; i++) {
            from[i] = (uint8_t)(i / 64);
        }
        memset(to, 0xa5, sizeof to);
        size_t size = compress(from, bytes, compressed);
        cr_assert(size != 0 && size <= compression_room(bytes));
        cr_assert_eq(decompress(compressed, size, to, bytes), GA_OK);
        cr_expect_eq(memcmp(from, to, bytes), 0);
        cr_expect_eq(to[bytes], 0xa5);
        /* Anything else is refused, and stays within its bounds. */
        cr_expect_eq(decompress(compressed, size - 1, to, bytes), GA_INVALID);
        cr_expect_eq(decompress(compressed, size, to, bytes - 1), GA_INVALID);
        cr_expect_eq(decompress(compressed, size, to, bytes + 1), GA_INVALID);
        cr_expect_eq(to[bytes + 1], 0xa5);
    }
}

Test(compression, noise_stays_as_it_is)
{
    static uint8_t from[CHUNK], compressed[CHUNK];
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < sizeof from; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        from[i] = (uint8_t)random;
    }
    cr_expect_eq(compress(from, sizeof from, compressed), 0);
    cr_expect_eq(decompress(from, sizeof from, compressed, sizeof compressed), GA_INVALID,
                 "not smaller");
}
