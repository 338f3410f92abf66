/* SPDX-License-Identifier: Apache-2.0 */
/* Each call that gives an engine work asks the gate of the session in which its stream works, and
 * no other call does. That all work passes by a gate: tests/fuzz/backend.c. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/gate/gate.h"

enum { IDLE = 1, ELSEWHERE, CAPTURES };

struct counting_gate {
    struct gate base;
    unsigned entered;
    enum api_engine engine; /* that the last one has asked for */
    enum ga_status answer;
};

static enum ga_status count(struct gate *gate, struct server_app *app, enum api_engine engine,
                            uint64_t what)
{
    (void)what;
    struct counting_gate *counting = (struct counting_gate *)gate;
    (void)app;
    counting->entered++;
    counting->engine = engine;
    return counting->answer;
}

static struct figures figures;
static struct ledger ledger;
static struct counting_gate one = {.base.enter = count}, other = {.base.enter = count};
static struct server_session sessions[2] = {{.number = 1}, {.number = 2}};
static struct server_context contexts[2] = {{.session = &sessions[0]}, {.session = &sessions[1]}};
static struct server_stream streams[] = {[IDLE] = {.context = &contexts[0]},
                                         [ELSEWHERE] = {.context = &contexts[1]},
                                         [CAPTURES] = {.context = &contexts[0]}};
static struct server_app *app;

static uint64_t stream(uint32_t which)
{
    return ga_handle_make(GA_HANDLE_STREAM, 1, which);
}

static void start(void)
{
    app = calloc(1, sizeof *app);
    ledger_init(&ledger, &figures);
    objects_init(&app->objects, &ledger);
    for (uint32_t i = IDLE; i <= CAPTURES; i++) {
        cr_assert_eq(ga_handle_table_take(&app->objects.streams, stream(i), &streams[i]), GA_OK);
    }
    streams[CAPTURES].build = (void *)&streams; /* whatever it is */
    app->sessions[1] = &sessions[0];
    app->sessions[2] = &sessions[1];
    app->current = &contexts[0];
    gate_set(app, &sessions[0], &one.base);
    gate_set(app, &sessions[1], &other.base);
}

static void stop(void)
{
    ga_handle_table_fini(&app->objects.streams);
    free(app);
}

TestSuite(gate, .init = start, .fini = stop);

/* The handler of a call, which ends at the gate, with a frame that names this stream, where the
 * call names one: each aligned word of it does. One length alone is right. */
static void handle(uint16_t op, uint64_t wire)
{
    uint64_t words[32];
    const struct wire_header header = {.opcode = op};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        words[i] = wire;
    }
    for (size_t bytes = 16; bytes <= sizeof words; bytes += 16) {
        struct ga_reader args = ga_reader_of((const uint8_t *)words, bytes);
        cr_assert(!server_dispatch_find(op)(app, &header, &args));
    }
}

/* This launch has parameters of the kernel as well. */
static void handle_launch(uint64_t wire)
{
    _Alignas(16) uint8_t bytes[256];
    const struct ga_launch_args launch = {.stream = wire};
    const struct wire_header header = {.opcode = API_OP_ga_launch};
    struct ga_writer writer = ga_writer_of(bytes, sizeof bytes);
    ga_launch_args_write(&writer, &launch);
    ga_writer_finish(&writer);
    struct ga_reader args = ga_reader_of(bytes, writer.at);
    cr_assert(!server_dispatch_find(API_OP_ga_launch)(app, &header, &args));
}

static enum ga_status enter(uint64_t wire)
{
    return gate_enter(app, API_ENGINE_COMPUTE, wire, 0);
}

static bool names_a_stream(const char *name)
{
    static const char *const none[] = {"cuMemcpyDtoD_v2",  "cuMemcpyPeer",    "cuMemsetD8_v2",
                                       "cuMemsetD16_v2",   "cuMemsetD32_v2",  "cuMemsetD2D8_v2",
                                       "cuMemsetD2D16_v2", "cuMemsetD2D32_v2"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (strcmp(name, none[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* The gate lets nobody through: a handler that did anything first would find nothing here. */
Test(gate, each_call_with_an_engine_asks_once_and_first)
{
    unsigned without = 0;
    for (size_t i = 0; i < api_call_count; i++) {
        uint16_t op = api_calls[i].op;
        bool there = names_a_stream(api_calls[i].name);
        if (api_facts(op).engine == API_ENGINE_NONE) {
            continue;
        }
        without += !there;
        one = other = (struct counting_gate){.base.enter = count, .answer = GA_LOST};
        if (op == API_OP_ga_launch) {
            handle_launch(stream(ELSEWHERE));
        } else {
            handle(op, stream(ELSEWHERE));
        }
        cr_assert_eq(other.entered, there, "%s", api_calls[i].name);
        cr_assert_eq(one.entered, !there, "%s", api_calls[i].name);
        cr_assert_eq(there ? other.engine : one.engine, api_facts(op).engine, "%s",
                     api_calls[i].name);
    }
    cr_assert_eq(without, 8);
}

Test(gate, what_is_captured_is_no_work)
{
    cr_assert_eq(enter(stream(CAPTURES)), GA_OK);
    cr_assert(one.entered == 0 && other.entered == 0);
    cr_assert_eq(enter(stream(IDLE)), GA_OK);
    cr_assert(one.entered == 1 && other.entered == 0);
}

Test(gate, the_legacy_stream_is_that_of_the_current_context)
{
    app->current = &contexts[1];
    cr_assert_eq(enter(0), GA_OK);
    cr_assert_eq(enter((uintptr_t)CU_STREAM_LEGACY), GA_OK);
    cr_assert(one.entered == 0 && other.entered == 2);
    app->current = NULL;
    cr_assert_eq(enter(0), GA_OK, "the call itself will say so");
    cr_assert_eq(enter(stream(7)), GA_OK);
    cr_assert(one.entered == 0 && other.entered == 2);
}

Test(gate, a_session_may_have_none)
{
    cr_assert(app->gated);
    gate_set(app, &sessions[0], NULL);
    cr_assert(app->gated);
    cr_assert_eq(enter(stream(IDLE)), GA_OK);
    cr_assert_eq(one.entered, 0);
    gate_set(app, &sessions[1], NULL);
    cr_assert(!app->gated, "nobody is asked at all");
}

Test(gate, an_end_at_the_gate_is_the_call_s)
{
    one.answer = GA_LOST;
    cr_assert_eq(enter(stream(IDLE)), GA_LOST);
}
