/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a scripted client on a real gpuaasd with a software GPU: memory, copies, kernels, waits,
 * and what wrong calls get. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "server/tests/script.h"

#define MIB (UINT64_C(1) << 20)

static const char kernels[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".global .align 512 .u32 counter;\n"
    ".visible .entry add_one(.param .u64 p, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %q;\n    .reg .b32 %r<8>;\n    .reg .b64 %d<4>;\n"
    "    ld.param.u64 %d1, [p];\n    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %q, %r5, %r1;\n    @%q bra DONE;\n"
    "    mul.wide.u32 %d2, %r5, 4;\n    add.s64 %d3, %d1, %d2;\n"
    "    ld.global.u32 %r6, [%d3];\n    add.u32 %r6, %r6, 1;\n    st.global.u32 [%d3], %r6;\n"
    "DONE:\n    ret;\n}\n"
    ".visible .entry hold(.param .u64 p)\n"
    "{\n"
    "    .reg .pred %q;\n    .reg .b32 %r<2>;\n    .reg .b64 %d<2>;\n"
    "    ld.param.u64 %d1, [p];\n"
    "AGAIN:\n    ld.volatile.global.u32 %r1, [%d1];\n"
    "    setp.eq.u32 %q, %r1, 0;\n    @%q bra AGAIN;\n"
    "    ret;\n}\n"
    ".visible .entry tell(.param .u64 p)\n"
    "{\n"
    "    .reg .b64 %d<3>;\n"
    "    ld.param.u64 %d1, [p];\n    mov.u64 %d2, counter;\n    st.global.u64 [%d1], %d2;\n"
    "    ret;\n}\n";

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

TestSuite(calls, .init = start, .fini = stop, .timeout = 60);

static uint64_t handle(enum ga_handle_type type, uint32_t index)
{
    return ga_handle_make(type, 1, index);
}

static uint8_t *pattern(size_t bytes, unsigned seed)
{
    uint8_t *data = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (uint8_t)((i * 2654435761u + seed) >> 13);
    }
    return data;
}

Test(calls, bytes_go_there_and_come_back)
{
    static const size_t sizes[] = {1, 15, 16, 17, 4096, WIRE_CHUNK, WIRE_CHUNK + 1, 21 * MIB + 7};
    cr_assert_eq(script_map(&app, app.window + 2 * MIB, 32 * MIB), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *out = pattern(sizes[i], (unsigned)i), *in = calloc(1, sizes[i]);
        script_copy_in(&app, app.window + 2 * MIB + i, out, sizes[i], 0);
        cr_assert_eq(script_copy_out(&app, app.window + 2 * MIB + i, in, sizes[i], 0), 0);
        cr_assert_eq(memcmp(in, out, sizes[i]), 0, "%zu bytes", sizes[i]);
        free(out);
        free(in);
    }
    cr_assert_eq(script_unmap(&app, app.window + 2 * MIB, 32 * MIB, true), 0);
}

Test(calls, kernel_runs_on_streams_in_order)
{
    enum { COUNT = 10000, ROUNDS = 20 };
    uint64_t module = handle(GA_HANDLE_MODULE, 1), function = handle(GA_HANDLE_FUNCTION, 5);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    int32_t loaded = script_module(&app, module, kernels);
    (void)ga_read_string(&app.data.values, 65536);
    const char *log = ga_read_string(&app.data.values, 65536); /* the second: of errors */
    cr_assert_eq(loaded, 0, "%d %s", loaded, log);
    cr_assert_eq(script_function(&app, module, "add_one", function), 0);
    struct ga_module_function_results facts;
    ga_module_function_results_read(&app.data.values, &facts);
    cr_assert_eq(facts.param_count, 2);
    cr_assert_eq(facts.param_offset[1], 8);
    cr_assert_eq(facts.param_size[1], 4);
    cr_assert_eq(facts.attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK], 1024);
    uint64_t stream = script_stream(&app, 3);
    uint32_t *values = calloc(COUNT, 4);
    script_copy_in(&app, app.window, values, COUNT * 4, stream);
    struct {
        uint64_t pointer;
        uint32_t count;
    } params = {app.window, COUNT};
    for (int i = 0; i < ROUNDS; i++) {
        script_launch(&app, function, (COUNT + 255) / 256, 256, stream, &params, 12);
    }
    cr_assert_eq(script_stream_synchronize(&app, stream), 0);
    cr_assert_eq(script_copy_out(&app, app.window, values, COUNT * 4, stream), 0);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(values[i], ROUNDS);
    }
    free(values);
}

