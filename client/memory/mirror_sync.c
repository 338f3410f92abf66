/* SPDX-License-Identifier: Apache-2.0 */
/* Making mirrors equal. All of it travels in a stream of its own, which waits for no other: a
 * thread that sends work waits until what the program had changed is there, so that any stream may
 * use it. */
#include <string.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/address/address_map.h"
#include "client/call/call.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/memory/mirror_list.h"
#include "client/session/session.h"
#include "client/transfer/transfer.h"

#define PAGE UINT64_C(4096)
/* Comparing mirrors of at most so many bytes costs less than sending work: they are compared each
 * time. */
#define SMALL_BYTES (UINT64_C(1) << 20)

static _Atomic uint64_t last_use;

static void lock(const struct client_session *session)
{
    pthread_mutex_lock(client_conn_mirrors_lock(client_session_conn(session)));
}

static void unlock(const struct client_session *session)
{
    pthread_mutex_unlock(client_conn_mirrors_lock(client_session_conn(session)));
}

/* A call in the context's stream for mirrors. */
static CUresult mirror_sync_enter(struct client_call *call, struct client_context *context,
                                  uint64_t *stream)
{
    CUresult rc = CUDA_SUCCESS;
    struct client_stream *made = client_object_find(GA_HANDLE_STREAM, context->mirror_stream);
    if (made == NULL) {
        rc = client_stream_make(context, CU_STREAM_NON_BLOCKING, &made);
        if (rc == CUDA_SUCCESS) {
            context->mirror_stream = made->object.handle;
        }
    }
    if (rc == CUDA_SUCCESS) {
        *stream = made->object.handle;
        rc = client_call_enter_in(call, API_OP_ga_copy_in, context);
    }
    return rc;
}

/* The mirror is not in the list yet; the lock is for the stream. */
CUresult client_mirror_clear(struct client_context *context, const struct client_mirror *mirror)
{
    struct client_call call;
    struct cuMemsetD8Async_args args = {.dstDevice = mirror->device, .N = mirror->bytes};
    lock(context->session);
    CUresult rc = mirror_sync_enter(&call, context, &args.hStream);
    unlock(context->session);
    call.op = API_OP_cuMemsetD8Async;
    if (rc == CUDA_SUCCESS) {
        rc = client_post_cuMemsetD8Async(&call, &args);
    }
    return rc;
}

/* ---- to the device */

static uint64_t page_end(const struct client_mirror *mirror, uint64_t at)
{
    uint64_t end = at + PAGE - (mirror->host + at) % PAGE;
    return end < mirror->bytes ? end : mirror->bytes;
}

static bool page_changed(const struct client_mirror *mirror, uint64_t at)
{
    const uint8_t *host = (const uint8_t *)(uintptr_t)mirror->host;
    return memcmp(host + at, mirror->base_copy + at, page_end(mirror, at) - at) != 0;
}

/* Sends what the program has changed. Changes by another thread in this time are found next
 * time. */
static CUresult push(struct client_call *call, struct client_mirror *mirror, uint64_t stream,
                     bool *pushed)
{
    const uint8_t *host = (const uint8_t *)(uintptr_t)mirror->host;
    CUresult rc = CUDA_SUCCESS;
    for (uint64_t at = 0, end; rc == CUDA_SUCCESS && at < mirror->bytes; at = end) {
        end = page_end(mirror, at);
        if (!page_changed(mirror, at)) {
            continue;
        }
        while (end < mirror->bytes && page_changed(mirror, end)) {
            end = page_end(mirror, end);
        }
        memcpy(mirror->base_copy + at, host + at, end - at);
        rc = client_copy_in(call, mirror->device + at, mirror->base_copy + at, end - at, stream);
        *pushed = true;
    }
    return rc;
}

/* ---- from the device */

static CUresult pull(struct client_call *call, struct client_mirror *mirror, uint64_t stream)
{
    uint8_t *host = (uint8_t *)(uintptr_t)mirror->host;
    CUresult rc =
        client_copy_out(call, mirror->base_copy, mirror->device, mirror->bytes, stream, true);
    for (uint64_t at = 0, end; rc == CUDA_SUCCESS && at < mirror->bytes; at = end) {
        end = page_end(mirror, at);
        if (page_changed(mirror, at)) { /* pages that never were written stay no memory */
            memcpy(host + at, mirror->base_copy + at, end - at);
        }
    }
    return rc;
}

