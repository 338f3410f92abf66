/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: the current one, and how far their work is known to be done. */
#ifndef CLIENT_CONTEXT_CONTEXT_H
#define CLIENT_CONTEXT_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/number_map.h"
#include "client/context/object.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"
#include "front/front.h"

struct client_sampled;

struct client_context {
    struct client_object object;
    unsigned long long id;
    struct client_device *device;
    /* NULL: never active. Threads other than the one that makes it active look at that first. */
    struct client_session *session;
    bool primary;
    atomic_bool active; /* the server has it, and it is retained or not destroyed */
    bool fresh;         /* reset, and not retained since */
    unsigned retained, flags;
    unsigned sms; /* multiprocessors that its kernels have; 0: all */
    struct front_stream_attributes legacy_attributes; /* of its legacy stream */
    _Atomic uint64_t legacy_ready, legacy_watched;    /* likewise, as in client_stream */
    uint64_t mirror_stream;                           /* handle; 0: none yet (mirror_sync.c) */
    uint64_t copy_stream;                             /* likewise (copy_cross_node.c) */
    atomic_bool nonblocking; /* it has, or had, streams that the legacy one does not wait for */
    /* Members of deferred_copies.c. `shows`: streams that do not wait for the legacy one make its
     * progress observable. `owed`: mark (as in client_stream) of the last deferred copy. `marker`:
     * handle of the event that is recorded behind deferred copies. */
    atomic_bool shows;
    _Atomic uint64_t owed;
    uint64_t marker;
    /* Sequence of the last call that has found all of the context's work done. */
    _Atomic uint64_t quiet;
    /* `unused`: as `quiet`, for all work that may use the context's memory, other contexts'
     * included, as far as the server has told. `watch`: its next value, once the server tells. See
     * device_free.c. */
    _Atomic uint64_t unused, watch;
    atomic_int late; /* first CUresult of a call nobody waited for; 0: none */
    struct ga_list objects;
    struct ga_number_map sampled; /* struct client_sampled, by the handle that kernels use */
};

extern const struct client_object_type client_context_type;

/* CUDA_ERROR_INVALID_CONTEXT, also for one that has been destroyed. */
CUresult client_context_find(CUcontext handle, struct client_context **context);
/* The current context, if it is active (else CUDA_ERROR_CONTEXT_IS_DESTROYED); or the sticky error
 * of its connection. */
CUresult client_context_current(struct client_context **context);
/* As client_context_current, without the context. */
CUresult client_usable(void);
/* The context has been destroyed: its object goes, and no thread remembers it as the current one.
 */
void client_context_drop(struct client_context *context);
/* The primary context of a device, active or not; client_primary_handle gives its handle. */
CUresult client_primary_context(CUdevice device, struct client_context **context);
CUresult client_primary_handle(CUdevice device, CUcontext *handle);
/* The session of a device, opened if no context has done so. Call without `open_lock`. */
CUresult client_session_need(CUdevice device, struct client_session **session);
/* Records that a call that was waited for has found all work of the context done. */
void client_context_quiet(struct client_context *context, uint64_t sequence);
/* The sequence up to which the context's work is known to be done. */
uint64_t client_context_done(const struct client_context *context);
/* Whether it is known that the work up to a mark is done. */
bool client_context_passed(const struct client_context *context, uint64_t mark);
/* Whether it is known that no work of the context is under way, without asking. */
bool client_context_idle(const struct client_context *context);
/* The result of a wait that need not ask the server; first reads the answers that have come. */
CUresult client_context_told(struct client_context *context);
/* A call that has returned already has failed: a later one of the context reports it. */
void client_context_late(uint64_t handle, int result, uint16_t opcode);

#endif
