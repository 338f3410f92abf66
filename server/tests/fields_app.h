/* SPDX-License-Identifier: Apache-2.0 */
/* An application that has one object of each type, and calls that it sends with any values: of
 * tests of what calls say to wrong ones. */
#ifndef SERVER_TESTS_FIELDS_APP_H
#define SERVER_TESTS_FIELDS_APP_H

#include <criterion/criterion.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/tests/fields.h"
#include "server/tests/script.h"

#define MIB (UINT64_C(1) << 20)

enum { NO_ANSWER = -1, ENDED = -2 };

const uint8_t field_bytes[64] = {0};

static const char kernels[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                              ".global .align 16 .b8 variable[64];\n"
                              ".visible .entry f(.param .u64 p)\n{\n    ret;\n}\n"
                              ".visible .entry tell(.param .u64 p)\n{\n    .reg .b64 %d<2>;\n"
                              "    ld.param.u64 %d0, [p];\n    mov.u64 %d1, variable;\n"
                              "    st.global.u64 [%d0], %d1;\n    ret;\n}\n";

static struct script_server server;
static struct script_app app, other;
static uint64_t not_given; /* where the driver has memory that the application was not told of */

/* ---- an application with one object of each type */

static inline uint64_t live(enum ga_handle_type type)
{
    return ga_handle_make(type, 1, 1);
}

static inline uint64_t stale(enum ga_handle_type type)
{
    return ga_handle_make(type, 1, 2);
}

static inline void make_event(uint32_t index)
{
    const struct cuEventCreate_args args = {.phEvent = ga_handle_make(GA_HANDLE_EVENT, 1, index)};
    cuEventCreate_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_cuEventCreate, 1, app.sequence++);
}

static inline void destroy_second(void)
{
    const struct cuStreamDestroy_v2_args stream = {.hStream = stale(GA_HANDLE_STREAM)};
    const struct cuEventDestroy_v2_args event = {.hEvent = stale(GA_HANDLE_EVENT)};
    const struct ga_module_unload_args module = {.module = stale(GA_HANDLE_MODULE)};
    cuStreamDestroy_v2_args_write(script_begin(&app.data), &stream);
    script_send(&app.data, API_OP_cuStreamDestroy_v2, 1, app.sequence++);
    cuEventDestroy_v2_args_write(script_begin(&app.data), &event);
    script_send(&app.data, API_OP_cuEventDestroy_v2, 1, app.sequence++);
    ga_module_unload_args_write(script_begin(&app.data), &module);
    script_send(&app.data, API_OP_ga_module_unload, 1, app.sequence++);
}

/* Sends what has been written, and waits for the answer. */
static inline int32_t ask(uint16_t opcode)
{
    uint64_t sequence = app.sequence++;
    script_send(&app.data, opcode, 1, sequence);
    return script_wait(&app, sequence);
}

/* A solid of bytes, a mipmapped plane, and a texture of memory. */
static inline void make_array(uint32_t index)
{
    const struct ga_array_create_args array = {.array = ga_handle_make(GA_HANDLE_ARRAY, 1, index),
                                               .width = 4,
                                               .height = 4,
                                               .depth = 4,
                                               .format = CU_AD_FORMAT_UNSIGNED_INT8,
                                               .channels = 1};
    const struct ga_mipmap_create_args mipmap = {.mipmap =
                                                     ga_handle_make(GA_HANDLE_MIPMAP, 1, index),
                                                 .width = 4,
                                                 .height = 4,
                                                 .format = CU_AD_FORMAT_UNSIGNED_INT8,
                                                 .channels = 1,
                                                 .levels = 2};
    const struct ga_texture_create_args texture = {.texture =
                                                       ga_handle_make(GA_HANDLE_TEXTURE, 1, index),
                                                   .resource = CU_RESOURCE_TYPE_LINEAR,
                                                   .source = app.window,
                                                   .format = CU_AD_FORMAT_UNSIGNED_INT8,
                                                   .channels = 1,
                                                   .width = 64};
    ga_array_create_args_write(script_begin(&app.data), &array);
    cr_assert_eq(ask(API_OP_ga_array_create), 0);
    ga_mipmap_create_args_write(script_begin(&app.data), &mipmap);
    cr_assert_eq(ask(API_OP_ga_mipmap_create), 0);
    ga_texture_create_args_write(script_begin(&app.data), &texture);
    cr_assert_eq(ask(API_OP_ga_texture_create), 0);
}

static inline void make_physical(uint32_t index)
{
    const struct ga_physical_create_args args = {
        .physical = ga_handle_make(GA_HANDLE_PHYSICAL, 1, index), .bytes = 2 * MIB};
    ga_physical_create_args_write(script_begin(&app.data), &args);
    cr_assert_eq(ask(API_OP_ga_physical_create), 0);
}

static inline void destroy_second_physical(void)
{
    const struct ga_physical_release_args args = {.physical = stale(GA_HANDLE_PHYSICAL)};
    ga_physical_release_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_physical_release, 1, app.sequence++);
}