/* The mirror is not in the list yet. */
CUresult client_mirror_read(struct client_context *context, struct client_mirror *mirror, bool show)
{
    struct client_call call;
    uint64_t stream;
    lock(context->session);
    CUresult rc = mirror_sync_enter(&call, context, &stream);
    if (rc == CUDA_SUCCESS && show) {
        rc = pull(&call, mirror, stream);
    } else if (rc == CUDA_SUCCESS) {
        rc = client_copy_out(&call, mirror->base_copy, mirror->device, mirror->bytes, stream, true);
    }
    unlock(context->session);
    return rc;
}

/* ---- when */

static void use_note(struct client_mirror *mirror, uint64_t context, uint64_t stream)
{
    unsigned at = 0;
    while (at < mirror->use_count &&
           (mirror->uses[at].context != context || mirror->uses[at].stream != stream)) {
        at++;
    }
    if (at == MIRROR_USES) { /* more than are told apart: only a wait for all ends it */
        at = 0;
        stream = MIRROR_ALL;
        context = 0;
    }
    mirror->use_count += at == mirror->use_count;
    mirror->uses[at] =
        (struct mirror_use){.context = context, .stream = stream, .number = atomic_load(&last_use)};
}

/* A wait for all is one for a context: what several devices use may be in use by another one. */
static bool use_ends(const struct client_mirror *mirror, const struct mirror_use *use,
                     uint64_t context, uint64_t stream, uint64_t mark)
{
    bool here = use->context == context || (use->context == 0 && mirror->physical == NULL);
    return here && (stream == MIRROR_ALL || use->stream == stream) && use->number <= mark;
}

static void uses_end(struct client_mirror *mirror, uint64_t context, uint64_t stream, uint64_t mark)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < mirror->use_count; i++) {
        if (!use_ends(mirror, &mirror->uses[i], context, stream, mark)) {
            mirror->uses[kept++] = mirror->uses[i];
        }
    }
    mirror->use_count = kept;
}

/* When the only stream that it was for is destroyed, it is again as it was allocated. */
static bool concerns(struct client_mirror *mirror, uint64_t stream)
{
    pthread_mutex_lock(&client_mirror_lock);
    if (mirror->stream != 0 && mirror->stream != MIRROR_HOST_ONLY &&
        client_object_find(GA_HANDLE_STREAM, mirror->stream) == NULL) {
        mirror->stream = mirror->attach == CU_MEM_ATTACH_HOST ? MIRROR_HOST_ONLY : 0;
    }
    bool does = mirror->stream == 0 || mirror->stream == stream;
    pthread_mutex_unlock(&client_mirror_lock);
    return does;
}

/* Sends the program's changes. A mirror that is marked dirty during the comparison stays marked. */
static CUresult bring(struct client_call *call, struct client_mirror *mirror, bool named,
                      uint64_t stream, bool *pushed)
{
    CUresult rc = CUDA_SUCCESS;
    bool maybe_dirty = atomic_exchange(&mirror->maybe_dirty, false);
    if (maybe_dirty || mirror->bytes <= SMALL_BYTES || named) {
        rc = push(call, mirror, stream, pushed);
    }
    if (rc != CUDA_SUCCESS) {
        atomic_store(&mirror->maybe_dirty, true);
        return rc;
    }
    *pushed |= mirror->fresh;
    mirror->fresh = false;
    return rc;
}

static CUresult before(struct client_context *context, uint64_t stream, uint64_t device)
{
    struct client_call call;
    const struct client_session *session = context->session;
    uint64_t own = 0;
    bool pushed = false;
    lock(session);
    CUresult rc = mirror_sync_enter(&call, context, &own);
    for (struct client_mirror *at = NULL;
         rc == CUDA_SUCCESS && (at = client_mirror_next(session, at)) != NULL;) {
        bool meant = device != 0 ? device - at->device < at->bytes
                                 : stream == MIRROR_ALL || concerns(at, stream);
        if (meant) {
            rc = bring(&call, at, device != 0, own, &pushed);
        }
    }
    if (rc == CUDA_SUCCESS && pushed) {
        rc = client_stream_wait(&call, own);
    }
    unlock(session);
    return rc;
}

