/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs with conditional nodes, as a client sends them: right, in the wrong order, with handles of
 * others or of nobody. Errors are reported when the graph ends; the process goes on, and the end of
 * its context leaves nothing behind (the server's sanitizer looks). */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "server/tests/script.h"

#define MIB (UINT64_C(1) << 20)

/* Numbers of the client's. */
enum { GRAPH = 7, OTHER_GRAPH = 8, CONDITION = 1, INNER = 2, FOREIGN = 3, UNKNOWN = 99 };

static struct script_server server;
static struct script_app app;
static uint64_t stream;

static int32_t condition(uint64_t number, uint64_t graph, uint32_t value)
{
    const struct ga_graph_condition_args args = {
        .condition = number, .graph = graph, .value = value, .flags = CU_GRAPH_COND_ASSIGN_DEFAULT};
    ga_graph_condition_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_graph_condition, 1, app.sequence);
    return script_wait(&app, app.sequence++);
}

static void start(void)
{
    script_server_start(&server, "");
    script_app_start(&app, server.url, 0);
    stream = script_stream(&app, 1);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    cr_assert_eq(condition(CONDITION, GRAPH, 1), 0);
    cr_assert_eq(condition(INNER, GRAPH, 0), 0);
    cr_assert_eq(condition(FOREIGN, OTHER_GRAPH, 1), 0);
}

