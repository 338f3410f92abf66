/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that end before their work: by a scripted client, which decides when that goes on. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "server/tests/script.h"

#define MIB (UINT64_C(1) << 20)

enum { COPIES = 3, BYTES = 4096 };

static struct script_server server;
static struct script_app app;

static void start(void)
{
    script_server_start(&server, "");
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), CUDA_SUCCESS);
}

static void stop(void)
{
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server); /* its sanitizer has found nothing */
}

TestSuite(streams, .init = start, .fini = stop, .timeout = 60);

#define SAY(name, ...)                                                                             \
    do {                                                                                           \
        const struct name##_args args_ = {__VA_ARGS__};                                            \
        name##_args_write(script_begin(&app.data), &args_);                                        \
        script_send(&app.data, API_OP_##name, 1, app.sequence++);                                  \
    } while (0)

/* The work that a stream does not get past before the client says so. */
struct hold {
    uint64_t sequence;
    uint32_t ticket;
};

static struct hold hold(uint64_t stream)
{
    struct hold held = {.sequence = app.sequence};
    SAY(ga_host_function, .stream = stream);
    script_expect(&app.data, WIRE_DONE);
    cr_assert_eq(app.data.header.sequence, held.sequence);
    cr_assert_eq(ga_read_i32(&app.data.values), CUDA_SUCCESS);
    held.ticket = ga_read_u32(&app.data.values);
    return held;
}

static void let_go(const struct hold *held)
{
    ga_write_u32(script_begin(&app.side), held->ticket);
    script_send(&app.side, WIRE_HOST_DONE, 0, held->sequence);
}

static uint64_t copy_out(uint64_t stream)
{
    uint64_t first = app.sequence;
    for (int i = 0; i < COPIES; i++) {
        SAY(ga_copy_out, .src = app.window, .bytes = BYTES, .stream = stream);
    }
    return first;
}

/* The bytes come, and then their answers. */
static void expect_copies(uint64_t first)
{
    for (uint64_t i = 0; i < COPIES; i++) {
        script_expect(&app.data, WIRE_DATA);
        cr_assert_eq(app.data.header.sequence, first + i);
        script_expect(&app.data, WIRE_REPLY);
        cr_assert_eq(ga_read_i32(&app.data.values), CUDA_SUCCESS);
    }
}

static void expect_reply(uint64_t sequence)
{
    script_expect(&app.data, WIRE_REPLY);
    cr_assert_eq(app.data.header.sequence, sequence);
    int32_t result = ga_read_i32(&app.data.values);
    cr_assert_eq(result, CUDA_SUCCESS, "%d", result);
}

static uint64_t synchronize(void)
{
    (void)script_begin(&app.data);
    script_send(&app.data, API_OP_ga_context_synchronize, 1, app.sequence);
    return app.sequence++;
}

static void expect_copy_refused(uint64_t stream)
{
    uint64_t sequence = app.sequence;
    SAY(ga_copy_out, .src = app.window, .bytes = BYTES, .stream = stream);
    script_expect(&app.data, WIRE_REPLY);
    cr_assert_eq(app.data.header.sequence, sequence);
    int32_t result = ga_read_i32(&app.data.values);
    cr_assert_eq(result, CUDA_ERROR_INVALID_HANDLE, "%d", result);
}

static uint64_t context_new(uint32_t kind)
{
    uint64_t context = ga_handle_make(GA_HANDLE_CONTEXT, 1, 2 + kind), sequence = app.sequence;
    SAY(ga_context_create, .context = context, .kind = kind);
    expect_reply(sequence);
    script_context(&app, context);
    return context;
}

/* A call that waits for a context, or ends it, waits for the work of its streams. semantics S126 */
Test(streams, work_of_a_stream_that_is_gone_is_its_contexts)
{
    for (uint32_t kind = 0; kind < 2; kind++) {
        uint64_t context = context_new(kind), stream = script_stream(&app, 10 + kind);
        struct hold first = hold(stream);
        uint64_t copies = copy_out(stream);
        SAY(cuStreamDestroy_v2, .hStream = stream);
        uint64_t waited = synchronize();
        let_go(&first);
        expect_copies(copies);
        expect_reply(waited);

        stream = script_stream(&app, 20 + kind);
        struct hold second = hold(stream);
        copies = copy_out(stream);
        SAY(cuStreamDestroy_v2, .hStream = stream);
        uint64_t ended = app.sequence;
        SAY(ga_context_destroy, .context = context);
        let_go(&second);
        expect_copies(copies);
        expect_reply(ended);
        script_context(&app, app.context);
    }
}

static const char store[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                            ".visible .entry store(.param .u64 p)\n"
                            "{\n    .reg .b64 %d;\n    ld.param.u64 %d, [p];\n"
                            "    st.global.u32 [%d], 7;\n    ret;\n}\n";

/* A module is unloaded when its kernels have ended, those of such a stream too: the driver would
 * wait for them, and with it all calls. */
Test(streams, a_module_waits_for_work_of_a_stream_that_is_gone)
{
    uint64_t module = ga_handle_make(GA_HANDLE_MODULE, 1, 1);
    uint64_t function = ga_handle_make(GA_HANDLE_FUNCTION, 1, 1);
    uint64_t stream = script_stream(&app, 1), other = script_stream(&app, 2);
    uint32_t seen = 0;
    cr_assert_eq(script_module(&app, module, store), CUDA_SUCCESS);
    cr_assert_eq(script_function(&app, module, "store", function), CUDA_SUCCESS);
    struct hold held = hold(stream);
    script_launch(&app, function, 1, 1, stream, &app.window, sizeof app.window);
    SAY(cuStreamDestroy_v2, .hStream = stream);
    SAY(ga_module_unload, .module = module);
    cr_assert_eq(script_stream_synchronize(&app, other), CUDA_SUCCESS, "other calls go on");
    let_go(&held);
    expect_reply(synchronize());
    cr_assert_eq(script_copy_out(&app, app.window, &seen, sizeof seen, 0), CUDA_SUCCESS);
    cr_expect_eq(seen, 7);
}

/* Also the one that all calls before were for. */
Test(streams, a_stream_that_is_gone_is_none)
{
    uint64_t stream = script_stream(&app, 1), other = script_stream(&app, 2);
    cr_assert_eq(script_stream_synchronize(&app, stream), CUDA_SUCCESS);
    SAY(cuStreamDestroy_v2, .hStream = stream);
    cr_assert_eq(script_stream_synchronize(&app, stream), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(script_stream_synchronize(&app, other), CUDA_SUCCESS);
    SAY(cuStreamDestroy_v2, .hStream = other);
    expect_copy_refused(stream);
    expect_copy_refused(other);
}

/* A stream that captures has nothing to do, whatever else the context does. */
Test(streams, captures_are_not_waited_for)
{
    uint64_t stream = script_stream(&app, 1), exec = ga_handle_make(GA_HANDLE_EXEC, 1, 1);
    SAY(ga_graph_begin, .stream = stream);
    expect_reply(synchronize());
    SAY(ga_graph_node, .stream = stream, .empty = 1);
    uint64_t waited = app.sequence;
    SAY(ga_memory_unmap, .wait_for_work = 1);
    expect_reply(waited);
    uint64_t made = app.sequence;
    SAY(ga_graph_end, .stream = stream, .exec = exec);
    expect_reply(made);
}

/* Work that nobody waits for, because the stream captures (which no client of ours does), is told
 * as an error before its context goes: nothing is read or written there any more. */
Test(streams, a_context_ends_while_nobody_waits_for_its_work)
{
    uint64_t context = context_new(1), stream = script_stream(&app, 1);
    struct hold held = hold(stream);
    uint64_t copies = copy_out(stream);
    SAY(ga_graph_begin, .stream = stream);
    uint64_t ended = app.sequence;
    SAY(ga_context_destroy, .context = context);
    for (uint64_t i = 0; i < COPIES; i++) {
        script_expect(&app.data, WIRE_REPLY);
        cr_assert_eq(app.data.header.sequence, copies + i);
        cr_assert_neq(ga_read_i32(&app.data.values), CUDA_SUCCESS);
    }
    let_go(&held);
    script_expect(&app.data, WIRE_REPLY);
    cr_assert_eq(app.data.header.sequence, ended);
    script_context(&app, app.context);
    cr_assert_eq(script_stream_synchronize(&app, 0), CUDA_SUCCESS);
}
