/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are wrong: gpuaasd and its backend processes say why, drop the connection, and live.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "server/tests/script.h"

#define MIB (UINT64_C(1) << 20)

static struct script_server server;
static struct script_app app;

static void start(void)
{
    script_server_start(&server, "handshake_timeout_s = 2\nticket_s = 2\n");
}

static void stop(void)
{
    struct script_app after; /* it still serves */
    script_app_close(&app);
    script_app_start(&after, server.url, 0);
    cr_expect_eq(script_map(&after, after.window, 2 * MIB), 0);
    script_app_close(&after);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(protocol, .init = start, .fini = stop, .timeout = 60);

/* ---- control connection */

Test(protocol, control_that_is_no_gpuaas_is_dropped)
{
    struct script_conn conn;
    script_connect(&conn, server.url);
    script_send_raw(&conn, "GET / HTTP/1.1\r\nHost: here\r\n\r\n", 30);
    script_expect_end(&conn);
    script_close(&conn);
    script_server_says(&server, "no gpuaas protocol");
}

static void hello_with(struct script_conn *conn, uint32_t magic, uint32_t major)
{
    const struct handshake_hello hello = {
        .magic = magic, .major = major, .build = "9.9", .program = "p\x1b[2J"};
    script_connect(conn, server.url);
    handshake_hello_write(script_begin(conn), &hello);
    script_send(conn, WIRE_HELLO, 0, 0);
}

Test(protocol, another_magic_is_dropped)
{
    struct script_conn conn;
    hello_with(&conn, WIRE_MAGIC + 1, WIRE_MAJOR);
    script_expect_end(&conn);
    script_close(&conn);
}

Test(protocol, another_major_is_refused_with_both_versions)
{
    struct script_conn conn;
    struct handshake_refused refused;
    hello_with(&conn, WIRE_MAGIC, WIRE_MAJOR + 6);
    script_expect(&conn, WIRE_REFUSED);
    cr_assert_eq(handshake_refused_read(&conn.values, &refused), GA_OK);
    cr_expect_eq(refused.result, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    cr_expect_not_null(strstr(refused.reason, "protocol 7 of the client (gpuaas 9.9)"));
    cr_expect_not_null(strstr(refused.reason, "protocol 1 of the server"));
    cr_expect_not_null(strstr(refused.reason, "upgrade the server"));
    script_expect_end(&conn);
    script_close(&conn);
}

Test(protocol, oversize_and_crooked_frames_are_dropped_unread)
{
    const struct wire_header wrong[] = {
        {.length = WIRE_HELLO_MAX + 16, .opcode = WIRE_HELLO},
        {.length = WIRE_HANDSHAKE_MAX + 16, .opcode = WIRE_HELLO},
        {.length = 0xfffffff0u, .opcode = WIRE_HELLO},
        {.length = 17, .opcode = WIRE_HELLO},
        {.length = 0, .opcode = WIRE_HELLO},
        {.length = 0, .opcode = WIRE_OPEN},
        {.length = 0, .opcode = 9999},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct script_conn conn;
        script_connect(&conn, server.url);
        script_send_raw(&conn, &wrong[i], sizeof wrong[i]);
        script_expect_end(&conn);
        script_close(&conn);
        script_server_says(&server, "its bytes are no gpuaas protocol");
    }
}

Test(protocol, silence_is_bounded)
{
    struct script_conn conn;
    script_connect(&conn, server.url);
    script_send_raw(&conn, "\x40", 1);
    script_expect_end(&conn);
    script_close(&conn);
    script_server_says(&server, "has not said who it is in time");
}

Test(protocol, device_that_is_none_is_refused)
{
    struct handshake_refused refused;
    const struct handshake_open open = {.device = 2};
    script_hello(&app, server.url);
    script_expect(&app.control, WIRE_WELCOME);
    handshake_open_write(script_begin(&app.control), &open);
    script_send(&app.control, WIRE_OPEN, 0, 5);
    script_expect(&app.control, WIRE_REFUSED);
    cr_assert_eq(app.control.header.sequence, 5);
    cr_assert_eq(handshake_refused_read(&app.control.values, &refused), GA_OK);
    cr_expect_eq(refused.result, CUDA_ERROR_INVALID_DEVICE);
}

Test(protocol, application_id_is_taken_once)
{
    struct script_conn conn;
    struct handshake_hello hello = {
        .magic = WIRE_MAGIC, .major = WIRE_MAJOR, .build = "x", .program = "y"};
    script_hello(&app, server.url);
    script_expect(&app.control, WIRE_WELCOME);
    memcpy(hello.application, app.application, sizeof hello.application);
    script_connect(&conn, server.url);
    handshake_hello_write(script_begin(&conn), &hello);
    script_send(&conn, WIRE_HELLO, 0, 0);
    script_expect(&conn, WIRE_REFUSED);
    script_expect_end(&conn);
    script_close(&conn);
}

Test(protocol, welcome_tells_the_devices)
{
    struct handshake_device devices[HANDSHAKE_DEVICES_MAX];
    struct handshake_welcome welcome = {.devices = devices};
    script_hello(&app, server.url);
    script_expect(&app.control, WIRE_WELCOME);
    cr_assert_eq(handshake_welcome_read(&app.control.values, &welcome), GA_OK);
    cr_assert_eq(welcome.device_count, 2);
    cr_expect_str_eq(devices[0].name, "one");
    cr_expect_str_eq(devices[1].name, "two");
    cr_expect_eq(devices[0].memory_bytes, 256 * MIB);
    cr_expect_eq(devices[0].granularity_bytes, 2 * MIB);
    cr_expect_neq(memcmp(devices[0].uuid, devices[1].uuid, 16), 0);
    cr_expect_eq(devices[0].attributes[CU_DEVICE_ATTRIBUTE_WARP_SIZE], 32);
    cr_expect_geq(welcome.driver_version, 12040);
    cr_expect_eq(strlen(welcome.pool), 32);
}

/* ---- tickets */

/* Shows a ticket and expects to be refused. */
static void expect_refused(const struct handshake_data_hello *hello, int32_t result,
                           const char *part)
{
    struct script_conn conn;
    struct handshake_refused refused;
    script_connect(&conn, app.address);
    handshake_data_hello_write(script_begin(&conn), hello);
    script_send(&conn, WIRE_DATA_HELLO, 0, 9);
    script_expect(&conn, WIRE_REFUSED);
    cr_expect_eq(conn.header.sequence, 9);
    cr_assert_eq(handshake_refused_read(&conn.values, &refused), GA_OK);
    cr_expect_eq(refused.result, result, "%d", refused.result);
    cr_expect_not_null(strstr(refused.reason, part), "%s", refused.reason);
    script_expect_end(&conn);
    script_close(&conn);
}

Test(protocol, tickets_are_bound_single_use_and_expire)
{
    struct handshake_data_hello good, wrong;
    script_app_start(&app, server.url, 0);
    script_data_hello_fill(&app, &good, HANDSHAKE_DATA, 0, UINT64_C(0x300000000000));
    expect_refused(&good, CUDA_ERROR_NOT_PERMITTED, "has been used");
    script_open(&app, 1);
    script_data_hello_fill(&app, &good, HANDSHAKE_DATA, 1, UINT64_C(0x300000000000));
    wrong = good;
    wrong.key[31] ^= 1;
    expect_refused(&wrong, CUDA_ERROR_NOT_PERMITTED, "not known");
    wrong = good;
    wrong.id[0] ^= 1;
    expect_refused(&wrong, CUDA_ERROR_NOT_PERMITTED, "not known");
    wrong = good;
    wrong.device = 0;
    expect_refused(&wrong, CUDA_ERROR_NOT_PERMITTED, "another device");
    wrong = good;
    wrong.application[15] ^= 1;
    expect_refused(&wrong, CUDA_ERROR_NOT_PERMITTED, "another device or application");
    wrong = good;
    wrong.major = 77;
    expect_refused(&wrong, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "protocol 77");
    struct timespec wait = {.tv_sec = 2, .tv_nsec = 100000000};
    nanosleep(&wait, NULL);
    expect_refused(&good, CUDA_ERROR_NOT_PERMITTED, "expired");
    cr_expect_eq(script_map(&app, app.window, 2 * MIB), 0); /* nothing of it mattered */
}

/* The answer is this for a client whose first connection has failed while the process does not know
 * yet. */
Test(protocol, second_data_connection_is_told_that_no_device_is_available)
{
    struct handshake_data_hello hello;
    script_app_start(&app, server.url, 0);
    script_open(&app, 1);
    script_data_hello_fill(&app, &hello, HANDSHAKE_DATA, 1, UINT64_C(0x300000000000));
    expect_refused(&hello, CUDA_ERROR_DEVICE_UNAVAILABLE, "is or was a data connection");
    cr_expect_eq(script_map(&app, app.window, 2 * MIB), 0);
}

Test(protocol, process_without_sessions_goes_when_its_ticket_has_expired)
{
    script_hello(&app, server.url);
    script_expect(&app.control, WIRE_WELCOME);
    script_open(&app, 0);
    script_server_wait_backends(&server, 1);
    script_server_wait_backends(&server, 0);
    script_open(&app, 0); /* and comes again */
    script_server_wait_backends(&server, 1);
}

Test(protocol, session_without_side_connection_ends)
{
    struct handshake_data_hello hello;
    script_hello(&app, server.url);
    script_expect(&app.control, WIRE_WELCOME);
    script_open(&app, 0);
    script_connect(&app.data, app.address);
    script_data_hello_fill(&app, &hello, HANDSHAKE_DATA, 0, SCRIPT_WINDOW);
    handshake_data_hello_write(script_begin(&app.data), &hello);
    script_send(&app.data, WIRE_DATA_HELLO, 0, 1);
    script_expect(&app.data, WIRE_DATA_WELCOME);
    script_expect_end(&app.data);
}

Test(protocol, side_connection_answers_pings)
{
    script_app_start(&app, server.url, 0);
    (void)script_begin(&app.side);
    script_send(&app.side, WIRE_PING, 0, 4711);
    script_expect(&app.side, WIRE_PONG);
    cr_expect_eq(app.side.header.sequence, 4711);
    script_expect(&app.side, WIRE_PING); /* its own, when the client is silent */
}

/* ---- data connection */

static void expect_dropped(void)
{
    script_expect_end(&app.data);
    script_server_wait_backends(&server, 0);
    script_app_close(&app);
}

Test(protocol, wrong_frames_end_the_data_connection)
{
    const struct wire_header wrong[] = {
        {.length = WIRE_VALUES_MAX + 16, .opcode = API_OP_ga_stream_query, .session = 1},
        {.length = 0xfffffff0u, .opcode = API_OP_ga_module_load, .session = 1},
        {.length = 0xfffffff0u, .opcode = API_OP_ga_copy_in, .session = 1},
        {.length = 3, .opcode = API_OP_ga_stream_query, .session = 1},
        {.length = 0, .opcode = API_OP_ga_stream_query, .session = 1},
        {.length = 0, .opcode = API_OP_ga_context_synchronize, .session = 0},
        {.length = 0, .opcode = API_OP_ga_context_synchronize, .session = 2},
        {.length = 0, .opcode = API_OP_ga_context_synchronize, .session = 65535},
        {.length = 0, .opcode = WIRE_HELLO},
        {.length = 0, .opcode = WIRE_CONTEXT},
        {.length = 0, .opcode = 63},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        script_app_start(&app, server.url, 0);
        struct wire_header header = wrong[i];
        header.sequence = header.opcode < WIRE_API_FIRST ? 0 : app.sequence;
        script_send_raw(&app.data, &header, sizeof header);
        if (wrong[i].length > 1000) {
            static const uint8_t junk[256];
            script_send_raw(&app.data, junk, sizeof junk);
        }
        expect_dropped();
    }
    script_server_says(&server, "break the protocol");
}

Test(protocol, lengths_inside_a_frame_must_agree_with_it)
{
    uint8_t bytes[64] = {0};
    struct ga_copy_in_args copy = {.dst = 0, .bytes = 48};
    script_app_start(&app, server.url, 0);
    ga_copy_in_args_write(script_begin(&app.data), &copy);
    script_send_bulk(&app.data, API_OP_ga_copy_in, 1, app.sequence, bytes, 64);
    expect_dropped();
    struct ga_module_load_args load = {.image_bytes = 4096};
    script_app_start(&app, server.url, 0);
    ga_module_load_args_write(script_begin(&app.data), &load);
    script_send_bulk(&app.data, API_OP_ga_module_load, 1, app.sequence, bytes, 64);
    expect_dropped();
    struct ga_copy_in_2d_args rows = {.width = UINT64_C(1) << 40, .rows = UINT64_C(1) << 40};
    script_app_start(&app, server.url, 0);
    ga_copy_in_2d_args_write(script_begin(&app.data), &rows);
    script_send_bulk(&app.data, API_OP_ga_copy_in_2d, 1, app.sequence, bytes, 0);
    expect_dropped();
}

Test(protocol, unknown_call_is_not_supported)
{
    script_app_start(&app, server.url, 0);
    (void)script_begin(&app.data);
    ga_write_u64(&app.data.writer, 1);
    script_send(&app.data, 60000, 1, app.sequence);
    cr_expect_eq(script_wait(&app, app.sequence++), CUDA_ERROR_NOT_SUPPORTED);
    cr_expect_eq(script_map(&app, app.window, 2 * MIB), 0);
}

/* As a client of another build: its first calls may be under way before it has read the answer. */
Test(protocol, calls_of_another_form_are_named_and_not_supported)
{
    const uint16_t silent = API_OP_ga_launch, waited = API_OP_ga_stream_query;
    const struct api_signature theirs[] = {{.op = silent, .reply = API_REPLY_ASYNC, .hash = 1},
                                           {.op = waited, .reply = API_REPLY_WAIT, .hash = 1},
                                           {.op = 2000, .reply = API_REPLY_ASYNC, .hash = 1}};
    cr_assert_eq(script_app_start_as(&app, server.url, 0, theirs, 3), 3);
    for (unsigned i = 0; i < 3; i++) {
        (void)script_begin(&app.data);
        script_send(&app.data, theirs[i].op, 1, app.sequence++);
        script_expect(&app.data, theirs[i].reply == API_REPLY_ASYNC ? WIRE_ERROR : WIRE_REPLY);
        cr_expect_eq(app.data.header.sequence, app.sequence - 1);
        cr_expect_eq(ga_read_i32(&app.data.values), CUDA_ERROR_NOT_SUPPORTED);
    }
    cr_expect_eq(script_map(&app, app.window, 2 * MIB), 0);
}

Test(protocol, truncated_frame_ends_with_the_connection)
{
    uint8_t bytes[64] = {0};
    const struct ga_copy_in_args copy = {.dst = 0, .bytes = 200000};
    script_app_start(&app, server.url, 0);
    ga_copy_in_args_write(script_begin(&app.data), &copy);
    ga_writer_finish(&app.data.writer);
    const struct wire_header header = {
        .length = (uint32_t)app.data.writer.at + 200000, .opcode = API_OP_ga_copy_in, .session = 1};
    memcpy(app.data.frame, &header, sizeof header);
    script_send_raw(&app.data, app.data.frame, sizeof header + app.data.writer.at);
    script_send_raw(&app.data, bytes, sizeof bytes);
    script_close(&app.data);
    script_server_wait_backends(&server, 0);
}

/* ---- windows and further devices */

static uint64_t window_of_answer(void)
{
    struct handshake_data_welcome welcome;
    script_expect(&app.data, WIRE_DATA_WELCOME);
    cr_assert_eq(handshake_data_welcome_read(&app.data.values, &welcome), GA_OK);
    cr_assert_eq(welcome.window.bytes, SCRIPT_WINDOW_BYTES);
    return welcome.window.base;
}

static void second_device(uint64_t window)
{
    struct handshake_data_hello hello;
    uint64_t process = app.ticket.process;
    script_open(&app, 1);
    cr_assert_eq(app.ticket.process, process, "one backend process for both devices");
    script_data_hello_fill(&app, &hello, HANDSHAKE_DATA, 1, window);
    handshake_data_hello_write(script_begin(&app.data), &hello);
    script_send(&app.data, WIRE_SESSION_OPEN, 0, app.sequence++);
}

Test(protocol, window_that_is_taken_is_answered_with_another)
{
    script_app_start(&app, server.url, 0);
    second_device(app.window); /* taken by the first device */
    uint64_t offered = window_of_answer();
    cr_assert_neq(offered, app.window);
    cr_assert_eq(app.data.header.session, 2);
    const struct handshake_window window = {.base = offered, .bytes = SCRIPT_WINDOW_BYTES};
    handshake_window_write(script_begin(&app.data), &window);
    script_send(&app.data, WIRE_WINDOW, 2, app.sequence++);
    cr_assert_eq(window_of_answer(), offered);
    const struct ga_context_create_args create = {.context =
                                                      ga_handle_make(GA_HANDLE_CONTEXT, 1, 2)};
    ga_context_create_args_write(script_begin(&app.data), &create);
    script_send(&app.data, API_OP_ga_context_create, 2, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
}

/* A session with its first context; `block_bytes` are to be mapped for it. */
static void session_with_context(struct handshake_data_welcome *welcome, uint64_t block_bytes)
{
    struct handshake_data_hello hello;
    script_open(&app, 1);
    script_data_hello_fill(&app, &hello, HANDSHAKE_DATA, 1, app.window + 4 * SCRIPT_WINDOW_BYTES);
    hello.context = (struct handshake_context){.handle = ga_handle_make(GA_HANDLE_CONTEXT, 1, 2),
                                               .block_bytes = block_bytes};
    handshake_data_hello_write(script_begin(&app.data), &hello);
    script_send(&app.data, WIRE_SESSION_OPEN, 0, app.sequence++);
    script_expect(&app.data, WIRE_DATA_WELCOME);
    cr_assert_eq(handshake_data_welcome_read(&app.data.values, welcome), GA_OK);
}

Test(protocol, context_comes_with_the_session)
{
    struct handshake_data_welcome welcome;
    script_app_start(&app, server.url, 0);
    session_with_context(&welcome, 2 * MIB);
    cr_assert(welcome.context_made);
    cr_assert_eq(welcome.context_result, 0);
    cr_assert_eq(welcome.block_bytes, 2 * MIB);
    /* The context that was current still is: this maps memory of the first device. */
    cr_expect_eq(script_map(&app, app.window, 2 * MIB), 0);
    script_context(&app, ga_handle_make(GA_HANDLE_CONTEXT, 1, 2));
    const uint32_t out = UINT32_C(0x12345678);
    uint32_t in = 0;
    script_copy_in(&app, welcome.window.base + 2 * MIB - sizeof out, &out, sizeof out, 0);
    cr_expect_eq(
        script_copy_out(&app, welcome.window.base + 2 * MIB - sizeof out, &in, sizeof in, 0), 0);
    cr_expect_eq(in, out);
}

Test(protocol, context_that_comes_with_a_session_may_go_without_a_block)
{
    struct handshake_data_welcome welcome;
    script_app_start(&app, server.url, 0);
    session_with_context(&welcome, UINT64_C(1) << 40); /* more than the device has */
    cr_assert(welcome.context_made);
    cr_assert_eq(welcome.context_result, 0);
    cr_assert_eq(welcome.block_bytes, 0);
}

static uint64_t allocate(uint64_t bytes, int32_t result)
{
    struct ga_memory_allocate_results results = {0};
    const struct ga_memory_allocate_args args = {.bytes = bytes};
    ga_memory_allocate_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_memory_allocate, 2, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), result);
    if (result == 0) {
        ga_memory_allocate_results_read(&app.data.values, &results);
    }
    return results.address;
}

/* Without a window: the driver picks addresses, and everything else is as ever. */
static void expect_unpinned(void)
{
    struct handshake_data_welcome welcome;
    script_expect(&app.data, WIRE_DATA_WELCOME);
    cr_assert_eq(handshake_data_welcome_read(&app.data.values, &welcome), GA_OK);
    cr_assert_eq(welcome.window.bytes, 0);
    cr_assert_eq(app.data.header.session, 2);
    const uint64_t context = ga_handle_make(GA_HANDLE_CONTEXT, 1, 2);
    const struct ga_context_create_args create = {.context = context};
    ga_context_create_args_write(script_begin(&app.data), &create);
    script_send(&app.data, API_OP_ga_context_create, 2, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
    script_context(&app, context);
    uint64_t address = allocate(4 * MIB, 0);
    uint8_t bytes[256], back[256] = {0};
    memset(bytes, 42, sizeof bytes);
    script_copy_in(&app, address + 4 * MIB - 256, bytes, sizeof bytes, 0);
    cr_expect_eq(script_copy_out(&app, address + 4 * MIB - 256, back, sizeof back, 0), 0);
    cr_expect_eq(memcmp(bytes, back, sizeof back), 0);
    cr_expect_eq(script_copy_out(&app, address + 4 * MIB - 255, back, sizeof back, 0),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(script_unmap(&app, address, 2 * MIB, false), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(script_unmap(&app, address, 4 * MIB, true), 0);
    cr_expect_eq(script_unmap(&app, address, 4 * MIB, true), CUDA_ERROR_INVALID_VALUE);
    (void)allocate(0, CUDA_ERROR_INVALID_VALUE);
    (void)allocate(UINT64_C(1) << 50, CUDA_ERROR_OUT_OF_MEMORY);
}

Test(protocol, a_session_runs_unpinned_after_three_rounds)
{
    script_app_start(&app, server.url, 0);
    second_device(app.window);
    const struct handshake_window window = {.base = app.window, .bytes = SCRIPT_WINDOW_BYTES};
    for (int round = 0; round < 3; round++) {
        (void)window_of_answer();
        handshake_window_write(script_begin(&app.data), &window);
        script_send(&app.data, WIRE_WINDOW, 2, app.sequence++);
    }
    expect_unpinned();
}

Test(protocol, a_session_runs_unpinned_when_the_client_has_no_range)
{
    script_app_start(&app, server.url, 0);
    second_device(0);
    expect_unpinned();
}
