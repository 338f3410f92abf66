/* Contexts: the current one, and what is known of their work. */
#ifndef CLIENT_STREAM_CONTEXT_H
#define CLIENT_STREAM_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/number_map.h"
#include "client/process/handles.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"
#include "front/front.h"

struct client_sampled;

struct client_context {
    struct client_object object;
    unsigned long long id;
    struct client_device *device;
    struct client_session *session; /* NULL: never active */
    bool primary;
    atomic_bool active; /* the server has it, and it is retained or not destroyed */
    bool fresh;         /* reset, and not retained since */
    unsigned retained, flags;
    unsigned sms; /* multiprocessors that its kernels have; 0: all */
    struct front_stream_attributes legacy_attributes; /* of its legacy stream */
    _Atomic uint64_t legacy_ready, legacy_watched;    /* likewise, as in client_stream */
    uint64_t mirror_stream;                           /* handle; 0: none yet (mirror_sync.c) */
    uint64_t copy_stream;                             /* likewise (copy_cross_node.c) */
    atomic_bool streamed; /* it has, or had, streams besides the default one */
    /* See copy_deferred.c. How far the legacy stream has got shows in streams that do not wait for
     * it; mark, as in client_stream, of the last blocking copy that has not waited; handle of the
     * event that was recorded behind such copies. */
    atomic_bool shows;
    _Atomic uint64_t owed;
    uint64_t marker;
    /* Sequence of the call that was the last to find all of the context's work done. */
    _Atomic uint64_t quiet;
    /* The same for all work that may use its memory, that of other contexts included, as the server
     * has told; and what this becomes when it tells the next time. See device_free.c. */
    _Atomic uint64_t unused, watch;
    atomic_int late; /* first CUresult of a call nobody waited for; 0: none */
    struct ga_list objects;
    struct ga_number_map sampled; /* struct client_sampled, by the handle that kernels use */
};

/* CUDA_ERROR_INVALID_CONTEXT, also for one that has been destroyed. */
CUresult client_context_find(CUcontext handle, struct client_context **context);
/* The current context, active (else CUDA_ERROR_CONTEXT_IS_DESTROYED); sticky errors of its
 * connection. */
CUresult client_context_current(struct client_context **context);
/* As client_context_current, without the context. */
CUresult client_usable(void);
/* The handle of the primary context, active or not. */
CUresult client_primary_handle(CUdevice device, CUcontext *handle);
/* Waits for its work, and nothing else comes of it. */
CUresult client_context_synchronize(struct client_context *context);
/* A call that was waited for has found all work of the context done. */
void client_context_quiet(struct client_context *context, uint64_t sequence);
/* Up to which call its work is known to be done. */
uint64_t client_context_done(const struct client_context *context);
/* Whether it is known that no work of the context is under way, without asking. */
bool client_context_idle(const struct client_context *context);
/* What a wait answers that need not ask: all that the server has told by now is known. */
CUresult client_context_told(struct client_context *context);
void client_context_late(uint64_t handle, int result, uint16_t opcode);

#endif