static inline void destroy_second_array(void)
{
    const struct ga_array_destroy_args array = {.array = stale(GA_HANDLE_ARRAY)};
    const struct ga_mipmap_destroy_args mipmap = {.mipmap = stale(GA_HANDLE_MIPMAP)};
    const struct ga_texture_destroy_args texture = {.texture = stale(GA_HANDLE_TEXTURE)};
    ga_texture_destroy_args_write(script_begin(&app.data), &texture);
    script_send(&app.data, API_OP_ga_texture_destroy, 1, app.sequence++);
    ga_array_destroy_args_write(script_begin(&app.data), &array);
    cr_assert_eq(ask(API_OP_ga_array_destroy), 0);
    ga_mipmap_destroy_args_write(script_begin(&app.data), &mipmap);
    cr_assert_eq(ask(API_OP_ga_mipmap_destroy), 0);
}

static inline void find_not_given(void)
{
    const uint64_t function = ga_handle_make(GA_HANDLE_FUNCTION, 1, 5), told = app.window;
    cr_assert_eq(script_function(&app, live(GA_HANDLE_MODULE), "tell", function), 0);
    script_launch(&app, function, 1, 1, 0, &told, sizeof told);
    cr_assert_eq(script_copy_out(&app, told, &not_given, sizeof not_given, 0), 0);
    cr_assert_neq(not_given, 0);
}

static inline void start(void)
{
    script_app_start(&app, server.url, 0);
    for (uint32_t i = 1; i <= 2; i++) {
        (void)script_stream(&app, i);
        make_event(i);
        cr_assert_eq(script_module(&app, ga_handle_make(GA_HANDLE_MODULE, 1, i), kernels), 0);
        cr_assert_eq(script_function(&app, ga_handle_make(GA_HANDLE_MODULE, 1, i), "f",
                                     ga_handle_make(GA_HANDLE_FUNCTION, 1, i)),
                     0);
    }
    destroy_second();
    cr_assert_eq(script_map(&app, app.window, 4 * MIB), 0);
    cr_assert_eq(script_map(&app, app.window + 4 * MIB, 2 * MIB), 0);
    cr_assert_eq(script_unmap(&app, app.window + 4 * MIB, 2 * MIB, true), 0);
    find_not_given();
    make_array(1);
    make_array(2);
    destroy_second_array();
    make_physical(1);
    make_physical(2);
    destroy_second_physical();
    cr_assert_eq(script_stream_synchronize(&app, 0), 0);
}

static inline void restart(void)
{
    script_app_close(&app);
    start();
}

/* ---- one call */

static inline void right_values(const struct field_call *call, uint64_t *values)
{
    for (unsigned i = 0; i < call->count; i++) {
        const struct field *field = &call->fields[i];
        values[i] = field->kind == FIELD_ADDRESS  ? app.window
                    : field->kind == FIELD_HANDLE ? live(field->type)
                    : field->kind == FIELD_NEW    ? ga_handle_make(field->type, 1, 7)
                                                  : 1;
    }
}

/* Sends it with values that are `longer` bytes too long (a multiple of 16), and a question behind
 * it whose answer says that the call is through. The call's code; NO_ANSWER: an asynchronous call
 * that has not failed. */
static inline int32_t send_resized(const struct field_call *call, const uint64_t *values,
                                   int longer)
{
    uint64_t mine = app.sequence++, question = app.sequence++;
    const struct ga_stream_query_args query = {.stream = 0};
    struct ga_writer *writer = script_begin(&app.data);
    int32_t result = NO_ANSWER;

    if (call->write != NULL) {
        call->write(writer, values);
    }
    ga_writer_finish(writer);
    writer->at += (size_t)longer;
    if (call->bulk) {
        script_send_bulk(&app.data, call->opcode, 1, mine, field_bytes, 1);
    } else {
        script_send(&app.data, call->opcode, 1, mine);
    }
    ga_stream_query_args_write(script_begin(&app.data), &query);
    script_send(&app.data, API_OP_ga_stream_query, 1, question);
    for (;;) {
        uint16_t opcode = script_receive(&app.data);
        if (opcode == 0) {
            return ENDED;
        }
        if (opcode == WIRE_REPLY && app.data.header.sequence == question) {
            return result;
        }
        bool answer = opcode == WIRE_REPLY || opcode == WIRE_ERROR;
        if (answer && app.data.header.sequence == mine) {
            result = ga_read_i32(&app.data.values);
        }
    }
}

static inline int32_t send_call(const struct field_call *call, const uint64_t *values)
{
    return send_resized(call, values, 0);
}

/* With this value in this field; a call that has not failed may have changed what others need. */
static inline void expect_error(const struct field_call *call, unsigned at, uint64_t value)
{
    uint64_t values[FIELDS_MAX];
    right_values(call, values);
    values[at] = value;
    int32_t result = send_call(call, values);
    cr_expect(result == ENDED || result > 0, "%s: %s = 0x%llx gives %d", call->name,
              call->fields[at].name, (unsigned long long)value, result);
    if (result == ENDED) {
        restart();
    }
}

/* Stops, while so many backend processes go on. No sanitizer has complained. */
static inline void stop(unsigned processes)
{
    script_server_wait_backends(&server, processes);
    script_server_stop(&server);
    cr_expect_null(strstr(server.text, "killed by"), "%s", server.text);
    cr_expect_null(strstr(server.text, "exit status"), "%s", server.text);
}

#endif
