/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture as a state machine: beginning, joining, invalidating and ending a capture. The
 * tests call the hooks as the exported calls would; the fake host receives the rest. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "api/capture_hooks.h"
#include "front/capture/capture.h"
#include "front/capture/capture_state.h"
#include "front/front.h"
#include "front/tests/fake_host.h"

#define ONE   FAKE_STREAM(8) /* not blocking */
#define TWO   FAKE_STREAM(9)
#define BLOCK FAKE_STREAM(1)

static void begin(void)
{
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuCtxSetCurrent(FAKE_EXPLICIT), CUDA_SUCCESS);
}

TestSuite(capture, .init = begin);

static void CUDA_CB nothing(void *data)
{
    (void)data;
}

static CUresult work(CUstream stream)
{
    return front_capture_cuLaunchHostFunc(stream, nothing, NULL);
}

static void start(CUstream stream, CUstreamCaptureMode mode)
{
    cr_assert_eq(cuStreamBeginCapture_v2(stream, mode), CUDA_SUCCESS);
}

static CUstreamCaptureStatus status(CUstream stream)
{
    CUstreamCaptureStatus told = (CUstreamCaptureStatus)99;
    cr_assert_eq(cuStreamIsCapturing(stream, &told), CUDA_SUCCESS);
    return told;
}

