/* SPDX-License-Identifier: Apache-2.0 */
/* Streams for the calls of stream capture. One at a time: while a stream captures, much cannot be
 * done. */
#include "api/cuda_names.h"
#include "tests/arguments/good.h"
#include "tests/arguments/table.h"

static CUstream made;

void good_capture_end(void)
{
    CUgraph graph = NULL;
    if (made == NULL) {
        return;
    }
    (void)driver.cuStreamEndCapture(made, &graph);
    if (graph != NULL) {
        MUST(driver.cuGraphDestroy(graph));
    }
    (void)driver.cuStreamDestroy_v2(made);
    made = NULL;
}

uint64_t new_idle_stream(void)
{
    good_capture_end();
    MUST(driver.cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
    return (uint64_t)(uintptr_t)made;
}

uint64_t new_capturing(void)
{
    uint64_t stream = new_idle_stream();
    MUST(driver.cuStreamBeginCapture_v2(made, CU_STREAM_CAPTURE_MODE_RELAXED));
    return stream;
}
