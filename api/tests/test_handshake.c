/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake messages come back as written; bad bytes are refused. */
#include <criterion/criterion.h>

#include "api/handshake.h"
#include "api/wire.h"

/* The end of these messages since minor 1. */
#define HELLO_CONTEXT_BYTES   32
#define WELCOME_CONTEXT_BYTES 32 /* with the forms that the server takes */
#define WELCOME_CACHE_BYTES   16

static _Alignas(16) uint8_t bytes[65536];

Test(handshake, hello)
{
    struct handshake_hello in = {.magic = WIRE_MAGIC,
                                 .major = WIRE_MAJOR,
                                 .minor = 3,
                                 .pid = 7,
                                 .application = {1, 2, 3},
                                 .build = "0.1",
                                 .program = "app",
                                 .takes = HANDSHAKE_HELLO_OBSERVER};
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_hello_write(&w, &in);
    struct handshake_hello out;
    struct ga_reader r = ga_reader_of(bytes, w.at - 16);
    cr_assert_eq(handshake_hello_read(&r, &out), GA_OK, "an older one");
    cr_assert_eq(out.takes, 0);
    r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_hello_read(&r, &out), GA_OK);
    cr_assert_eq(out.takes, HANDSHAKE_HELLO_OBSERVER);
    cr_assert_eq(out.minor, 3);
    cr_assert_eq(out.application[2], 3);
    cr_assert_str_eq(out.program, "app");
    cr_assert_null(out.token);
    for (size_t size = 0; size + 32 <= w.at; size += 4) {
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
        {.name = "B", .memory_bytes = 6, .attribute_count = 0, .traits = 7, .peers = 1},
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
    struct handshake_device room[HANDSHAKE_DEVICES_MAX];
    struct handshake_welcome out = {.devices = room};
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_welcome_read(&r, &out), GA_OK);
    cr_assert_eq(out.device_count, 2);
    cr_assert_eq(room[0].attributes[2], 20);
    cr_assert_str_eq(room[1].name, "B");
    cr_assert_eq(room[0].traits, 0);
    cr_assert_eq(room[1].traits, 7);
    cr_assert_eq(room[1].peers, 1);
    /* Behind the rest stand 16 bytes of traits and 16 of peers; older servers send less. */
    for (size_t size = 0; size + 48 <= w.at; size += 4) {
        r = ga_reader_of(bytes, size);
        cr_assert_eq(handshake_welcome_read(&r, &out), GA_INVALID, "cut at %zu", size);
    }
    r = ga_reader_of(bytes, w.at - 16);
    cr_assert_eq(handshake_welcome_read(&r, &out), GA_OK);
    cr_assert_eq(room[1].traits, 7);
    cr_assert_eq(room[1].peers, 0);
    r = ga_reader_of(bytes, w.at - 32);
    cr_assert_eq(handshake_welcome_read(&r, &out), GA_OK);
    cr_assert_eq(room[1].traits, 0);
}

static size_t hello_with_signatures(const struct api_signature *signatures, uint32_t count)
{
    const struct handshake_data_hello in = {.magic = WIRE_MAGIC,
                                            .major = WIRE_MAJOR,
                                            .device = 4,
                                            .window = {.base = 16, .bytes = 32},
                                            .signature_count = count,
                                            .signatures = signatures};
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_data_hello_write(&w, &in);
    cr_assert(!w.failed);
    return w.at;
}

Test(handshake, a_granularity_is_a_power_of_two)
{
    static const struct {
        uint64_t bytes;
        enum ga_status status;
    } cases[] = {{0, GA_OK},
                 {2u << 20, GA_OK},
                 {HANDSHAKE_GRANULARITY_MAX, GA_OK},
                 {3u << 20, GA_INVALID},
                 {2 * HANDSHAKE_GRANULARITY_MAX, GA_INVALID}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct handshake_device device = {.name = "A", .granularity_bytes = cases[i].bytes};
        struct handshake_device room[HANDSHAKE_DEVICES_MAX];
        struct handshake_welcome welcome = {
            .major = 1, .build = "", .pool = "", .node = "", .device_count = 1, .devices = &device};
        struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
        handshake_welcome_write(&w, &welcome);
        struct ga_reader r = ga_reader_of(bytes, w.at);
        welcome.devices = room;
        cr_assert_eq(handshake_welcome_read(&r, &welcome), cases[i].status, "%zu", i);
    }
}

