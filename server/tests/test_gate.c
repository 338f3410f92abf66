/* SPDX-License-Identifier: Apache-2.0 */
/* Each call that gives an engine work asks the gate of the session in which its stream works, and
 * no other call does. That all work passes by a gate: tests/fuzz/backend.c. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/session/conn.h"
#include "server/session/handles.h"

enum { IDLE = 1, ELSEWHERE, CAPTURES };

struct counting_gate {
    struct gate base;
    unsigned entered;
    enum api_engine engine; /* that the last one has asked for */
    enum ga_status answer;
};

static enum ga_status count(struct gate *gate, struct server_conn *conn, enum api_engine engine)
{
    struct counting_gate *counting = (struct counting_gate *)gate;
    (void)conn;
    counting->entered++;
    counting->engine = engine;
    return counting->answer;
}

static struct figures figures;
static struct counting_gate one = {.base.enter = count}, other = {.base.enter = count};
static struct server_session sessions[2] = {{.number = 1}, {.number = 2}};
static struct server_context contexts[2] = {{.session = &sessions[0]}, {.session = &sessions[1]}};
static struct server_stream streams[] = {[IDLE] = {.context = &contexts[0]},
                                         [ELSEWHERE] = {.context = &contexts[1]},
                                         [CAPTURES] = {.context = &contexts[0]}};
static struct server_conn *conn;

static uint64_t stream(uint32_t which)
{
    return ga_handle_make(GA_HANDLE_STREAM, 1, which);
}

static void start(void)
{
    conn = calloc(1, sizeof *conn);
    objects_init(&conn->objects, &figures);
    for (uint32_t i = IDLE; i <= CAPTURES; i++) {
        cr_assert_eq(ga_handle_table_take(&conn->objects.streams, stream(i), &streams[i]), GA_OK);
    }
    streams[CAPTURES].build = (void *)&streams; /* whatever it is */
    conn->sessions[1] = &sessions[0];
    conn->sessions[2] = &sessions[1];
    conn->current = &contexts[0];
    gate_set(conn, &sessions[0], &one.base);
    gate_set(conn, &sessions[1], &other.base);
}

static void stop(void)
{
    ga_handle_table_fini(&conn->objects.streams);
    free(conn);
}

TestSuite(gate, .init = start, .fini = stop);

/* A call that names this stream, where it names one: each aligned word of its arguments does. */
static enum ga_status enter(uint16_t op, uint64_t wire)
{
    uint64_t words[32];
    const struct wire_header header = {.opcode = op, .length = sizeof words};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        words[i] = wire;
    }
    const struct ga_reader args = ga_reader_of((const uint8_t *)words, sizeof words);
    return gate_enter(conn, &header, &args);
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

Test(gate, each_call_with_an_engine_asks_once_for_that_engine)
{
    unsigned calls = 0, without = 0;
    for (size_t i = 0; i < api_call_count; i++) {
        uint16_t op = api_calls[i].op;
        enum api_engine engine = api_facts(op).engine;
        one.entered = other.entered = 0;
        cr_assert_eq(enter(op, stream(IDLE)), GA_OK);
        cr_assert_eq(one.entered, engine != API_ENGINE_NONE, "%s", api_calls[i].name);
        cr_assert_eq(other.entered, 0);
        if (engine != API_ENGINE_NONE) {
            cr_assert_eq(one.engine, engine, "%s", api_calls[i].name);
            calls++;
            without += !names_a_stream(api_calls[i].name);
        }
    }
    cr_assert_gt(calls, 20);
    cr_assert_eq(without, 8);
}

Test(gate, it_is_that_of_the_session_of_the_stream)
{
    for (size_t i = 0; i < api_call_count; i++) {
        uint16_t op = api_calls[i].op;
        bool works = api_facts(op).engine != API_ENGINE_NONE;
        bool there = names_a_stream(api_calls[i].name);
        one.entered = other.entered = 0;
        cr_assert_eq(enter(op, stream(ELSEWHERE)), GA_OK);
        cr_assert_eq(other.entered, works && there, "%s", api_calls[i].name);
        cr_assert_eq(one.entered, works && !there, "%s", api_calls[i].name);
    }
}

Test(gate, what_is_captured_is_no_work)
{
    for (size_t i = 0; i < api_call_count; i++) {
        one.entered = other.entered = 0;
        cr_assert_eq(enter(api_calls[i].op, stream(CAPTURES)), GA_OK);
        bool works = api_facts(api_calls[i].op).engine != API_ENGINE_NONE;
        cr_assert_eq(one.entered, works && !names_a_stream(api_calls[i].name));
    }
}

Test(gate, the_legacy_stream_is_that_of_the_current_context)
{
    conn->current = &contexts[1];
    cr_assert_eq(enter(API_OP_ga_launch, 0), GA_OK);
    cr_assert_eq(enter(API_OP_ga_launch, (uintptr_t)CU_STREAM_LEGACY), GA_OK);
    cr_assert(one.entered == 0 && other.entered == 2);
    conn->current = NULL;
    cr_assert_eq(enter(API_OP_ga_launch, 0), GA_OK, "the call itself will say so");
    cr_assert_eq(enter(API_OP_ga_launch, stream(7)), GA_OK);
    cr_assert(one.entered == 0 && other.entered == 2);
}

Test(gate, a_session_may_have_none)
{
    cr_assert(conn->gated);
    gate_set(conn, &sessions[0], NULL);
    cr_assert(conn->gated);
    cr_assert_eq(enter(API_OP_ga_launch, stream(IDLE)), GA_OK);
    cr_assert_eq(one.entered, 0);
    gate_set(conn, &sessions[1], NULL);
    cr_assert(!conn->gated, "nobody is asked at all");
}

Test(gate, an_end_at_the_gate_is_the_call_s)
{
    one.answer = GA_LOST;
    cr_assert_eq(enter(API_OP_ga_launch, stream(IDLE)), GA_LOST);
}
