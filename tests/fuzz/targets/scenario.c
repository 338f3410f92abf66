/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the simulator: scenarios, and traces of applications. */
#include <math.h>

#include "sim/sim.h"
#include "tests/fuzz/input.h"

static void count(void *user, const char *line)
{
    FUZZ_CHECK(strchr(line, '\n') == NULL && line[0] != 0);
    ++*(unsigned *)user;
}

static void scenario(const char *text)
{
    struct sim_scenario s;
    unsigned complaints = 0;
    enum ga_status status = sim_scenario_read("file", text, NULL, &s, count, &complaints);
    FUZZ_CHECK((status == GA_OK) == (complaints == 0));
    if (status != GA_OK) {
        return;
    }
    FUZZ_CHECK(s.policy != NULL && s.gpu_count >= 1 && s.stream_count >= 1);
    for (uint32_t i = 0; i < s.gpu_count; i++) {
        FUZZ_CHECK(s.gpus[i].node < s.node_count && s.gpus[i].device.sms != 0);
    }
    for (uint32_t i = 0; i < s.stream_count; i++) {
        FUZZ_CHECK(s.streams[i].app_index < s.app_count && s.streams[i].node < s.node_count);
        FUZZ_CHECK(s.streams[i].weight >= 1 && s.streams[i].tenant[0] != 0);
    }
    sim_scenario_free(&s);
}

/* A trace that has been read is written so that it can be read again. */
static void trace(const char *text)
{
    struct sim_trace t, again;
    char why[300] = "", *written = NULL;
    size_t size;
    if (sim_trace_read("file", text, &t, why, sizeof why) != GA_OK) {
        FUZZ_CHECK(why[0] != 0);
        return;
    }
    FILE *out = open_memstream(&written, &size);
    FUZZ_CHECK(out != NULL);
    sim_trace_write(out, &t);
    FUZZ_CHECK(fclose(out) == 0);
    FUZZ_CHECK(sim_trace_read("written", written, &again, why, sizeof why) == GA_OK);
    FUZZ_CHECK(again.request_count == t.request_count && again.phase_count == t.phase_count);
    for (uint32_t i = 0; i < t.phase_count; i++) {
        FUZZ_CHECK(again.phases[i].ns == t.phases[i].ns);
        FUZZ_CHECK(fabs(again.phases[i].places - t.phases[i].places) < 1e-8);
    }
    free(written);
    sim_trace_free(&t);
    sim_trace_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    scenario(text);
    trace(text);
    free(text);
    return 0;
}
