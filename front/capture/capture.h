/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: work that is submitted to a capturing stream is not done but becomes a node of a
 * graph. Capture is a matter of the process, the same in both libraries.
 *
 * Note: functions of the libraries do not check for capture. The exported functions that capture
 * concerns (`capture` in api/cuda) are generated: they call front_capturing(), a relaxed load, and
 * the library's function unless something is being captured. Otherwise they call a hook
 * (api/capture_hooks.h), written in capture_*.c.
 *
 * Lock order: the lock of capture comes before those of graphs and hosts. */
#ifndef FRONT_CAPTURE_CAPTURE_H
#define FRONT_CAPTURE_CAPTURE_H

#include "api/cuda_names.h"

#include "front/capture/capture_count.h"

/* Returned by hooks: capture does not concern this call; the library's function is called. */
#define FRONT_CAPTURE_RUN ((CUresult)-1)

/* A potentially unsafe call (cuThreadExchangeStreamCaptureMode). If the modes forbid it, it is
 * refused and the captures that forbid it are invalidated. */
CUresult front_capture_unsafe(void);
/* A call that cannot be captured: the capture of the stream is invalidated. */
CUresult front_capture_refused(CUstream handle);
/* A call that uses the legacy stream of the current context. */
CUresult front_capture_legacy(void);

#endif
