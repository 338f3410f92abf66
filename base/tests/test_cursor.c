/* SPDX-License-Identifier: Apache-2.0 */
/* Values come back as written; bad bytes are remembered and yield zeros. */
#include <criterion/criterion.h>

#include "base/cursor.h"

Test(cursor, values_come_back)
{
    _Alignas(16) uint8_t bytes[128];
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    ga_write_u8(&w, 7);
    ga_write_u64(&w, UINT64_C(0x1122334455667788));
    ga_write_string(&w, "kernel");
    ga_write_string(&w, NULL);
    ga_write_f64(&w, 1.5);
    ga_writer_finish(&w);
    cr_assert(!w.failed);
    cr_assert_eq(w.at % 16, 0);
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(ga_read_u8(&r), 7);
    cr_assert_eq(ga_read_u64(&r), UINT64_C(0x1122334455667788));
    cr_assert_str_eq(ga_read_string(&r, 100), "kernel");
    cr_assert_null(ga_read_string(&r, 100));
    cr_assert_eq(ga_read_f64(&r), 1.5);
    cr_assert(ga_reader_done(&r));
}

Test(cursor, reading_past_the_end_is_zero_and_remembered)
{
    _Alignas(16) uint8_t bytes[16] = {0xff, 0xff, 0xff, 0xff};
    struct ga_reader r = ga_reader_of(bytes, 4);
    cr_assert_eq(ga_read_u32(&r), 0xffffffffu);
    cr_assert_eq(ga_read_u32(&r), 0);
    cr_assert_eq(ga_read_u8(&r), 0);
    cr_assert(!ga_reader_done(&r));
}

Test(cursor, counts_that_overflow_are_refused)
{
    _Alignas(16) uint8_t bytes[16] = {0};
    struct ga_reader r = ga_reader_of(bytes, sizeof bytes);
    cr_assert_null(ga_read_array(&r, SIZE_MAX / 4, 8, 8));
    cr_assert(r.failed);
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    cr_assert_null(ga_write_room(&w, SIZE_MAX / 4, 8, 8));
    cr_assert(w.failed);
}

Test(cursor, strings_are_bounded_and_whole)
{
    _Alignas(16) uint8_t bytes[32];
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    ga_write_string(&w, "abcdef");
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_null(ga_read_string(&r, 5));
    cr_assert(r.failed);
    bytes[6] = 0; /* a NUL inside */
    r = ga_reader_of(bytes, w.at);
    cr_assert_null(ga_read_string(&r, 100));
    cr_assert(r.failed);
}

Test(cursor, leftover_bytes_are_not_done)
{
    _Alignas(16) uint8_t bytes[48] = {0};
    struct ga_reader r = ga_reader_of(bytes, sizeof bytes);
    (void)ga_read_u32(&r);
    cr_assert(!ga_reader_done(&r));
    r = ga_reader_of(bytes, 16);
    (void)ga_read_u32(&r);
    cr_assert(ga_reader_done(&r));
}