/* The thread that reads looks itself whether the kernel is done, until it has something else to do:
 * here half a frame, whose other half comes only after the answer. */
Test(calls, a_wait_is_answered_while_half_a_frame_is_there)
{
    enum { COUNT = 16384, BYTES = 4 * COUNT };
    uint64_t module = handle(GA_HANDLE_MODULE, 1), function = handle(GA_HANDLE_FUNCTION, 1);
    uint64_t stream = script_stream(&app, 1), data = app.window;
    struct {
        uint64_t address;
        uint32_t count;
    } params = {data, COUNT};
    uint8_t *from = pattern(BYTES, 5), *to = calloc(1, BYTES);
    cr_assert_eq(script_module(&app, module, kernels), 0);
    cr_assert_eq(script_function(&app, module, "add_one", function), 0);
    cr_assert_eq(script_map(&app, data, 2 * MIB), 0);
    for (int round = 0; round < 5; round++) {
        script_launch(&app, function, COUNT / 256, 256, stream, &params, 12);
        const struct ga_stream_synchronize_args wait = {.stream = stream};
        ga_stream_synchronize_args_write(script_begin(&app.data), &wait);
        script_send(&app.data, API_OP_ga_stream_synchronize, 1, app.sequence++);
        /* A frame of a copy in without its last bytes. */
        const struct ga_copy_in_args args = {.dst = data, .bytes = BYTES, .stream = stream};
        struct ga_writer *writer = script_begin(&app.data);
        ga_copy_in_args_write(writer, &args);
        ga_writer_finish(writer);
        const struct wire_header header = {.length = (uint32_t)writer->at + BYTES,
                                           .opcode = API_OP_ga_copy_in,
                                           .session = 1,
                                           .sequence = app.sequence++};
        script_send_raw(&app.data, &header, sizeof header);
        script_send_raw(&app.data, writer->data, writer->at);
        script_send_raw(&app.data, from, BYTES / 2);
        cr_assert_eq(script_wait(&app, header.sequence - 1), 0);
        script_send_raw(&app.data, from + BYTES / 2, BYTES / 2);
        cr_assert_eq(script_copy_out(&app, data, to, BYTES, stream), 0);
    }
    cr_assert_eq(script_copy_out(&app, data, to, BYTES, stream), 0);
    cr_assert_eq(memcmp(from, to, BYTES), 0);
    free(from);
    free(to);
}

Test(calls, variable_of_a_module_may_be_copied_to)
{
    uint64_t module = handle(GA_HANDLE_MODULE, 1);
    cr_assert_eq(script_module(&app, module, kernels), 0);
    const struct ga_module_global_args args = {.module = module, .name = "counter"};
    ga_module_global_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_module_global, 1, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
    struct ga_module_global_results found;
    ga_module_global_results_read(&app.data.values, &found);
    cr_assert_eq(found.bytes, 4);
    uint32_t value = 0x12345678, back = 0;
    script_copy_in(&app, found.address, &value, 4, 0);
    cr_assert_eq(script_copy_out(&app, found.address, &back, 4, 0), 0);
    cr_assert_eq(back, value);
    cr_assert_eq(script_copy_out(&app, found.address + 1, &back, 4, 0), CUDA_ERROR_INVALID_VALUE);
}