static void stop(void)
{
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(conditions, .init = start, .fini = stop, .timeout = 60);

#define SAY(name, ...)                                                                             \
    do {                                                                                           \
        const struct name##_args args_ = {__VA_ARGS__};                                            \
        name##_args_write(script_begin(&app.data), &args_);                                        \
        script_send(&app.data, API_OP_##name, 1, app.sequence++);                                  \
    } while (0)

static uint64_t exec_handle(uint32_t index)
{
    return ga_handle_make(GA_HANDLE_EXEC, 1, index);
}

static void begin(uint64_t graph)
{
    SAY(ga_graph_begin_of, .stream = stream, .graph = graph);
}

static void node_after(uint32_t before)
{
    SAY(ga_graph_node, .stream = stream, .count = 1, .after = &before);
}

static void node_first(void)
{
    SAY(ga_graph_node, .stream = stream);
}

static void conditional(uint64_t number, uint32_t type, uint32_t bodies)
{
    SAY(ga_graph_conditional, .stream = stream, .condition = number, .type = type,
        .bodies = bodies);
}

static void body(uint32_t node, uint32_t number)
{
    SAY(ga_graph_body, .stream = stream, .node = node, .body = number);
}

static void fill(uint32_t word, uint32_t value)
{
    SAY(cuMemsetD32Async, .dstDevice = app.window + 4 * word, .ui = value, .N = 1,
        .hStream = stream);
}

static int32_t end(uint32_t exec)
{
    SAY(ga_graph_end, .stream = stream, .exec = exec_handle(exec));
    return script_wait(&app, app.sequence - 1);
}

static uint32_t word(uint32_t number)
{
    uint32_t value = 0;
    cr_assert_eq(script_stream_synchronize(&app, stream), 0);
    cr_assert_eq(script_copy_out(&app, app.window + 4 * number, &value, 4, stream), 0);
    return value;
}

static void clear(void)
{
    fill(0, 0);
    fill(1, 0);
    fill(2, 0);
}

/* 0: an if, whose body fills a word and has an if of its own, whose `else` fills another one; then
 * a fill. */
static void say_right(void)
{
    begin(GRAPH);
    node_first();
    conditional(CONDITION, CU_GRAPH_COND_TYPE_IF, 1);
    node_after(0);
    fill(2, 30);
    body(0, 0);
    node_first();
    fill(0, 10);
    node_after(2);
    conditional(INNER, CU_GRAPH_COND_TYPE_IF, 2);
    body(3, 1);
    node_first();
    fill(1, 20);
}

static void expect_right(uint32_t exec)
{
    clear();
    SAY(ga_graph_launch, .exec = exec_handle(exec), .stream = stream);
    cr_assert_eq(word(0), 10);
    cr_assert_eq(word(1), 20);
    cr_assert_eq(word(2), 30);
}

Test(conditions, bodies_run_and_their_nodes_change)
{
    say_right();
    cr_assert_eq(end(1), 0);
    expect_right(1);
    for (uint32_t value = 21; value >= 20; value--) {
        SAY(ga_graph_begin, .stream = stream);
        node_first();
        fill(1, value);
        SAY(ga_graph_set, .stream = stream, .exec = exec_handle(1), .node = 4);
        SAY(ga_graph_launch, .exec = exec_handle(1), .stream = stream);
        cr_assert_eq(word(1), value);
    }
    /* One executable at a time; then it can be made anew. */
    say_right();
    cr_assert_neq(end(2), 0);
    expect_right(1);
    SAY(ga_graph_destroy, .exec = exec_handle(1));
    say_right();
    cr_assert_eq(end(2), 0);
    expect_right(2);
}

Test(conditions, what_is_dropped_stays_as_long_as_it_is_used)
{
    say_right();
    cr_assert_eq(end(1), 0);
    SAY(ga_graph_condition_drop, .condition = CONDITION);
    SAY(ga_graph_condition_drop, .condition = INNER);
    SAY(ga_graph_condition_drop, .condition = UNKNOWN);
    expect_right(1);
    begin(GRAPH); /* in use */
    cr_assert_neq(end(2), 0);
    SAY(ga_graph_destroy, .exec = exec_handle(1));
    begin(GRAPH); /* gone */
    cr_assert_neq(end(2), 0);
    cr_assert_eq(condition(CONDITION, GRAPH, 1), 0);
    cr_assert_eq(condition(INNER, GRAPH, 1), 0);
    say_right();
    cr_assert_eq(end(2), 0);
}

/* Each leaves the graph to be captured to once more. */
static void expect_wrong(const char *what)
{
    cr_assert_neq(end(1), 0, "%s", what);
    say_right();
    cr_assert_eq(end(2), 0, "after %s", what);
    expect_right(2);
    SAY(ga_graph_destroy, .exec = exec_handle(2));
}

Test(conditions, what_is_wrong_is_told_and_leaves_nothing)
{
    begin(GRAPH);
    expect_wrong("a graph without its conditional nodes");
    begin(GRAPH);
    conditional(CONDITION, CU_GRAPH_COND_TYPE_IF, 1);
    expect_wrong("a conditional node that was not announced");
    begin(GRAPH);
    node_first();
    conditional(FOREIGN, CU_GRAPH_COND_TYPE_IF, 1);
    expect_wrong("a variable of another graph");
    begin(GRAPH);
    node_first();
    conditional(UNKNOWN, CU_GRAPH_COND_TYPE_IF, 1);
    expect_wrong("no variable");
    begin(GRAPH);
    node_first();
    conditional(CONDITION, 77, 1);
    expect_wrong("no such type");
    begin(GRAPH);
    node_first();
    conditional(CONDITION, CU_GRAPH_COND_TYPE_WHILE, 2);
    expect_wrong("a loop with two bodies");
    begin(GRAPH);
    node_first();
    conditional(CONDITION, CU_GRAPH_COND_TYPE_IF, 0);
    expect_wrong("no bodies");
    begin(GRAPH);
    node_first();
    conditional(CONDITION, 2 /* switch */, UINT32_MAX);
    expect_wrong("very many bodies");
    begin(GRAPH);
    node_first();
    conditional(CONDITION, CU_GRAPH_COND_TYPE_IF, 1);
    conditional(CONDITION, CU_GRAPH_COND_TYPE_IF, 1);
    expect_wrong("a variable used twice");
    say_right();
    body(0, 1);
    expect_wrong("a body that there is not");
    say_right();
    body(1, 0);
    expect_wrong("a body of a fill");
    say_right();
    body(UINT32_MAX, UINT32_MAX);
    expect_wrong("a body of nothing");
    say_right();
    node_after(0);
    fill(1, 20);
    expect_wrong("behind a node outside of the body");
    say_right();
    node_first();
    expect_wrong("an announced node that did not come");
    say_right();
    SAY(ga_graph_set, .stream = stream, .exec = exec_handle(1), .node = 0);
    expect_wrong("parameters of a node that are a graph");
}

Test(conditions, who_is_not_capturing_gets_no_bodies)
{
    body(0, 0);
    conditional(CONDITION, CU_GRAPH_COND_TYPE_IF, 1);
    begin(UNKNOWN);
    cr_assert_neq(end(1), 0);
    SAY(ga_graph_begin, .stream = stream);
    node_first();
    conditional(CONDITION, CU_GRAPH_COND_TYPE_IF, 1);
    cr_assert_neq(end(1), 0, "a graph of its own has no variables");
    SAY(ga_graph_begin, .stream = stream);
    body(0, 0);
    cr_assert_neq(end(1), 0, "nor bodies");
    cr_assert_neq(condition(CONDITION, GRAPH, 1), 0, "a number is taken once");
    say_right();
    cr_assert_eq(end(1), 0);
    expect_right(1);
}

/* In the midst of a body. */
Test(conditions, a_stream_that_goes_takes_its_capture_along)
{
    say_right();
    SAY(cuStreamDestroy_v2, .hStream = stream);
    stream = script_stream(&app, 2);
    say_right();
    cr_assert_eq(end(1), 0);
    expect_right(1);
}

Test(conditions, a_context_that_goes_takes_all_along)
{
    say_right();
    const struct ga_context_reset_args args = {.context = app.context};
    ga_context_reset_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_context_reset, 1, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
    SAY(ga_graph_condition_drop, .condition = CONDITION);
    stream = script_stream(&app, 2);
    begin(GRAPH);
    cr_assert_neq(end(1), 0, "its variables are gone");
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    cr_assert_eq(condition(CONDITION, GRAPH, 1), 0);
    cr_assert_eq(condition(INNER, GRAPH, 0), 0);
    say_right();
    cr_assert_eq(end(1), 0);
    expect_right(1);
}

static void expect_count(const char *words)
{
    cr_assert_eq(kill(server.pid, SIGUSR1), 0);
    script_server_says(&server, words);
}

Test(conditions, they_are_counted)
{
    expect_count(", 3 conditional variables");
    SAY(ga_graph_condition_drop, .condition = FOREIGN);
    cr_assert_eq(script_map(&app, app.window + 2 * MIB, 2 * MIB), 0, "all before it is done");
    expect_count(", 2 conditional variables");
    const struct ga_context_reset_args args = {.context = app.context};
    ga_context_reset_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_context_reset, 1, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
    cr_assert_eq(condition(CONDITION, GRAPH, 1), 0);
    expect_count(", 1 conditional variables");
}
