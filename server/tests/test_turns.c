/* SPDX-License-Identifier: Apache-2.0 */
/* Calls out of turn: what TCP cannot do, and a transport with a mistake may. Their numbers show it,
 * and the connection ends before any of it is done. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/tests/script.h"

#define MIB (UINT64_C(1) << 20)

static struct script_server server;
static struct script_app app;

static void start(void)
{
    script_server_start(&server, "");
}

static void stop(void)
{
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(turns, .init = start, .fini = stop, .timeout = 60);

static void expect_dropped(void)
{
    script_expect_end(&app.data);
    script_server_wait_backends(&server, 0);
    script_app_close(&app);
}

/* A fill of `app`'s memory, as the call with this number. */
static void send_fill(uint64_t sequence)
{
    const struct cuMemsetD8_v2_args args = {.dstDevice = app.window, .uc = 1, .N = 64};
    cuMemsetD8_v2_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_cuMemsetD8_v2, 1, sequence);
}

Test(turns, calls_come_once_and_in_turn)
{
    enum { TWICE, LOST, EARLIER, NONE, CASES };
    for (int i = 0; i < CASES; i++) {
        script_app_start(&app, server.url, 0);
        cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
        send_fill(app.sequence++);
        cr_assert_eq(script_stream_synchronize(&app, 0), 0); /* all is well so far */
        const uint64_t wrong[CASES] = {app.sequence - 1, app.sequence + 1, 1, 0};
        send_fill(wrong[i]);
        expect_dropped();
    }
    script_server_says(&server, "break the protocol");
}

static void send_context(uint64_t sequence)
{
    ga_write_u64(script_begin(&app.data), app.context);
    script_send(&app.data, WIRE_CONTEXT, 1, sequence);
}

Test(turns, context_stands_before_the_call_that_it_names)
{
    script_app_start(&app, server.url, 0);
    send_context(0); /* of a client that names none */
    send_context(app.sequence);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    send_context(app.sequence - 1);
    expect_dropped();
}
