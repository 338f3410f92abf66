/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of copies that are packed: by the data connection and beside it; and what is none. */
#include <stdlib.h>

#include "server/tests/bulk_app.h"

TestSuite(compression, .init = start, .fini = stop, .timeout = 60);

/* Starts the application again, as one that takes packed bytes. */
static void start_packing(void)
{
    script_app_close(&app);
    script_takes = HANDSHAKE_TAKES_COMPRESSED | HANDSHAKE_WANTS_COMPRESSED;
    script_app_start(&app, server.url, 0);
    script_takes = 0;
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(i / 100);
    }
}

static void compressed_in(uint64_t at, uint64_t bytes, const void *compressed,
                          uint32_t compressed_bytes)
{
    const struct ga_copy_in_args args = {.dst = app.window + at, .bytes = bytes};
    prefix(0, compressed_bytes);
    ga_copy_in_args_write(script_begin(&app.data), &args);
    script_send_bulk(&app.data, API_OP_ga_copy_in, 1, app.sequence++, compressed, compressed_bytes);
}

Test(compression, pieces_both_ways)
{
    static uint8_t compressed[WIRE_CHUNK];
    start_packing();
    for (uint64_t at = 0; at < MIB; at += WIRE_CHUNK) {
        size_t size = compress(from + at, WIRE_CHUNK, compressed);
        cr_assert_neq(size, 0);
        compressed_in(at, WIRE_CHUNK, compressed, (uint32_t)size);
    }
    script_copy_in(&app, app.window + 3, from + 3, 4, 0); /* a plain one that is smaller */
    cr_assert_eq(copy_out(MIB), 4);
    cr_expect_eq(memcmp(from, to, MIB), 0);
    cr_assert_eq(copy_out(MIB - 5), 4, "nor more than there is");
    cr_expect_eq(memcmp(from, to, MIB - 5), 0);
}

Test(compression, pieces_beside)
{
    static uint8_t compressed[WIRE_CHUNK];
    start_packing();
    open_all();
    /* The bytes get smaller, but not by so much that they are not worth a connection. */
    srand(1);
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = i % 256 < 128 ? (uint8_t)(rand() >> 7) : (uint8_t)(i / 256);
    }
    for (uint64_t at = 0; at < MIB; at += WIRE_CHUNK) {
        uint32_t connection = (uint32_t)(at / WIRE_CHUNK) % BULKS + 1;
        size_t size = compress(from + at, WIRE_CHUNK, compressed);
        cr_assert_neq(size, 0);
        script_send_raw(&bulks[connection - 1], compressed, size);
        piece_in(at, WIRE_CHUNK, connection, (uint32_t)size);
    }
    compressed_and_beside = 0;
    cr_assert_eq(copy_out(MIB), 4);
    cr_expect_eq(compressed_and_beside, 4);
    cr_expect_eq(memcmp(from, to, MIB), 0);
}

/* Small enough for the data connection. */
Test(compression, pieces_that_are_small)
{
    start_packing();
    open_all();
    script_copy_in(&app, app.window, from, MIB, 0);
    compressed_and_beside = 0;
    cr_assert_eq(copy_out(MIB), 4);
    cr_expect_eq(compressed_and_beside, 0);
    cr_expect_eq(memcmp(from, to, MIB), 0);
}

Test(compression, noise_is_not_compressed)
{
    start_packing();
    srand(1);
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(rand() >> 7);
    }
    script_copy_in(&app, app.window, from, MIB, 0);
    cr_assert_eq(copy_out(MIB), 0);
    cr_expect_eq(memcmp(from, to, MIB), 0);
}

/* ---- what ends the connection */

Test(compression, bytes_that_nobody_has_agreed_on)
{
    prefix(0, 32);
    expect_the_end();
}

Test(compression, bytes_beside_that_are_none)
{
    uint8_t noise[64];
    start_packing();
    open_all();
    memset(noise, 0xff, sizeof noise);
    script_send_raw(&bulks[0], noise, sizeof noise);
    piece_in(0, 4096, 1, sizeof noise);
    expect_the_end();
}

Test(compression, bytes_beside_that_nobody_has_agreed_on)
{
    open_all();
    prefix(1, 32);
    expect_the_end();
}

Test(compression, bytes_that_are_none)
{
    uint8_t noise[64];
    start_packing();
    memset(noise, 0xff, sizeof noise);
    compressed_in(0, 4096, noise, sizeof noise);
    expect_the_end();
}

/* A piece that says it has so many bytes, and 100000 packed ones with it. */
static void lie(uint64_t said)
{
    static uint8_t compressed[WIRE_CHUNK];
    start_packing();
    size_t size = compress(from, 100000, compressed);
    cr_assert_neq(size, 0);
    compressed_in(0, said, compressed, (uint32_t)size);
    expect_the_end();
}

/* There is no more room than what is said. */
Test(compression, bytes_that_are_too_many)
{
    lie(99999);
}

Test(compression, bytes_that_are_too_few)
{
    lie(100001);
}

Test(compression, bytes_more_than_plain_ones)
{
    start_packing();
    compressed_in(0, 16, from, 32);
    expect_the_end();
}

Test(compression, a_compressed_module)
{
    start_packing();
    prefix(0, 32);
    const struct ga_module_load_args args = {.image_bytes = 32};
    ga_module_load_args_write(script_begin(&app.data), &args);
    script_send_bulk(&app.data, API_OP_ga_module_load, 1, app.sequence++, from, 32);
    expect_the_end();
}