Test(calls, maps_outside_the_window_are_refused)
{
    const struct {
        uint64_t address, bytes;
    } wrong[] = {
        {app.window - 2 * MIB, 2 * MIB},
        {app.window + SCRIPT_WINDOW_BYTES, 2 * MIB},
        {app.window + SCRIPT_WINDOW_BYTES - 2 * MIB, 4 * MIB},
        {app.window, UINT64_MAX - app.window + 1},
        {app.window, 0},
        {app.window + 1, 2 * MIB},
        {app.window, MIB + 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(script_map(&app, wrong[i].address, wrong[i].bytes), CUDA_ERROR_INVALID_VALUE,
                     "%zu", i);
    }
    cr_assert_eq(script_map(&app, app.window, 4 * MIB), 0);
    cr_expect_eq(script_map(&app, app.window + 2 * MIB, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(script_unmap(&app, app.window, 2 * MIB, false), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(script_unmap(&app, app.window + 8 * MIB, 2 * MIB, true), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(script_map(&app, app.window + 8 * MIB, 512 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(script_map(&app, app.window + 8 * MIB, 100 * MIB), 0);
}

Test(calls, a_module_is_unloaded_when_its_work_is_done)
{
    uint32_t word = 0, one = 1;
    uint64_t module = handle(GA_HANDLE_MODULE, 1), function = handle(GA_HANDLE_FUNCTION, 5);
    uint64_t held = script_stream(&app, 1), other = script_stream(&app, 2);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    script_copy_in(&app, app.window, &word, sizeof word, other);
    cr_assert_eq(script_stream_synchronize(&app, other), 0);
    cr_assert_eq(script_module(&app, module, kernels), 0);
    cr_assert_eq(script_function(&app, module, "hold", function), 0);
    script_launch(&app, function, 1, 32, held, &app.window, sizeof app.window);
    const struct ga_module_unload_args args = {.module = module};
    ga_module_unload_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_module_unload, 1, app.sequence++);
    cr_expect_eq(script_function(&app, module, "hold", handle(GA_HANDLE_FUNCTION, 6)),
                 CUDA_ERROR_INVALID_HANDLE);
    /* The kernel ends because of a call that comes after the unload. */
    script_copy_in(&app, app.window, &one, sizeof one, other);
    cr_assert_eq(script_stream_synchronize(&app, held), 0);
    uint64_t again = ga_handle_make(GA_HANDLE_MODULE, 2, 1);
    cr_assert_eq(script_module(&app, again, kernels), 0);
    cr_assert_eq(script_function(&app, again, "hold", handle(GA_HANDLE_FUNCTION, 7)), 0);
}

/* A failing async call is told by WIRE_ERROR, in order, and nothing else happens. */
static void expect_error(uint16_t opcode, int32_t result)
{
    script_expect(&app.data, WIRE_ERROR);
    cr_expect_eq(ga_read_i32(&app.data.values), result);
    cr_expect_eq(ga_read_u32(&app.data.values), opcode);
    cr_expect_eq(ga_read_u64(&app.data.values), app.context, "in which it ran");
    cr_expect_eq(app.data.header.sequence, app.sequence - 1);
}

Test(calls, copies_outside_of_memory_are_refused)
{
    uint8_t bytes[64] = {0};
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    script_copy_in(&app, app.window + 2 * MIB - 63, bytes, 64, 0);
    expect_error(API_OP_ga_copy_in, CUDA_ERROR_INVALID_VALUE);
    script_copy_in(&app, (uint64_t)(uintptr_t)bytes, bytes, 64, 0);
    expect_error(API_OP_ga_copy_in, CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(script_copy_out(&app, app.window + 2 * MIB, bytes, 1, 0),
                 CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(script_copy_out(&app, UINT64_MAX - 8, bytes, 64, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(script_copy_out(&app, app.window, bytes, 64, 0), 0);
}

/* The error of an asynchronous call; 0: it has none. */
static int32_t result_of(uint64_t sequence)
{
    const struct ga_stream_query_args query = {.stream = 0};
    uint64_t question = app.sequence++;
    int32_t result = 0;
    uint16_t opcode;
    ga_stream_query_args_write(script_begin(&app.data), &query);
    script_send(&app.data, API_OP_ga_stream_query, 1, question);
    while ((opcode = script_receive(&app.data)) == WIRE_ERROR) {
        cr_assert_eq(app.data.header.sequence, sequence);
        result = ga_read_i32(&app.data.values);
    }
    cr_assert_eq(opcode, WIRE_REPLY);
    cr_assert_eq(app.data.header.sequence, question);
    return result;
}

static int32_t copy_2d(uint64_t dst, uint64_t src, uint64_t rows)
{
    const struct ga_copy_2d_args args = {
        .dst = dst, .dst_pitch = 4, .src = src, .src_pitch = 4, .width = 4, .rows = rows};
    ga_copy_2d_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_copy_2d, 1, app.sequence);
    return result_of(app.sequence++);
}

/* The code of the copy; `to` gets the rows, one behind the other. */
static int32_t copy_out_2d(uint64_t src, uint64_t pitch, uint64_t width, uint64_t rows, uint8_t *to)
{
    const struct ga_copy_out_2d_args args = {
        .src = src, .pitch = pitch, .width = width, .rows = rows};
    uint64_t due = 0, sequence = app.sequence++;
    ga_copy_out_2d_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_copy_out_2d, 1, sequence);
    while (script_receive(&app.data) == WIRE_DATA) {
        cr_assert_eq(ga_read_u64(&app.data.values), due);
        uint64_t piece = ga_read_u64(&app.data.values);
        cr_assert(piece != 0 && piece <= width * rows - due);
        memcpy(to + due, ga_read_array(&app.data.values, piece, 1, 16), piece);
        due += piece;
    }
    cr_assert_eq(app.data.header.opcode, WIRE_REPLY);
    cr_assert_eq(app.data.header.sequence, sequence);
    return ga_read_i32(&app.data.values);
}

/* Besides what test_fields.c does with every address. */
Test(calls, rows_that_reach_over_the_end_are_refused)
{
    const uint64_t given = app.window, end = given + 2 * MIB;
    cr_assert_eq(script_map(&app, given, 2 * MIB), 0);
    cr_expect_eq(copy_2d(given, end - 8, 2), 0);
    cr_expect_eq(copy_2d(end - 8, given, 2), 0);
    cr_expect_eq(copy_2d(given, end - 4, 2), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy_2d(end - 4, given, 2), CUDA_ERROR_INVALID_VALUE);
}

/* To or from the array, with memory at the other end. */
static int32_t copy_array(uint64_t dst_array, uint64_t dst, uint64_t src_array, uint64_t src)
{
    const struct ga_copy_array_args args = {.dst_array = dst_array,
                                            .dst = dst,
                                            .dst_pitch = 4,
                                            .src_array = src_array,
                                            .src = src,
                                            .src_pitch = 4,
                                            .width = 4,
                                            .rows = 1};
    ga_copy_array_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_copy_array, 1, app.sequence);
    return result_of(app.sequence++);
}

static int32_t texture(uint32_t index, uint32_t resource, uint64_t source)
{
    const struct ga_texture_create_args args = {.texture = handle(GA_HANDLE_TEXTURE, index),
                                                .resource = resource,
                                                .source = source,
                                                .format = CU_AD_FORMAT_UNSIGNED_INT8,
                                                .channels = 1,
                                                .width = 4,
                                                .height = 1,
                                                .pitch = 32};
    ga_texture_create_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_texture_create, 1, app.sequence);
    return script_wait(&app, app.sequence++);
}

/* Maps memory where the window begins; and there is some that the driver knows, a variable whose
 * address a kernel has told, and the server has not. */
static uint64_t not_given(void)
{
    uint64_t module = handle(GA_HANDLE_MODULE, 1), function = handle(GA_HANDLE_FUNCTION, 1);
    uint64_t variable = 0;
    cr_assert_eq(script_module(&app, module, kernels), 0);
    cr_assert_eq(script_function(&app, module, "tell", function), 0);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    script_launch(&app, function, 1, 1, 0, &app.window, sizeof app.window);
    cr_assert_eq(script_copy_out(&app, app.window, &variable, sizeof variable, 0), 0);
    cr_assert_neq(variable, 0);
    return variable;
}

Test(calls, arrays_and_textures_of_memory_that_was_not_given_are_refused)
{
    const struct ga_array_create_args create = {.array = handle(GA_HANDLE_ARRAY, 1),
                                                .width = 4,
                                                .format = CU_AD_FORMAT_UNSIGNED_INT8,
                                                .channels = 1};
    uint64_t variable = not_given(), given = app.window;
    ga_array_create_args_write(script_begin(&app.data), &create);
    script_send(&app.data, API_OP_ga_array_create, 1, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
    cr_expect_eq(copy_array(create.array, 0, 0, given), 0);
    cr_expect_eq(copy_array(0, given, create.array, 0), 0);
    cr_expect_eq(copy_array(create.array, 0, 0, variable), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy_array(0, variable, create.array, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy_array(create.array, 0, 0, given + 2 * MIB - 3), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(1, CU_RESOURCE_TYPE_LINEAR, given), 0);
    cr_expect_eq(texture(2, CU_RESOURCE_TYPE_PITCH2D, given), 0);
    cr_expect_eq(texture(3, CU_RESOURCE_TYPE_LINEAR, variable), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(texture(4, CU_RESOURCE_TYPE_PITCH2D, variable), CUDA_ERROR_INVALID_VALUE);
}

/* Rows that fill whole pieces, and such that do not: each piece comes once, and one answer. */
Test(calls, rows_that_come_back)
{
    static const struct {
        uint64_t width, rows;
    } shapes[] = {{4096, 2 * WIRE_CHUNK / 4096},
                  {4096, 2 * WIRE_CHUNK / 4096 + 1},
                  {WIRE_CHUNK, 3},
                  {WIRE_CHUNK - 1, 3},
                  {2 * WIRE_CHUNK, 2},
                  {1, 1}};
    uint8_t *there = pattern(4 * MIB, 7), *back = malloc(4 * MIB);
    cr_assert_eq(script_map(&app, app.window, 4 * MIB), 0);
    script_copy_in(&app, app.window, there, 4 * MIB, 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint64_t width = shapes[i].width, pitch = width + 4096;
        cr_assert_eq(copy_out_2d(app.window, pitch, width, shapes[i].rows, back), 0);
        for (uint64_t row = 0; row < shapes[i].rows; row++) {
            cr_expect_eq(memcmp(back + row * width, there + row * pitch, width), 0, "%zu", i);
        }
        cr_assert_eq(script_stream_synchronize(&app, 0), 0);
    }
    free(there);
    free(back);
}

Test(calls, foreign_and_stale_handles_are_refused)
{
    uint64_t stream = script_stream(&app, 1);
    const uint64_t wrong[] = {
        2, /* a thread's stream: it never travels */
        3,
        ~UINT64_C(0),
        ga_handle_make(GA_HANDLE_STREAM, 2, 1),
        ga_handle_make(GA_HANDLE_STREAM, 1, 2),
        ga_handle_make(GA_HANDLE_EVENT, 1, 1),
        app.context,
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(script_stream_synchronize(&app, wrong[i]), CUDA_ERROR_INVALID_HANDLE, "%zu",
                     i);
    }
    cr_expect_eq(script_stream_synchronize(&app, stream), 0);
    const struct cuStreamDestroy_v2_args destroy = {.hStream = stream};
    cuStreamDestroy_v2_args_write(script_begin(&app.data), &destroy);
    script_send(&app.data, API_OP_cuStreamDestroy_v2, 1, app.sequence++);
    cr_expect_eq(script_stream_synchronize(&app, stream), CUDA_ERROR_INVALID_HANDLE);
    script_launch(&app, ga_handle_make(GA_HANDLE_FUNCTION, 1, 1), 1, 1, 0, "", 0);
    expect_error(API_OP_ga_launch, CUDA_ERROR_INVALID_HANDLE);
}

Test(calls, calls_without_a_context_are_refused)
{
    script_context(&app, 0);
    uint8_t byte;
    cr_expect_eq(script_map(&app, app.window, 2 * MIB), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(script_stream_synchronize(&app, 0), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(script_copy_out(&app, app.window, &byte, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
    cr_expect_eq(script_module(&app, handle(GA_HANDLE_MODULE, 1), kernels),
                 CUDA_ERROR_INVALID_CONTEXT);
    script_context(&app, app.context);
    cr_expect_eq(script_map(&app, app.window, 2 * MIB), 0);
}

Test(calls, images_that_are_none_say_so)
{
    cr_expect_eq(script_module(&app, handle(GA_HANDLE_MODULE, 1), "nonsense"),
                 CUDA_ERROR_INVALID_IMAGE);
    cr_expect_eq(script_module(&app, handle(GA_HANDLE_MODULE, 1),
                               ".version 7.0\n.target sm_75\n.address_size 64\nnonsense;\n"),
                 CUDA_ERROR_INVALID_PTX);
    (void)ga_read_string(&app.data.values, 65536);
    const char *log = ga_read_string(&app.data.values, 65536);
    cr_expect(log != NULL && strstr(log, "4") != NULL, "the line is named: %s", log);
}

Test(calls, reset_frees_the_objects_of_the_context)
{
    uint64_t stream = script_stream(&app, 1);
    cr_assert_eq(script_map(&app, app.window, 200 * MIB), 0);
    cr_assert_eq(script_module(&app, handle(GA_HANDLE_MODULE, 1), kernels), 0);
    const struct ga_context_reset_args args = {.context = app.context};
    ga_context_reset_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_context_reset, 1, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
    cr_expect_eq(script_stream_synchronize(&app, stream), CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(script_map(&app, app.window, 200 * MIB), 0);
    cr_expect_eq(script_module(&app, handle(GA_HANDLE_MODULE, 1), kernels), 0);
}

Test(calls, out_of_bounds_is_a_fault_of_this_process_only)
{
    struct script_app other;
    script_app_start(&other, server.url, 1);
    uint64_t module = handle(GA_HANDLE_MODULE, 1), function = handle(GA_HANDLE_FUNCTION, 1);
    cr_assert_eq(script_module(&app, module, kernels), 0);
    cr_assert_eq(script_function(&app, module, "add_one", function), 0);
    struct {
        uint64_t pointer;
        uint32_t count;
    } params = {app.window + 64 * MIB, 1};
    script_launch(&app, function, 1, 1, 0, &params, 12);
    cr_expect_eq(script_stream_synchronize(&app, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    script_server_says(&server, "execution fault");
    cr_expect_eq(script_stream_synchronize(&app, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_expect_eq(script_map(&other, other.window, 2 * MIB), 0);
    cr_expect_eq(script_stream_synchronize(&other, 0), 0);
    script_app_close(&other);
}