/* A server counts what a ticket was used for by its kind. */
Test(handshake, a_kind_is_one_of_those_that_there_are)
{
    for (uint32_t kind = 0; kind <= HANDSHAKE_BULK + 1; kind++) {
        const struct handshake_data_hello in = {
            .magic = WIRE_MAGIC, .major = WIRE_MAJOR, .kind = kind};
        struct handshake_data_hello out;
        struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
        handshake_data_hello_write(&w, &in);
        struct ga_reader r = ga_reader_of(bytes, w.at);
        cr_expect_eq(handshake_data_hello_read(&r, &out),
                     kind <= HANDSHAKE_BULK ? GA_OK : GA_INVALID, "%u", kind);
    }
}

Test(handshake, data_hello_tells_signatures)
{
    struct handshake_data_hello out;
    size_t size = hello_with_signatures(api_signatures, (uint32_t)api_signature_count);
    struct ga_reader r = ga_reader_of(bytes, size);
    cr_assert_eq(handshake_data_hello_read(&r, &out), GA_OK);
    cr_assert_eq(out.device, 4);
    cr_assert_eq(out.window.bytes, 32);
    cr_assert_eq(out.signature_count, api_signature_count);
    cr_assert_eq(memcmp(out.signatures, api_signatures, api_signature_count * 8), 0);
    r = ga_reader_of(bytes, size - HELLO_CONTEXT_BYTES - 16);
    cr_assert_eq(handshake_data_hello_read(&r, &out), GA_INVALID);
}

Test(handshake, data_hello_tells_what_the_client_takes)
{
    struct handshake_data_hello in = {
        .magic = WIRE_MAGIC, .major = WIRE_MAJOR, .takes = HANDSHAKE_TAKES_OUTPUT};
    struct handshake_data_hello out = {.takes = 77};
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_data_hello_write(&w, &in);
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_data_hello_read(&r, &out), GA_OK);
    cr_assert_eq(out.takes, HANDSHAKE_TAKES_OUTPUT);
    r = ga_reader_of(bytes, w.at - HELLO_CONTEXT_BYTES); /* one that knew of no context either */
    cr_assert_eq(handshake_data_hello_read(&r, &out), GA_OK);
    cr_assert_eq(out.takes, 0);
}

Test(handshake, fields_of_later_minors_may_be_missing_or_unknown)
{
    struct handshake_data_hello out;
    size_t size = hello_with_signatures(NULL, 0);
    const size_t minor_0 = size - HELLO_CONTEXT_BYTES - 16;
    struct ga_reader r = ga_reader_of(bytes, minor_0);
    cr_assert_eq(handshake_data_hello_read(&r, &out), GA_OK);
    cr_assert_eq(out.device, 4);
    cr_assert_eq(out.signature_count, 0);
    memset(bytes + size, 0x55, 64); /* as a newer one may go on */
    r = ga_reader_of(bytes, size + 64);
    cr_assert_eq(handshake_data_hello_read(&r, &out), GA_OK);
    cr_assert_eq(out.signature_count, 0);
}

Test(handshake, data_welcome_tells_what_is_lacking)
{
    const uint16_t lacking[3] = {70, 71, 600};
    const struct handshake_data_welcome in = {
        .session = 2, .window = {16, 32}, .lacking_count = 3, .lacking = lacking};
    struct handshake_data_welcome out;
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_data_welcome_write(&w, &in);
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_data_welcome_read(&r, &out), GA_OK);
    cr_assert_eq(out.session, 2);
    cr_assert_eq(out.lacking_count, 3);
    cr_assert_eq(out.lacking[2], 600);
    r = ga_reader_of(bytes, w.at - WELCOME_CACHE_BYTES - WELCOME_CONTEXT_BYTES - 16);
    cr_assert_eq(handshake_data_welcome_read(&r, &out), GA_OK);
    cr_assert_eq(out.lacking_count, 0);
}

