/* SPDX-License-Identifier: Apache-2.0 */
/* Output of kernels, as a scripted client gets it: frames before the answer they belong to. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "server/tests/script.h"

static const char kernels[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);\n"
    ".global .align 1 .b8 text[10] = {102, 114, 111, 109, 32, 37, 117, 10, 0};\n" /* from %u\n */
    ".visible .entry print(.param .u32 number, .param .u64 write)\n"
    "{\n"
    "    .local .align 8 .b8 arguments[8];\n"
    "    .reg .pred %q;\n    .reg .b32 %r<4>;\n    .reg .b64 %d<6>;\n"
    "    .param .b64 a;\n    .param .b64 b;\n    .param .b32 c;\n"
    "    ld.param.u32 %r1, [number];\n    st.local.u32 [arguments], %r1;\n"
    "    mov.u64 %d1, arguments;\n    cvta.local.u64 %d2, %d1;\n"
    "    mov.u64 %d3, text;\n    cvta.global.u64 %d4, %d3;\n"
    "    st.param.b64 [a], %d4;\n    st.param.b64 [b], %d2;\n"
    "    call.uni (c), vprintf, (a, b);\n"
    "    ld.param.u64 %d5, [write];\n    setp.eq.u64 %q, %d5, 0;\n    @%q bra DONE;\n"
    "    st.global.u32 [%d5], %r1;\n"
    "DONE:\n    ret;\n}\n";

static struct script_server server;
static struct script_app app;

static void start_as(uint32_t takes)
{
    script_server_start(&server, "");
    script_takes = takes;
    script_app_start(&app, server.url, 0);
    uint64_t module = ga_handle_make(GA_HANDLE_MODULE, 1, 1);
    cr_assert_eq(script_module(&app, module, kernels), 0);
    cr_assert_eq(script_function(&app, module, "print", ga_handle_make(GA_HANDLE_FUNCTION, 1, 1)),
                 0);
}

static void start(void)
{
    start_as(HANDSHAKE_TAKES_OUTPUT);
}

static void start_old(void)
{
    start_as(0);
}

static void stop(void)
{
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(kernel_output, .init = start, .fini = stop, .timeout = 60);
TestSuite(kernel_output_of_old, .init = start_old, .fini = stop, .timeout = 60);

static void launch(uint64_t stream, uint32_t number, uint64_t write)
{
    const uint64_t params[2] = {number, write};
    script_launch(&app, ga_handle_make(GA_HANDLE_FUNCTION, 1, 1), 1, 1, stream, params,
                  sizeof params);
}

/* Says which answer came first behind text, which is checked; what came for stderr is in
 * `errors`. */
static char errors[1024];

static uint16_t expect_text(const char *text)
{
    size_t at = 0;
    uint16_t opcode;
    errors[0] = '\0';
    while ((opcode = script_receive(&app.data)) == WIRE_OUTPUT) {
        uint32_t stream = ga_read_u32(&app.data.values);
        uint32_t bytes = ga_read_u32(&app.data.values);
        const char *got = ga_read_array(&app.data.values, bytes, 1, 1);
        cr_assert_not_null(got);
        if (stream == 2) {
            size_t used = strlen(errors);
            snprintf(errors + used, sizeof errors - used, "%.*s", (int)bytes, got);
            continue;
        }
        cr_assert_eq(stream, 1);
        cr_assert(bytes <= strlen(text) - at && memcmp(text + at, got, bytes) == 0,
                  "\"%.*s\" behind %zu bytes of \"%s\"", (int)bytes, got, at, text);
        at += bytes;
    }
    cr_assert_eq(at, strlen(text), "%zu bytes of \"%s\"", at, text);
    return opcode;
}

static void ask_synchronize(uint64_t stream)
{
    const struct ga_stream_synchronize_args args = {.stream = stream};
    ga_stream_synchronize_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_stream_synchronize, 1, app.sequence++);
}

Test(kernel_output, comes_before_the_answer)
{
    uint64_t stream = script_stream(&app, 1);
    for (uint32_t i = 0; i < 20; i++) {
        char want[40];
        snprintf(want, sizeof want, "from %u\nfrom %u\n", i, i + 100);
        launch(stream, i, 0);
        launch(stream, i + 100, 0);
        ask_synchronize(stream);
        cr_assert_eq(expect_text(want), WIRE_REPLY);
        cr_assert_eq(errors[0], '\0', "on stderr: %s", errors);
        cr_assert_eq(ga_read_i32(&app.data.values), CUDA_SUCCESS);
    }
}

Test(kernel_output, comes_before_a_good_answer_to_a_query)
{
    for (uint32_t i = 0; i < 20; i++) {
        char want[20];
        int32_t result = CUDA_ERROR_NOT_READY;
        snprintf(want, sizeof want, "from %u\n", i);
        launch(0, i, 0);
        while (result == CUDA_ERROR_NOT_READY) {
            const struct ga_stream_query_args args = {.stream = 0};
            ga_stream_query_args_write(script_begin(&app.data), &args);
            script_send(&app.data, API_OP_ga_stream_query, 1, app.sequence++);
            script_receive(&app.data);
            if (app.data.header.opcode == WIRE_REPLY) {
                result = ga_read_i32(&app.data.values);
            } else {
                cr_assert_eq(app.data.header.opcode, WIRE_OUTPUT);
                (void)ga_read_u32(&app.data.values);
                uint32_t bytes = ga_read_u32(&app.data.values);
                const char *got = ga_read_array(&app.data.values, bytes, 1, 1);
                cr_assert(bytes == strlen(want) && memcmp(got, want, bytes) == 0);
                script_expect(&app.data, WIRE_REPLY);
                result = ga_read_i32(&app.data.values);
                cr_assert_eq(result, CUDA_SUCCESS);
                want[0] = '\0';
            }
        }
        cr_assert_eq(result, CUDA_SUCCESS);
        cr_assert_eq(want[0], '\0', "the answer came before the output");
    }
}

Test(kernel_output, comes_before_a_fault)
{
    launch(0, 7, 64);
    ask_synchronize(0);
    uint16_t opcode = expect_text("from 7\n");
    cr_assert(opcode == WIRE_FAULT || opcode == WIRE_REPLY);
    cr_assert_not_null(strstr(errors, "Invalid __global__ write"), "on stderr: \"%s\"", errors);
    cr_assert_eq(ga_read_i32(&app.data.values), CUDA_ERROR_ILLEGAL_ADDRESS);
}

Test(kernel_output, comes_before_the_end_of_a_context)
{
    launch(0, 8, 0);
    const struct ga_context_destroy_args destroy = {.context = app.context};
    ga_context_destroy_args_write(script_begin(&app.data), &destroy);
    script_send(&app.data, API_OP_ga_context_destroy, 1, app.sequence++);
    cr_assert_eq(expect_text("from 8\n"), WIRE_REPLY);
    cr_assert_eq(ga_read_i32(&app.data.values), CUDA_SUCCESS);
}

/* An old client does not know the frame: it gets none, and the log says what is lost. */
Test(kernel_output_of_old, is_lost_and_nothing_else)
{
    launch(0, 9, 0);
    ask_synchronize(0);
    cr_assert_eq(expect_text(""), WIRE_REPLY);
    cr_assert_eq(ga_read_i32(&app.data.values), CUDA_SUCCESS);
    script_server_says(&server, "what kernels print is lost: the client's build is older");
}
