/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that stream capture forbids, and the capture modes of threads. */
#include "front/capture/capture.h"

#include "front/capture/capture_state.h"
#include "front/front.h"

static _Thread_local CUstreamCaptureMode thread_mode;

CUresult front_capture_legacy(void)
{
    capture_lock();
    CUresult rc = capture_implicit(true);
    return capture_unlock(rc == CUDA_SUCCESS ? FRONT_CAPTURE_RUN : rc);
}

CUresult front_capture_refused(CUstream handle)
{
    struct capture_stream *stream;
    CUresult rc = capture_enter(handle, &stream);
    if (rc == CUDA_SUCCESS) {
        stream->capture->invalid = true;
        rc = capture_unlock(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return rc;
}

/* Whether the capture forbids potentially unsafe calls of the calling thread. */
static bool forbids(const struct capture *capture)
{
    if (capture->thread == capture_thread()) {
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    }
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult front_capture_unsafe(void)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return FRONT_CAPTURE_RUN;
    }
    CUresult rc = FRONT_CAPTURE_RUN;
    capture_lock();
    ga_list_each (at, following, &capture_all) {
        struct capture *capture = ga_container(at, struct capture, of_all);
        if (forbids(capture)) {
            capture->invalid = true;
            rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return capture_unlock(rc);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS &&
        (mode == NULL || (unsigned)*mode > (unsigned)CU_STREAM_CAPTURE_MODE_RELAXED)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        CUstreamCaptureMode before = thread_mode;
        thread_mode = *mode;
        *mode = before;
    }
    return rc;
}
