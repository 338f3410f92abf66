/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: the primary context of a device with a part of its multiprocessors. The table of
 * green contexts is here; their contents (default stream, dependencies of streams) are the
 * library's.
 *
 * Note: the handle of a green context becomes a context handle only when cuCtxFromGreenCtx has
 * converted it. Code that gets a context handle finds the primary context behind it and makes
 * everything there. */
#ifndef FRONT_GREEN_GREEN_H
#define FRONT_GREEN_GREEN_H

#include <stdbool.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "front/green/partition.h"

struct front_green {
    uint64_t handle;
    unsigned long long id;
    CUdevice device;
    struct front_partition part;
    unsigned sms;
    bool context;      /* cuCtxFromGreenCtx has converted it */
    bool lost;         /* its primary context has been reset */
    CUcontext primary; /* from here on set by front_host.green_make */
    uint64_t stream;
    void *host;
};

static inline bool front_green_is(CUcontext handle)
{
    return ga_handle_type_of((uint64_t)(uintptr_t)handle) == GA_HANDLE_GREEN;
}

/* Copies the entry. False: there is none, or its primary context has been reset. */
bool front_green_find(CUcontext handle, struct front_green *green);
/* As front_green_find, but only if cuCtxFromGreenCtx has converted it. */
bool front_green_context(CUcontext handle, struct front_green *green);
/* Marks the green context as converted: the program has its handle as a context. */
void front_green_convert(CUcontext handle);
/* The green context that is the calling thread's current context. False: that is not green. */
bool front_green_current(struct front_green *green);
/* To be called when a primary context has been reset: its green contexts are lost. */
void front_green_lose(CUcontext primary);

/* Gives the green context a handle and its library part. It stays the caller's on failure. */
CUresult front_green_enter(struct front_green *green);
/* The caller owns the result. NULL: there is none. */
struct front_green *front_green_remove(CUcontext handle);

#endif