static void mirror_sync_sent(struct client_call *call)
{
    const struct client_call_mirrors *what = &call->mirrors;
    const struct client_session *session = call->context->session;
    lock(session);
    atomic_fetch_add(&last_use, 1);
    for (struct client_mirror *at = NULL; (at = client_mirror_next(session, at)) != NULL;) {
        bool named =
            what->devices[0] - at->device < at->bytes || what->devices[1] - at->device < at->bytes;
        if (what->all && concerns(at, what->stream)) {
            use_note(at, call->context->object.handle, what->stream);
        } else if (!what->all && named) {
            use_note(at, call->context->object.handle, MIRROR_ALL);
        }
    }
    unlock(session);
}

CUresult client_mirrors_before(struct client_call *call, uint64_t stream)
{
    if (!client_mirrors_some()) {
        return CUDA_SUCCESS;
    }
    call->mirrors =
        (struct client_call_mirrors){.sent = mirror_sync_sent, .all = true, .stream = stream};
    return before(call->context, stream, 0);
}

/* A call may name two ranges. */
CUresult client_mirrors_before_range(struct client_call *call, uint64_t device)
{
    struct client_address mirror;
    if (!client_address_find(device, CLIENT_ADDRESS(MIRROR), &mirror)) {
        return CUDA_SUCCESS;
    }
    call->mirrors.devices[call->mirrors.sent != NULL] = device;
    call->mirrors.sent = mirror_sync_sent;
    return before(call->context, MIRROR_ALL, device);
}

uint64_t client_mirrors_mark(void)
{
    return atomic_load(&last_use);
}

bool client_mirror_peek(struct client_context *context, uint64_t host, unsigned bytes,
                        uint64_t *word)
{
    struct client_call call;
    uint64_t own = 0;
    bool known = false;
    *word = 0;
    if (context->session == NULL) {
        return false;
    }
    lock(context->session);
    for (struct client_mirror *at = NULL;
         !known && (at = client_mirror_next(context->session, at)) != NULL;) {
        if (host - at->host < at->bytes && bytes <= at->bytes - (host - at->host) &&
            at->use_count != 0) {
            known = mirror_sync_enter(&call, context, &own) == CUDA_SUCCESS &&
                    client_copy_out(&call, word, at->device + (host - at->host), bytes, own,
                                    true) == CUDA_SUCCESS;
        }
    }
    unlock(context->session);
    return known;
}

void client_mirrors_show(void)
{
    pthread_mutex_lock(&client_mirror_lock);
    ga_list_each (at, following, &client_mirror_list) {
        atomic_store(&client_mirror_in(at)->maybe_dirty, true);
    }
    pthread_mutex_unlock(&client_mirror_lock);
}

CUresult client_mirrors_send(struct client_context *context)
{
    return client_mirrors_some() && context->session != NULL ? before(context, MIRROR_ALL, 0)
                                                             : CUDA_SUCCESS;
}

/* Whatever is in use comes, also what other streams still work on: the stream may have waited for
 * them. It comes again when they have been waited for. */
CUresult client_mirrors_after(struct client_context *context, uint64_t stream, uint64_t mark)
{
    struct client_call call;
    uint64_t own = 0;
    bool entered = false, pushed = false, pulled = false;
    CUresult rc = CUDA_SUCCESS;
    if (!client_mirrors_some() || context->session == NULL) {
        return rc;
    }
    lock(context->session);
    for (struct client_mirror *at = NULL;
         rc == CUDA_SUCCESS && (at = client_mirror_next(context->session, at)) != NULL;) {
        if (at->use_count == 0) {
            continue;
        }
        if (!entered) {
            rc = mirror_sync_enter(&call, context, &own);
            entered = true;
        }
        if (rc == CUDA_SUCCESS) {
            rc = push(&call, at, own, &pushed);
        }
        if (rc == CUDA_SUCCESS) {
            rc = pull(&call, at, own);
            uses_end(at, context->object.handle, stream, mark);
            pulled = true;
        }
    }
    unlock(context->session);
    if (pulled) {
        client_mirrors_show(); /* the same bytes may be a mirror of other devices */
    }
    return rc;
}
