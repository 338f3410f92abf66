/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: a device's primary context, with a part of its multiprocessors. The table of them
 * is here; what one has (its default stream, what its streams wait for) is the library's.
 *
 * What a reader would get wrong: the handle of a green context is also that of the context that
 * cuCtxFromGreenCtx makes of it, and counts as one from then on only. Whoever is given a context
 * finds the primary one behind it, and everything that is made in it is made there. */
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
    bool context;      /* cuCtxFromGreenCtx has made it one */
    bool lost;         /* its primary context has been emptied */
    CUcontext primary; /* this and the rest are what front_host.green_make has written */
    uint64_t stream;
    void *host;
};

static inline bool front_green_is(CUcontext handle)
{
    return ga_handle_type_of((uint64_t)(uintptr_t)handle) == GA_HANDLE_GREEN;
}

/* A copy. False: there is none, or its primary context has been emptied. */
bool front_green_find(CUcontext handle, struct front_green *green);
/* The same of one that has become a context. */
bool front_green_context(CUcontext handle, struct front_green *green);
/* It has become a context: a program has been told its handle as one. */
void front_green_convert(CUcontext handle);
/* That of the calling thread's current context. False: it is not green. */
bool front_green_current(struct front_green *green);
/* The primary context has been emptied: what its green contexts had is gone. */
void front_green_lose(CUcontext primary);

/* Gives it a handle, and to it what the host makes. It stays the caller's on failure. */
CUresult front_green_enter(struct front_green *green);
/* It is the caller's; NULL: there is none. */
struct front_green *front_green_remove(CUcontext handle);

#endif
