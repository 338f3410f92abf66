/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with arguments at random: whatever a client says, its backend process answers or ends the
 * connection; it never dies of it, and gpuaasd notices nothing. Every run says the same: the seeds
 * are fixed. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/handle.h"
#include "server/tests/script.h"

#define MIB (UINT64_C(1) << 20)

static struct script_server server;
static struct script_app app;
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (state >> 20) % below;
}

/* A value that has a chance to mean something. */
static uint64_t value(void)
{
    const uint64_t likely[] = {
        0,
        1,
        2,
        ~UINT64_C(0),
        app.window,
        app.window + 2 * MIB,
        app.window + SCRIPT_WINDOW_BYTES,
        2 * MIB,
        app.context,
        ga_handle_make(GA_HANDLE_STREAM, 1, 1 + (uint32_t)draw(3)),
        ga_handle_make(GA_HANDLE_EVENT, 1, 1 + (uint32_t)draw(3)),
        ga_handle_make(GA_HANDLE_MODULE, 1, 1),
        ga_handle_make(GA_HANDLE_FUNCTION, 1, 1),
        UINT64_C(1) << draw(64),
        draw(4096),
    };
    return likely[draw(sizeof likely / sizeof *likely)];
}

/* Calls whose arguments are plain numbers: their struct has the layout of the wire. */
#define CALL(name)                                                                                 \
    {                                                                                              \
        API_OP_##name, sizeof(struct name##_args)                                                  \
    }
static const struct {
    uint16_t opcode;
    size_t bytes;
} calls[] = {
    CALL(ga_context_create),
    CALL(ga_context_destroy),
    CALL(ga_context_reset),
    CALL(ga_module_unload),
    CALL(ga_module_list),
    CALL(ga_module_names),
    CALL(ga_memory_map),
    CALL(ga_memory_unmap),
    CALL(ga_copy_out),
    CALL(ga_copy_out_2d),
    CALL(ga_copy_2d),
    CALL(ga_shared_buffer_open),
    CALL(ga_shared_buffer_reach),
    CALL(ga_shared_buffer_in),
    CALL(ga_shared_buffer_out),
    CALL(ga_event_query),
    CALL(ga_stream_query),
    CALL(ga_event_synchronize),
    CALL(ga_stream_synchronize),
    CALL(cuStreamCreate),
    CALL(cuStreamCreateWithPriority),
    CALL(cuStreamDestroy_v2),
    CALL(cuStreamGetPriority),
    CALL(cuStreamWaitEvent),
    CALL(cuEventCreate),
    CALL(cuEventDestroy_v2),
    CALL(cuEventRecord),
    CALL(cuEventRecordWithFlags),
    CALL(cuEventElapsedTime_v2),
#if CUDA_VERSION >= 12050
    CALL(cuCtxRecordEvent),
    CALL(cuCtxWaitEvent),
#endif
    CALL(ga_green_create),
    CALL(ga_green_end),
    CALL(ga_green_stream),
    CALL(ga_green_record),
    CALL(ga_green_wait),
    CALL(ga_context_create_part),
    CALL(cuCtxSetLimit),
    CALL(cuCtxGetLimit),
    CALL(cuCtxEnablePeerAccess),
    CALL(cuFuncSetAttribute),
    CALL(cuMemsetD8_v2),
    CALL(cuMemsetD32Async),
    CALL(cuMemcpyDtoDAsync_v2),
    CALL(cuMemcpyPeerAsync),
    CALL(ga_ipc_share),
    CALL(ga_ipc_withdraw),
    CALL(ga_ipc_open),
    CALL(ga_ipc_share_event),
    CALL(ga_ipc_open_event),
    CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor),
};

/* Those with bulk have a length that must agree, or nothing else would be tested. */
static void send_random_bulk(void)
{
    static const uint8_t bytes[4096];
    const struct ga_copy_in_args copy = {.dst = value(), .bytes = draw(4096), .stream = value()};
    const struct ga_copy_in_2d_args rows = {
        .dst = value(), .pitch = value(), .width = draw(64), .rows = draw(64), .stream = value()};
    struct ga_writer *writer = script_begin(&app.data);
    if (draw(2) == 0) {
        ga_copy_in_args_write(writer, &copy);
        script_send_bulk(&app.data, API_OP_ga_copy_in, 1, app.sequence++, bytes, copy.bytes);
    } else {
        ga_copy_in_2d_args_write(writer, &rows);
        script_send_bulk(&app.data, API_OP_ga_copy_in_2d, 1, app.sequence++, bytes,
                         rows.width * rows.rows);
    }
}

static void send_random(void)
{
    if (draw(10) == 0) {
        send_random_bulk();
        return;
    }
    struct ga_writer *writer = script_begin(&app.data);
    size_t which = draw(sizeof calls / sizeof *calls);
    uint16_t opcode = draw(400) == 0 ? (uint16_t)draw(70) : calls[which].opcode;
    size_t bytes = draw(400) == 0 ? draw(100) & ~UINT64_C(3) : calls[which].bytes;
    while (bytes - writer->at >= 4) {
        if (draw(3) == 0 || writer->at % 8 != 0 || bytes - writer->at < 8) {
            ga_write_u32(writer, (uint32_t)value());
        } else {
            ga_write_u64(writer, value());
        }
    }
    script_send(&app.data, opcode, draw(400) == 0 ? (uint16_t)draw(4) : 1, app.sequence++);
}

/* Nobody may wait for ever: takes what has been answered so far. */
static bool drain(void)
{
    uint64_t last = app.sequence;
    const struct ga_stream_query_args query = {.stream = 0};
    ga_stream_query_args_write(script_begin(&app.data), &query);
    script_send(&app.data, API_OP_ga_stream_query, 1, app.sequence++);
    for (;;) {
        uint16_t opcode = script_receive(&app.data);
        if (opcode == 0) {
            return false;
        }
        if (opcode == WIRE_REPLY && app.data.header.sequence == last) {
            return true;
        }
    }
}

static unsigned run(uint64_t seed)
{
    unsigned answered = 0;
    state = seed;
    script_app_start(&app, server.url, 0);
    for (unsigned i = 0; i < 60; i++) {
        send_random();
        if (i % 4 == 3) {
            if (!drain()) {
                break;
            }
            answered++;
        }
    }
    script_app_close(&app);
    return answered;
}

Test(rubbish, kills_nobody, .timeout = 200)
{
    enum { SEEDS = 100 };
    unsigned answered = 0;
    script_server_start(&server, "");
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        answered += run(seed);
        script_server_drain(&server);
    }
    cr_expect_gt(answered, 4 * SEEDS, "most of it must be understood, or nothing is tested");
    script_server_wait_backends(&server, 0);
    script_server_stop(&server); /* and no sanitizer has complained */
    cr_expect_null(strstr(server.text, "killed by"), "%s", server.text);
    cr_expect_null(strstr(server.text, "exit status"), "%s", server.text);
}
