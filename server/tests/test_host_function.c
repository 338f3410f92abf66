/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program in a stream, by a scripted client: what the server says and waits for.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/tests/script.h"

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

TestSuite(host_function, .init = start, .fini = stop, .timeout = 60);

static uint64_t launch(uint64_t stream)
{
    const struct ga_host_function_args args = {.stream = stream};
    ga_host_function_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_host_function, 1, app.sequence);
    return app.sequence++;
}

/* The turn of the call `sequence` has come; its id. */
static uint32_t expect_turn(uint64_t sequence)
{
    script_expect(&app.data, WIRE_DONE);
    cr_assert_eq(app.data.header.sequence, sequence);
    cr_assert_eq(ga_read_i32(&app.data.values), CUDA_SUCCESS);
    return ga_read_u32(&app.data.values);
}

static void say_done(uint64_t sequence, uint32_t id)
{
    ga_write_u32(script_begin(&app.side), id);
    script_send(&app.side, WIRE_HOST_DONE, 0, sequence);
}

static int32_t query(uint64_t stream)
{
    const struct ga_stream_query_args args = {.stream = stream};
    ga_stream_query_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_stream_query, 1, app.sequence);
    return script_wait(&app, app.sequence++);
}

Test(host_function, a_stream_goes_on_when_the_client_says_so)
{
    uint64_t stream = script_stream(&app, 1), other = script_stream(&app, 2);
    uint64_t first = launch(stream), second = launch(stream), third = launch(other);
    /* The other stream is as far as this one; the second function waits for the first. */
    uint32_t ids[2], at_first = 0;
    for (unsigned i = 0; i < 2; i++) {
        script_expect(&app.data, WIRE_DONE);
        cr_assert_eq(ga_read_i32(&app.data.values), CUDA_SUCCESS);
        ids[i] = ga_read_u32(&app.data.values);
        cr_assert(app.data.header.sequence == first || app.data.header.sequence == third);
        at_first = app.data.header.sequence == first ? i : at_first;
    }
    cr_assert_eq(query(stream), CUDA_ERROR_NOT_READY);
    say_done(third, ids[1 - at_first]);
    cr_assert_eq(script_stream_synchronize(&app, other), CUDA_SUCCESS);
    cr_assert_eq(query(stream), CUDA_ERROR_NOT_READY);
    say_done(first, ids[at_first]);
    say_done(second, expect_turn(second));
    cr_assert_eq(script_stream_synchronize(&app, stream), CUDA_SUCCESS);
}

Test(host_function, a_turn_comes_after_the_bytes_before_it)
{
    static uint8_t bytes[1 << 20];
    uint64_t stream = script_stream(&app, 1);
    cr_assert_eq(script_map(&app, app.window, 2 << 20), CUDA_SUCCESS);
    const struct ga_copy_out_args args = {
        .src = app.window, .bytes = sizeof bytes, .stream = stream};
    ga_copy_out_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_copy_out, 1, app.sequence++);
    uint64_t sequence = launch(stream);
    for (unsigned i = 0; i < sizeof bytes / WIRE_CHUNK; i++) {
        script_expect(&app.data, WIRE_DATA);
    }
    script_expect(&app.data, WIRE_REPLY);
    say_done(sequence, expect_turn(sequence));
    cr_assert_eq(script_stream_synchronize(&app, stream), CUDA_SUCCESS);
}

Test(host_function, a_wrong_stream_is_a_late_error_and_a_turn_with_it)
{
    uint64_t sequence = launch(0x123456);
    script_expect(&app.data, WIRE_ERROR);
    cr_assert_eq(ga_read_i32(&app.data.values), CUDA_ERROR_INVALID_HANDLE);
    script_expect(&app.data, WIRE_DONE);
    cr_assert_eq(app.data.header.sequence, sequence);
    cr_assert_eq(ga_read_i32(&app.data.values), CUDA_ERROR_INVALID_HANDLE);
}

Test(host_function, a_wrong_id_ends_the_session)
{
    uint64_t stream = script_stream(&app, 1);
    uint64_t sequence = launch(stream);
    uint32_t id = expect_turn(sequence);
    say_done(sequence, id + 1);
    script_expect_end(&app.data);
    script_server_says(&server, "no message");
}

Test(host_function, a_client_that_ends_in_a_function_leaves_nothing)
{
    uint64_t stream = script_stream(&app, 1);
    (void)expect_turn(launch(stream));
    (void)launch(stream); /* stop() waits for the end of the backend process */
}
