/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a program maps by itself, from a client that checks nothing: what does not fit is
 * refused, what is in use stays, and what others have is nobody's to take. */
#include <criterion/criterion.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "server/tests/script.h"

#define PIECE (UINT64_C(2) << 20)
#if defined(__SANITIZE_THREAD__)
#define SPACE (UINT64_C(450) << 30)
#else
#define SPACE UINT64_C(0x410000000000)
#endif
#define NO_ANSWER (-1)

static struct script_server server;
static struct script_app app;

static void start(void)
{
    script_server_start(&server, "");
    script_app_start(&app, server.url, 0);
}

static void stop(void)
{
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(mappings, .init = start, .fini = stop, .timeout = 60);

static uint64_t memory(uint32_t index)
{
    return ga_handle_make(GA_HANDLE_PHYSICAL, 1, index);
}

static int32_t ask(uint16_t opcode)
{
    script_send(&app.data, opcode, 1, app.sequence);
    return script_wait(&app, app.sequence++);
}

/* A call without an answer: the code that it failed with, or NO_ANSWER. */
static int32_t tell(uint16_t opcode)
{
    uint64_t mine = app.sequence++, question = app.sequence++;
    const struct ga_stream_query_args query = {.stream = 0};
    int32_t result = NO_ANSWER;
    script_send(&app.data, opcode, 1, mine);
    ga_stream_query_args_write(script_begin(&app.data), &query);
    script_send(&app.data, API_OP_ga_stream_query, 1, question);
    for (;;) {
        uint16_t got = script_receive(&app.data);
        cr_assert_neq(got, 0, "the connection has ended");
        if (got == WIRE_REPLY && app.data.header.sequence == question) {
            return result;
        }
        if (got == WIRE_ERROR && app.data.header.sequence == mine) {
            result = ga_read_i32(&app.data.values);
        }
    }
}

static int32_t create(uint32_t index, uint64_t bytes)
{
    const struct ga_physical_create_args args = {.physical = memory(index), .bytes = bytes};
    ga_physical_create_args_write(script_begin(&app.data), &args);
    return ask(API_OP_ga_physical_create);
}

static int32_t release(uint32_t index)
{
    const struct ga_physical_release_args args = {.physical = memory(index)};
    ga_physical_release_args_write(script_begin(&app.data), &args);
    return tell(API_OP_ga_physical_release);
}

static int32_t map(uint32_t index, uint64_t address, uint64_t bytes, uint64_t space,
                   uint64_t space_bytes)
{
    const struct ga_physical_map_args args = {.physical = memory(index),
                                              .address = address,
                                              .bytes = bytes,
                                              .space = space,
                                              .space_bytes = space_bytes};
    ga_physical_map_args_write(script_begin(&app.data), &args);
    return ask(API_OP_ga_physical_map);
}

static int32_t unmap(uint64_t address, uint64_t bytes)
{
    const struct ga_physical_unmap_args args = {.address = address, .bytes = bytes};
    ga_physical_unmap_args_write(script_begin(&app.data), &args);
    return ask(API_OP_ga_physical_unmap);
}

static int32_t let_in(uint64_t address, uint64_t bytes, int32_t device)
{
    const struct ga_space_access_args args = {.address = address,
                                              .bytes = bytes,
                                              .device = device,
                                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    ga_space_access_args_write(script_begin(&app.data), &args);
    return ask(API_OP_ga_space_access);
}

static int32_t give_space(uint64_t space, uint64_t bytes)
{
    const struct ga_space_release_args args = {.space = space, .space_bytes = bytes};
    ga_space_release_args_write(script_begin(&app.data), &args);
    return tell(API_OP_ga_space_release);
}

Test(mappings, memory_side_by_side_is_one)
{
    static uint8_t out[PIECE], in[PIECE];
    for (size_t i = 0; i < sizeof out; i++) {
        out[i] = (uint8_t)(i * 2654435761u >> 11);
    }
    cr_assert_eq(create(1, PIECE), 0);
    cr_assert_eq(create(2, 2 * PIECE), 0);
    cr_assert_eq(map(1, SPACE + PIECE, PIECE, SPACE, 8 * PIECE), 0);
    cr_assert_eq(map(2, SPACE + 2 * PIECE, 2 * PIECE, SPACE, 8 * PIECE), 0);
    cr_assert_eq(let_in(SPACE + PIECE, 3 * PIECE, 0), 0);
    script_copy_in(&app, SPACE + PIECE + 4096, out, sizeof out, 0);
    cr_assert_eq(script_copy_out(&app, SPACE + PIECE + 4096, in, sizeof in, 0), 0);
    cr_assert_arr_eq(in, out, sizeof in);
    cr_expect_neq(script_copy_out(&app, SPACE + PIECE - 1, in, 2, 0), 0, "what is not mapped");
    cr_expect_neq(script_copy_out(&app, SPACE + 4 * PIECE - 1, in, 2, 0), 0, "and behind it");
    cr_assert_eq(unmap(SPACE + PIECE, 3 * PIECE), 0);
    cr_expect_neq(script_copy_out(&app, SPACE + PIECE, in, 1, 0), 0, "any more");
    cr_expect_eq(give_space(SPACE, 8 * PIECE), NO_ANSWER);
    cr_expect_eq(release(1), NO_ANSWER);
    cr_expect_eq(release(2), NO_ANSWER);
}

Test(mappings, what_is_in_use_stays)
{
    uint8_t byte = 1;
    cr_assert_eq(create(1, PIECE), 0);
    cr_assert_eq(map(1, SPACE, PIECE, SPACE, 2 * PIECE), 0);
    cr_expect_gt(create(1, PIECE), 0, "the name is taken");
    cr_expect_gt(release(1), 0);
    cr_expect_gt(give_space(SPACE, 2 * PIECE), 0);
    cr_expect_gt(map(1, SPACE, PIECE, SPACE, 2 * PIECE), 0, "something is there");
    cr_expect_gt(script_unmap(&app, SPACE, PIECE, false), 0, "not the allocator's");
    const struct ga_space_unmap_args args = {.address = SPACE, .bytes = PIECE};
    ga_space_unmap_args_write(script_begin(&app.data), &args);
    cr_expect_gt(tell(API_OP_ga_space_unmap), 0, "not a pool's");
    cr_assert_eq(let_in(SPACE, PIECE, 0), 0);
    script_copy_in(&app, SPACE, &byte, 1, 0);
    byte = 0;
    cr_expect_eq(script_copy_out(&app, SPACE, &byte, 1, 0), 0);
    cr_expect_eq(byte, 1);
    cr_expect_eq(unmap(SPACE, PIECE), 0);
    cr_expect_eq(release(1), NO_ANSWER);
    cr_expect_gt(release(1), 0, "twice");
}

Test(mappings, wrong_numbers)
{
    cr_assert_eq(create(1, 2 * PIECE), 0);
    cr_expect_gt(create(2, 0), 0);
    cr_expect_gt(create(2, 1), 0);
    cr_expect_gt(create(2, UINT64_MAX), 0);
    cr_expect_gt(create(2, UINT64_C(1) << 60), 0);
    cr_expect_gt(map(2, SPACE, PIECE, SPACE, PIECE), 0, "no such memory");
    cr_expect_gt(map(1, SPACE, 0, SPACE, 2 * PIECE), 0);
    cr_expect_gt(map(1, SPACE, 4 * PIECE, SPACE, 8 * PIECE), 0, "more than there is");
    cr_expect_gt(map(1, SPACE + PIECE, 2 * PIECE, SPACE, 2 * PIECE), 0, "over the end");
    cr_expect_gt(map(1, SPACE - PIECE, PIECE, SPACE, 2 * PIECE), 0, "before the start");
    cr_expect_gt(map(1, SPACE + 4096, PIECE, SPACE, 8 * PIECE), 0, "between pages");
    cr_expect_gt(map(1, SPACE, PIECE, SPACE, UINT64_MAX), 0);
    cr_expect_gt(map(1, SPACE, PIECE, SPACE, UINT64_MAX - SPACE), 0);
    for (int again = 0; again < 2; again++) { /* nothing is kept of what has failed */
        cr_expect_gt(map(1, 0, PIECE, 0, UINT64_C(1) << 46), 0, "all addresses");
        cr_expect_gt(map(1, app.window, PIECE, app.window, PIECE), 0, "the window");
        cr_expect_gt(map(1, SPACE + 4096, PIECE, SPACE + 4096, PIECE), 0, "no whole pages");
    }
    cr_assert_eq(map(1, SPACE, 2 * PIECE, SPACE, 4 * PIECE), 0);
    cr_expect_gt(map(1, SPACE + 4 * PIECE, PIECE, SPACE + PIECE, 4 * PIECE), 0, "across");
    cr_expect_gt(unmap(SPACE, 0), 0);
    cr_expect_gt(unmap(SPACE, PIECE), 0, "half");
    cr_expect_gt(unmap(SPACE, 4 * PIECE), 0, "more");
    cr_expect_gt(unmap(SPACE, UINT64_MAX), 0);
    cr_expect_gt(unmap(app.window, PIECE), 0, "the allocator's");
    cr_expect_gt(let_in(SPACE, 2 * PIECE, 1), 0, "a device that the program has not");
    cr_expect_gt(let_in(SPACE, 4 * PIECE, 0), 0);
    cr_expect_gt(give_space(SPACE, PIECE), 0);
    cr_expect_gt(give_space(app.window, SCRIPT_WINDOW_BYTES), 0, "the window");
    cr_expect_eq(unmap(SPACE, 2 * PIECE), 0);
}

Test(mappings, memory_is_the_devices)
{
    uint32_t count = 0;
    while (count < 4096 && create(count + 1, 64 * PIECE) == 0) {
        count++;
    }
    cr_expect_gt(count, 0);
    cr_expect_lt(count, 4096, "a device of bounded memory gives without end");
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(release(i + 1), NO_ANSWER);
    }
    cr_expect_eq(create(1, 64 * PIECE), 0);
}
