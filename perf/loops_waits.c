/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for the server, one kind at a time. */
#include <string.h>

#include "perf/loops.h"
#include "perf/loops_kernels.h"
#include "perf/timing.h"

#define WAITS_BYTES 4096u

static uint8_t *waits_source, *waits_sink;

static void event_wait(struct measure *measure)
{
    CHECK(cuEventRecord(loops_event, loops_stream));
    CHECK(cuEventSynchronize(loops_event));
    measure->expected.records++;
}

static void module_wait(struct measure *measure)
{
    CUmodule module;
    (void)measure;
    CHECK(cuModuleLoadData(&module, kernels));
    CHECK(cuModuleUnload(module));
}

static void in_wait(struct measure *measure)
{
    CHECK(cuMemcpyHtoD_v2(loops_memory, waits_source, WAITS_BYTES));
    measure->expected.bytes_in += WAITS_BYTES;
}

static void out_wait(struct measure *measure)
{
    CHECK(cuMemcpyDtoH_v2(waits_sink, loops_memory, WAITS_BYTES));
    measure->expected.bytes_out += WAITS_BYTES;
}

void loops_waits(struct measure *measure)
{
    static const struct {
        const char *kind;
        void (*once)(struct measure *measure);
    } kinds[] = {
        {"event", event_wait}, {"module", module_wait}, {"in", in_wait}, {"out", out_wait}};
    loops_buffers(false, &waits_source, &waits_sink);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(measure->kind, kinds[i].kind) != 0) {
            continue;
        }
        measure->singly = true;
        loops_begin(measure);
        for (uint64_t number = 0; number < measure->count; number++) {
            uint64_t before = ga_clock_ns();
            kinds[i].once(measure);
            loops_single(number, before);
        }
        loops_finish(measure);
        return;
    }
    loops_fail("%s: kinds are event, module, in and out", measure->name);
}
