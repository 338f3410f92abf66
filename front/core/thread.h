/* SPDX-License-Identifier: Apache-2.0 */
/* Per-thread state of CUDA: the current context, and host functions. */
#ifndef FRONT_CORE_THREAD_H
#define FRONT_CORE_THREAD_H

#include "api/cuda_names.h"

/* A host function that a stream calls: cuLaunchHostFunc sets `function`, cuStreamAddCallback
 * `callback`; the other one is NULL. */
struct front_host_call {
    CUhostFn function;
    CUstreamCallback callback;
    CUstream stream; /* as given to cuStreamAddCallback */
    void *data;
};

/* CUDA_ERROR_NOT_INITIALIZED unless front_initialised. CUDA_ERROR_NOT_PERMITTED while the
 * calling thread runs a host function. */
CUresult front_ready(void);

/* Runs the host function. If `status` is an error only callbacks are run, as in CUDA. */
void front_host_call_run(const struct front_host_call *call, CUresult status);

/* The calling thread's current context, or NULL. It may have been destroyed meanwhile; the user
 * checks it. Costs a thread-local read. */
CUcontext front_context_current(void);
/* front_ready, then the current context. CUDA_ERROR_INVALID_CONTEXT: there is none. */
CUresult front_context_need(CUcontext *context);
/* Makes `context` the calling thread's current one without checking it (cuCtxCreate pushes). */
CUresult front_context_push(CUcontext context);
/* To be called when a context has been reset: runs the destructors of its context-local storage. */
void front_context_reset(CUcontext context);
/* To be called when a context has been destroyed: as front_context_reset, and pops the context
 * if it is the calling thread's current one. It stays on the stacks of other threads, as in
 * CUDA. */
void front_context_gone(CUcontext context);

#endif