/* Ends the capture and expects that many nodes and edges. */
static void expect_graph(CUstream stream, size_t nodes, size_t edges)
{
    CUgraph graph = NULL;
    size_t count;
    cr_assert_eq(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    cr_assert_eq(cuGraphGetNodes(graph, NULL, &count), CUDA_SUCCESS);
    cr_assert_eq(count, nodes);
    cr_assert_eq(cuGraphGetEdges(graph, NULL, NULL, &count), CUDA_SUCCESS);
    cr_assert_eq(count, edges);
    cr_assert_eq(cuGraphDestroy(graph), CUDA_SUCCESS);
    cr_assert_eq(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void expect_spoilt(CUstream stream)
{
    CUgraph graph = (CUgraph)1;
    cr_assert_eq(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    cr_assert_eq(work(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cr_assert_eq(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    cr_assert_null(graph);
    cr_assert_eq(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
}

Test(capture, work_becomes_a_chain)
{
    cr_assert_not(front_capturing());
    start(ONE, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert(front_capturing());
    cr_assert_eq(status(ONE), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    cr_assert_eq(status(TWO), CU_STREAM_CAPTURE_STATUS_NONE);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(work(ONE), CUDA_SUCCESS);
    }
    cr_assert_eq(work(TWO), FRONT_CAPTURE_RUN);
    expect_graph(ONE, 3, 2);
    cr_assert_not(front_capturing());
}

Test(capture, begins_and_ends_once)
{
    CUgraph graph = NULL;
    cr_assert_eq(cuStreamEndCapture(ONE, &graph), CUDA_ERROR_ILLEGAL_STATE);
    cr_assert_eq(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
                 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    cr_assert_eq(cuStreamBeginCapture_v2(ONE, (CUstreamCaptureMode)3), CUDA_ERROR_INVALID_VALUE);
    start(ONE, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(cuStreamBeginCapture_v2(ONE, CU_STREAM_CAPTURE_MODE_GLOBAL),
                 CUDA_ERROR_ILLEGAL_STATE);
    expect_graph(ONE, 0, 0);
}

Test(capture, forks_and_joins_by_events)
{
    start(ONE, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(work(ONE), CUDA_SUCCESS);
    cr_assert_eq(front_capture_cuEventRecord(FAKE_EVENT(1), ONE), CUDA_SUCCESS);
    cr_assert_eq(front_capture_cuStreamWaitEvent(TWO, FAKE_EVENT(1), 0), CUDA_SUCCESS);
    cr_assert_eq(status(TWO), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    cr_assert_eq(work(TWO), CUDA_SUCCESS);
    cr_assert_eq(work(ONE), CUDA_SUCCESS);
    cr_assert_eq(front_capture_cuEventRecord(FAKE_EVENT(2), TWO), CUDA_SUCCESS);
    cr_assert_eq(front_capture_cuStreamWaitEvent(ONE, FAKE_EVENT(2), 0), CUDA_SUCCESS);
    cr_assert_eq(work(ONE), CUDA_SUCCESS);
    expect_graph(ONE, 4, 4);
    cr_assert_eq(status(TWO), CU_STREAM_CAPTURE_STATUS_NONE);
}

Test(capture, a_fork_that_is_not_joined_fails)
{
    CUgraph graph = NULL;
    start(ONE, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(front_capture_cuEventRecord(FAKE_EVENT(1), ONE), CUDA_SUCCESS);
    cr_assert_eq(front_capture_cuStreamWaitEvent(TWO, FAKE_EVENT(1), 0), CUDA_SUCCESS);
    cr_assert_eq(work(TWO), CUDA_SUCCESS);
    cr_assert_eq(cuStreamEndCapture(ONE, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    cr_assert_eq(status(ONE), CU_STREAM_CAPTURE_STATUS_NONE);
    cr_assert_eq(status(TWO), CU_STREAM_CAPTURE_STATUS_NONE);
}

Test(capture, two_captures_do_not_meet)
{
    start(ONE, CU_STREAM_CAPTURE_MODE_GLOBAL);
    start(TWO, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cr_assert_eq(front_capture_cuEventRecord(FAKE_EVENT(1), ONE), CUDA_SUCCESS);
    cr_assert_eq(front_capture_cuStreamWaitEvent(TWO, FAKE_EVENT(1), 0),
                 CUDA_ERROR_STREAM_CAPTURE_MERGE);
    expect_spoilt(ONE);
    expect_spoilt(TWO);
}

Test(capture, the_legacy_stream_meets_blocking_ones_only)
{
    start(ONE, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(front_capture_legacy(), FRONT_CAPTURE_RUN);
    cr_assert_eq(work(NULL), FRONT_CAPTURE_RUN);
    expect_graph(ONE, 0, 0);
    start(BLOCK, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(work(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    expect_spoilt(BLOCK);
}

Test(capture, a_stream_of_another_context_leaves_the_legacy_one)
{
    CUgraph graph = NULL;
    start(FAKE_STREAM(17), CU_STREAM_CAPTURE_MODE_RELAXED); /* blocking, of FAKE_OTHER */
    cr_assert_eq(front_capture_legacy(), FRONT_CAPTURE_RUN);
    cr_assert_eq(cuCtxSetCurrent(FAKE_OTHER), CUDA_SUCCESS);
    cr_assert_eq(front_capture_legacy(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    cr_assert_eq(cuStreamEndCapture(FAKE_STREAM(17), &graph),
                 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

Test(capture, waiting_for_what_captures_spoils_it)
{
    start(ONE, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(front_capture_cuCtxSynchronize_v2(FAKE_OTHER), FRONT_CAPTURE_RUN);
    cr_assert_eq(front_capture_refused(TWO), FRONT_CAPTURE_RUN);
    cr_assert_eq(front_capture_refused(ONE), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_spoilt(ONE);
    start(ONE, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(front_capture_cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_spoilt(ONE);
}

Test(capture, an_event_stays_captured_after_the_end)
{
    start(ONE, CU_STREAM_CAPTURE_MODE_RELAXED);
    cr_assert_eq(front_capture_cuEventRecord(FAKE_EVENT(1), ONE), CUDA_SUCCESS);
    expect_graph(ONE, 0, 0);
    cr_assert(front_capturing());
    cr_assert_eq(front_capture_cuStreamWaitEvent(TWO, FAKE_EVENT(1), 0),
                 CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    /* A recording outside of a capture is an ordinary one again. */
    cr_assert_eq(front_capture_cuEventRecord(FAKE_EVENT(1), TWO), FRONT_CAPTURE_RUN);
    cr_assert_not(front_capturing());
    cr_assert_eq(front_capture_cuStreamWaitEvent(TWO, FAKE_EVENT(1), 0), FRONT_CAPTURE_RUN);
}

/* ---- modes of captures and of threads ---- */

static void *unsafe_elsewhere(void *mode)
{
    cr_assert_eq(cuThreadExchangeStreamCaptureMode(mode), CUDA_SUCCESS);
    return (void *)(uintptr_t)(front_capture_unsafe() != FRONT_CAPTURE_RUN);
}

static bool forbidden_elsewhere(CUstreamCaptureMode mode)
{
    pthread_t thread;
    void *answer;
    cr_assert_eq(pthread_create(&thread, NULL, unsafe_elsewhere, &mode), 0);
    cr_assert_eq(pthread_join(thread, &answer), 0);
    return answer != NULL;
}

Test(capture, modes_say_who_may_do_what_is_unsafe)
{
    static const struct {
        CUstreamCaptureMode capture, other;
        bool here, there;
    } rows[] = {
        {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL, true, true},
        {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, true, false},
        {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED, true, false},
        {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_GLOBAL, true, false},
        {CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_GLOBAL, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUgraph graph;
        start(ONE, rows[i].capture);
        cr_assert_eq(forbidden_elsewhere(rows[i].other), rows[i].there, "row %zu", i);
        cr_assert_eq(status(ONE), rows[i].there ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                : CU_STREAM_CAPTURE_STATUS_ACTIVE);
        cr_assert_eq(front_capture_unsafe() != FRONT_CAPTURE_RUN, rows[i].here, "row %zu", i);
        (void)cuStreamEndCapture(ONE, &graph);
    }
}
