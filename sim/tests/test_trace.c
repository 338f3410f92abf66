/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: what is read, what is refused with which words, and what is written. */
#include "sim/trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char good[] = "gpuaas-trace 1\n"
                           "gpu quadro2000\n"
                           "# two streams\n"
                           "request MC 0 100\n"
                           "cpu 9084000\n"
                           "h2d 17640000 52920000 pageable\n"
                           "kernel 269700 1 1 0.0213\n"
                           "d2h 0 22680000 pinned\n"
                           "request SN 5 1\n"
                           "cpu 1 # a comment\n"
                           "request MC after 2\n"
                           "request SN 5 1\n";

Test(trace, is_read)
{
    struct sim_trace trace;
    char why[300] = "";
    cr_assert_eq(sim_trace_read("good", good, &trace, why, sizeof why), GA_OK, "%s", why);
    cr_assert_str_eq(trace.gpu, "quadro2000");
    cr_assert_eq(trace.stream_count, 2);
    cr_assert_str_eq(trace.streams[1], "SN");
    cr_assert_eq(trace.request_count, 4);
    cr_assert_eq(trace.requests[0].rounds, 100);
    cr_assert_eq(trace.requests[0].phase_count, 4);
    cr_assert_eq(trace.requests[1].phase_first, 4);
    cr_assert_eq(trace.requests[1].arrival_ns, 5);
    cr_assert_eq(trace.requests[2].arrival_ns, SIM_ARRIVES_AFTER);
    cr_assert_eq(trace.requests[2].stream, 0);
    cr_assert_eq(trace.phases[1].bytes, 52920000);
    cr_assert_not(trace.phases[1].pinned);
    cr_assert(trace.phases[3].pinned);
    cr_assert_eq(trace.phases[2].bandwidth, 0.0213);
    sim_trace_free(&trace);
}

Test(trace, is_written_as_it_is_read)
{
    struct sim_trace trace, again;
    char why[300] = "", *text = NULL;
    size_t size;
    cr_assert_eq(sim_trace_read("good", good, &trace, why, sizeof why), GA_OK, "%s", why);
    FILE *out = open_memstream(&text, &size);
    sim_trace_write(out, &trace);
    fclose(out);
    cr_assert_eq(sim_trace_read("written", text, &again, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(again.request_count, trace.request_count);
    cr_assert_eq(again.phase_count, trace.phase_count);
    for (uint32_t i = 0; i < trace.phase_count; i++) {
        cr_assert_eq(again.phases[i].ns, trace.phases[i].ns);
        cr_assert_eq(again.phases[i].bytes, trace.phases[i].bytes);
        cr_assert_eq(again.phases[i].bandwidth, trace.phases[i].bandwidth);
    }
    free(text);
    sim_trace_free(&trace);
    sim_trace_free(&again);
}

Test(trace, mistakes_have_words)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "no request"},
        {"gpuaas-trace 2\n", "w:1: the first line must be \"gpuaas-trace 1\""},
        {"gpuaas-trace 1\ncpu 1\n", "w:2: cpu: stands before the first request"},
        {"gpuaas-trace 1\nrequest A 0\n", "w:2: a request has this form"},
        {"gpuaas-trace 1\nrequest A 0 0\n", "rounds 0: allowed: 1 to"},
        {"gpuaas-trace 1\nrequest A x 1\n", "arrival x: allowed"},
        {"gpuaas-trace 1\nrequest A 5 1\nrequest A 4 1\n", "w:3: arrival 4: allowed"},
        {"gpuaas-trace 1\nrequest A 0 1\ncpu -1\n", "w:3: cpu: nanoseconds"},
        {"gpuaas-trace 1\nrequest A 0 1\ncpu 1 2\n", "cpu NS"},
        {"gpuaas-trace 1\nrequest A 0 1\nh2d 1 0 pinned\n", "at least one byte"},
        {"gpuaas-trace 1\nrequest A 0 1\nh2d 1 1 fast\n", "memory fast: allowed: pinned, pageable"},
        {"gpuaas-trace 1\nrequest A 0 1\nkernel 1 1 1 1.1\n", "from 0 to 1"},
        {"gpuaas-trace 1\nrequest A 0 1\nkernel 1 nan 1 1\n", "from 0 to 1"},
        {"gpuaas-trace 1\nrequest A 0 1\nkernel 1 0 1 1\n", "some places"},
        {"gpuaas-trace 1\nrequest A 0 1\nsleep 1\n", "\"sleep\" is no line of a trace; allowed"},
        {"gpuaas-trace 1\nrequest A 0 1\ncpu 99999999999999999999\n", "nanoseconds"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sim_trace trace;
        char why[300] = "";
        cr_assert_eq(sim_trace_read("w", rows[i].text, &trace, why, sizeof why), GA_INVALID);
        cr_assert(strstr(why, rows[i].words) != NULL, "\"%s\" is not in \"%s\"", rows[i].words,
                  why);
    }
}