Test(handshake, a_welcome_of_another_major_still_tells_its_version)
{
    const struct handshake_welcome in = {
        .major = WIRE_MAJOR + 1, .build = "9.9", .pool = "p", .node = "n"};
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_welcome_write(&w, &in);
    memset(bytes + 32, 0xff, w.at - 32);
    struct handshake_welcome out;
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_welcome_read(&r, &out), GA_OK);
    cr_assert_eq(out.major, WIRE_MAJOR + 1);
    cr_assert_str_eq(out.build, "9.9");
    cr_assert_eq(out.device_count, 0);
}

Test(handshake, a_context_comes_with_the_session)
{
    const struct handshake_data_hello in = {
        .magic = WIRE_MAGIC,
        .major = WIRE_MAJOR,
        .context = {.handle = UINT64_C(1) << 60, .kind = 1, .flags = 16, .block_bytes = 1 << 21}};
    struct handshake_data_hello out;
    struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
    handshake_data_hello_write(&w, &in);
    struct ga_reader r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_data_hello_read(&r, &out), GA_OK);
    cr_assert_eq(memcmp(&in.context, &out.context, sizeof in.context), 0);
    r = ga_reader_of(bytes, w.at - HELLO_CONTEXT_BYTES);
    cr_assert_eq(handshake_data_hello_read(&r, &out), GA_OK);
    cr_assert_eq(out.context.handle, 0);

    const struct handshake_data_welcome answer = {.session = 1,
                                                  .context_made = true,
                                                  .context_result = 2,
                                                  .block_bytes = 1 << 21,
                                                  .takes = HANDSHAKE_TAKES_COMPRESSED,
                                                  .client_cache_bytes = 1 << 30};
    struct handshake_data_welcome read;
    w = ga_writer_of(bytes, sizeof bytes);
    handshake_data_welcome_write(&w, &answer);
    r = ga_reader_of(bytes, w.at);
    cr_assert_eq(handshake_data_welcome_read(&r, &read), GA_OK);
    cr_assert(read.context_made);
    cr_assert_eq(read.context_result, 2);
    cr_assert_eq(read.block_bytes, 1 << 21);
    cr_assert_eq(read.takes, HANDSHAKE_TAKES_COMPRESSED);
    cr_assert_eq(read.client_cache_bytes, 1 << 30);
    r = ga_reader_of(bytes, w.at - WELCOME_CACHE_BYTES);
    cr_assert_eq(handshake_data_welcome_read(&r, &read), GA_OK);
    cr_assert_eq(read.takes, HANDSHAKE_TAKES_COMPRESSED);
    cr_assert_eq(read.client_cache_bytes, 0);
    r = ga_reader_of(bytes, w.at - WELCOME_CACHE_BYTES - 16);
    cr_assert_eq(handshake_data_welcome_read(&r, &read), GA_OK);
    cr_assert(read.context_made);
    cr_assert_eq(read.takes, 0, "one that knew of no packing");
    r = ga_reader_of(bytes, w.at - WELCOME_CACHE_BYTES - WELCOME_CONTEXT_BYTES);
    cr_assert_eq(handshake_data_welcome_read(&r, &read), GA_OK);
    cr_assert_not(read.context_made);
}

/* Success is no reason to refuse. */
Test(handshake, refused)
{
    for (int32_t result = -1; result <= 3; result++) {
        const struct handshake_refused in = {.result = result, .reason = "why"};
        struct handshake_refused out;
        struct ga_writer w = ga_writer_of(bytes, sizeof bytes);
        handshake_refused_write(&w, &in);
        struct ga_reader r = ga_reader_of(bytes, w.at);
        cr_assert_eq(handshake_refused_read(&r, &out), result == 0 ? GA_INVALID : GA_OK, "%d",
                     result);
        cr_assert_eq(out.result, result);
        cr_assert_str_eq(out.reason, "why");
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
