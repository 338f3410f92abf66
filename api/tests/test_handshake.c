/* The handshake messages come back as written; bad bytes are refused. */
#include <criterion/criterion.h>

#include "api/handshake.h"
#include "api/wire.h"

static _Alignas(16) uint8_t bytes[65536];

Test(handshake, hello)
{
    struct handshake_hello in = {.magic = WIRE_MAGIC,
                                 .major = WIRE_MAJOR,
                                 .minor = 3,
                                 .pid = 7,
                                 .application = {1, 2, 3},
                                 .build = "0.1",
                                 .program = "app"};
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_hello_write(&w, &in);
    struct handshake_hello out;
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_hello_read(&r, &out), GA_OK);
    cr_assert_eq(out.minor, 3);
    cr_assert_eq(out.application[2], 3);
    cr_assert_str_eq(out.program, "app");
    cr_assert_null(out.token);
    for (size_t size = 0; size + 16 <= w.at; size += 4) {
        r = ga_reader_of(bytes, size);
        cr_assert_eq(handshake_hello_read(&r, &out), GA_INVALID, "cut at %zu", size);
    }
    bytes[0] ^= 1;
    r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_hello_read(&r, &out), GA_INVALID);
}

Test(handshake, a_hello_of_another_major_still_tells_its_version)
{
    struct handshake_hello in = {
        .magic = WIRE_MAGIC, .major = WIRE_MAJOR + 1, .build = "9.9", .program = "app"};
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_hello_write(&w, &in);
    struct handshake_hello out;
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_hello_read(&r, &out), GA_OK);
    cr_assert_eq(out.major, WIRE_MAJOR + 1);
    cr_assert_str_eq(out.build, "9.9");
}

Test(handshake, welcome)
{
    int32_t attributes[3] = {0, 10, 20};
    struct handshake_device devices[2] = {
        {.name = "A", .memory_bytes = 5, .attribute_count = 3, .attributes = attributes},
        {.name = "B", .memory_bytes = 6, .attribute_count = 0},
    };
    struct handshake_welcome in = {.major = 1,
                                   .build = "b",
                                   .pool = "p",
                                   .node = "n",
                                   .driver_version = 13000,
                                   .device_count = 2,
                                   .devices = devices};
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_welcome_write(&w, &in);
    struct handshake_device room[HANDSHAKE_DEVICES_MOST];
    struct handshake_welcome out = {.devices = room};
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_welcome_read(&r, &out), GA_OK);
    cr_assert_eq(out.device_count, 2);
    cr_assert_eq(room[0].attributes[2], 20);
    cr_assert_str_eq(room[1].name, "B");
    for (size_t size = 0; size + 16 <= w.at; size += 4) {
        r = ga_reader_of(bytes, size);
        cr_assert_eq(handshake_welcome_read(&r, &out), GA_INVALID, "cut at %zu", size);
    }
}

Test(handshake, windows_do_not_wrap)
{
    struct handshake_window in = {.base = UINT64_MAX - 10, .bytes = 11};
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_window_write(&w, &in);
    struct handshake_window out;
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_window_read(&r, &out), GA_INVALID);
}
