/* Making twins equal. All of it travels in a stream of its own, which waits for no other: whoever
 * sends work waits until what the program had changed is there, so that any stream may use it. */
#include <string.h>

#include "api/calls.h"
#include "client/call/call.h"
#include "client/copy/copy.h"
#include "client/call/state.h"
#include "client/memory/mirror_list.h"

#define PAGE UINT64_C(4096)
/* So small that comparing them costs less than sending work: they are compared each time. */
#define SMALL_BYTES (UINT64_C(1) << 20)

static _Atomic uint64_t last_use;

static void lock(const struct client_session *session)
{
    pthread_mutex_lock(&session->link->twins_lock);
}

static void unlock(const struct client_session *session)
{
    pthread_mutex_unlock(&session->link->twins_lock);
}

/* A call in the context's stream for twins. */
static CUresult enter(struct client_call *call, struct client_context *context, uint64_t *stream)
{
    CUresult rc = CUDA_SUCCESS;
    struct client_stream *made = client_object_find(GA_HANDLE_STREAM, context->twin_stream);
    if (made == NULL) {
        rc = client_stream_make(context, CU_STREAM_NON_BLOCKING, &made);
        if (rc == CUDA_SUCCESS) {
            context->twin_stream = made->object.handle;
        }
    }
    if (rc == CUDA_SUCCESS) {
        *stream = made->object.handle;
        rc = client_call_enter_in(call, API_OP_ga_copy_in, context);
    }
    return rc;
}

/* Of one that is not in the list yet; but the stream is under the lock. */
CUresult client_twin_clear(struct client_context *context, const struct client_twin *twin)
{
    struct client_call call;
    struct cuMemsetD8Async_args args = {.dstDevice = twin->device, .N = twin->bytes};
    lock(context->session);
    CUresult rc = enter(&call, context, &args.hStream);
    unlock(context->session);
    call.op = API_OP_cuMemsetD8Async;
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_POST(&call, cuMemsetD8Async, &args, rc);
    }
    return rc;
}

/* ---- to the device */

static uint64_t page_end(const struct client_twin *twin, uint64_t at)
{
    uint64_t end = at + PAGE - (twin->host + at) % PAGE;
    return end < twin->bytes ? end : twin->bytes;
}

static bool page_changed(const struct client_twin *twin, uint64_t at)
{
    const uint8_t *host = (const uint8_t *)(uintptr_t)twin->host;
    return memcmp(host + at, twin->agreed + at, page_end(twin, at) - at) != 0;
}

/* Sends what the program has changed. What another thread changes meanwhile is found next time. */
static CUresult push(struct client_call *call, struct client_twin *twin, uint64_t stream,
                     bool *pushed)
{
    const uint8_t *host = (const uint8_t *)(uintptr_t)twin->host;
    CUresult rc = CUDA_SUCCESS;
    for (uint64_t at = 0, end; rc == CUDA_SUCCESS && at < twin->bytes; at = end) {
        end = page_end(twin, at);
        if (!page_changed(twin, at)) {
            continue;
        }
        while (end < twin->bytes && page_changed(twin, end)) {
            end = page_end(twin, end);
        }
        memcpy(twin->agreed + at, host + at, end - at);
        rc = client_copy_in(call, twin->device + at, twin->agreed + at, end - at, stream);
        *pushed = true;
    }
    return rc;
}

/* ---- from the device */

static CUresult pull(struct client_call *call, struct client_twin *twin, uint64_t stream)
{
    uint8_t *host = (uint8_t *)(uintptr_t)twin->host;
    CUresult rc = client_copy_out(call, twin->agreed, twin->device, twin->bytes, stream, true);
    for (uint64_t at = 0, end; rc == CUDA_SUCCESS && at < twin->bytes; at = end) {
        end = page_end(twin, at);
        if (page_changed(twin, at)) { /* pages that never were written stay no memory */
            memcpy(host + at, twin->agreed + at, end - at);
        }
    }
    return rc;
}

/* Of one that is not in the list yet. */
CUresult client_twin_read(struct client_context *context, struct client_twin *twin, bool show)
{
    struct client_call call;
    uint64_t stream;
    lock(context->session);
    CUresult rc = enter(&call, context, &stream);
    if (rc == CUDA_SUCCESS && show) {
        rc = pull(&call, twin, stream);
    } else if (rc == CUDA_SUCCESS) {
        rc = client_copy_out(&call, twin->agreed, twin->device, twin->bytes, stream, true);
    }
    unlock(context->session);
    return rc;
}

/* ---- when */

static void use_note(struct client_twin *twin, uint64_t context, uint64_t stream)
{
    unsigned at = 0;
    while (at < twin->use_count &&
           (twin->uses[at].context != context || twin->uses[at].stream != stream)) {
        at++;
    }
    if (at == TWIN_USES) { /* more than are told apart: only a wait for all ends it */
        at = 0;
        stream = TWIN_ALL;
        context = 0;
    }
    twin->use_count += at == twin->use_count;
    twin->uses[at] =
        (struct twin_use){.context = context, .stream = stream, .number = atomic_load(&last_use)};
}

/* A wait for all is one for a context: what several devices use may be in use by another one. */
static bool use_ends(const struct client_twin *twin, const struct twin_use *use, uint64_t context,
                     uint64_t stream, uint64_t mark)
{
    bool here = use->context == context || (use->context == 0 && twin->physical == NULL);
    return here && (stream == TWIN_ALL || use->stream == stream) && use->number <= mark;
}

static void uses_end(struct client_twin *twin, uint64_t context, uint64_t stream, uint64_t mark)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < twin->use_count; i++) {
        if (!use_ends(twin, &twin->uses[i], context, stream, mark)) {
            twin->uses[kept++] = twin->uses[i];
        }
    }
    twin->use_count = kept;
}

/* When the only stream that it was for is destroyed, it is again as it was allocated. */
static bool concerns(struct client_twin *twin, uint64_t stream)
{
    pthread_mutex_lock(&client_twin_lock);
    if (twin->stream != 0 && twin->stream != TWIN_HOST_ONLY &&
        client_object_find(GA_HANDLE_STREAM, twin->stream) == NULL) {
        twin->stream = twin->attach == CU_MEM_ATTACH_HOST ? TWIN_HOST_ONLY : 0;
    }
    bool does = twin->stream == 0 || twin->stream == stream;
    pthread_mutex_unlock(&client_twin_lock);
    return does;
}

/* What is shown while it is compared is compared again. */
static CUresult bring(struct client_call *call, struct client_twin *twin, bool named,
                      uint64_t stream, bool *pushed)
{
    CUresult rc = CUDA_SUCCESS;
    bool shown = atomic_exchange(&twin->shown, false);
    if (shown || twin->bytes <= SMALL_BYTES || named) {
        rc = push(call, twin, stream, pushed);
    }
    if (rc != CUDA_SUCCESS) {
        atomic_store(&twin->shown, true);
        return rc;
    }
    *pushed |= twin->fresh;
    twin->fresh = false;
    return rc;
}

static CUresult before(struct client_context *context, uint64_t stream, uint64_t device)
{
    struct client_call call;
    const struct client_session *session = context->session;
    uint64_t own = 0;
    bool pushed = false;
    lock(session);
    CUresult rc = enter(&call, context, &own);
    for (struct client_twin *at = NULL;
         rc == CUDA_SUCCESS && (at = client_twin_next(session, at)) != NULL;) {
        bool meant = device != 0 ? device - at->device < at->bytes
                                 : stream == TWIN_ALL || concerns(at, stream);
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

CUresult client_twins_before(struct client_call *call, uint64_t stream)
{
    if (!client_twins_some()) {
        return CUDA_SUCCESS;
    }
    call->twins = (struct client_call_twins){.some = true, .all = true, .stream = stream};
    return before(call->context, stream, 0);
}

/* A call may name two ranges. */
CUresult client_twins_before_range(struct client_call *call, uint64_t device)
{
    struct client_twin twin;
    if (!client_twin_on_device(device, &twin)) {
        return CUDA_SUCCESS;
    }
    call->twins.devices[call->twins.some] = device;
    call->twins.some = true;
    return before(call->context, TWIN_ALL, device);
}

void client_twins_sent(struct client_call *call)
{
    const struct client_call_twins *what = &call->twins;
    const struct client_session *session = call->context->session;
    lock(session);
    atomic_fetch_add(&last_use, 1);
    for (struct client_twin *at = NULL; (at = client_twin_next(session, at)) != NULL;) {
        bool named =
            what->devices[0] - at->device < at->bytes || what->devices[1] - at->device < at->bytes;
        if (what->all && concerns(at, what->stream)) {
            use_note(at, call->context->object.handle, what->stream);
        } else if (!what->all && named) {
            use_note(at, call->context->object.handle, TWIN_ALL);
        }
    }
    unlock(session);
}

uint64_t client_twins_mark(void)
{
    return atomic_load(&last_use);
}

bool client_twin_peek(struct client_context *context, uint64_t host, unsigned bytes, uint64_t *word)
{
    struct client_call call;
    uint64_t own = 0;
    bool known = false;
    *word = 0;
    if (context->session == NULL) {
        return false;
    }
    lock(context->session);
    for (struct client_twin *at = NULL;
         !known && (at = client_twin_next(context->session, at)) != NULL;) {
        if (host - at->host < at->bytes && bytes <= at->bytes - (host - at->host) &&
            at->use_count != 0) {
            known = enter(&call, context, &own) == CUDA_SUCCESS &&
                    client_copy_out(&call, word, at->device + (host - at->host), bytes, own,
                                    true) == CUDA_SUCCESS;
        }
    }
    unlock(context->session);
    return known;
}

void client_twins_show(void)
{
    pthread_mutex_lock(&client_twin_lock);
    for (struct client_twin *at = client_twin_list; at != NULL; at = at->next) {
        atomic_store(&at->shown, true);
    }
    pthread_mutex_unlock(&client_twin_lock);
}

CUresult client_twins_send(struct client_context *context)
{
    return client_twins_some() && context->session != NULL ? before(context, TWIN_ALL, 0)
                                                           : CUDA_SUCCESS;
}

/* Whatever is in use comes, also what other streams still work on: the stream may have waited for
 * them. It comes again when they have been waited for. */
CUresult client_twins_after(struct client_context *context, uint64_t stream, uint64_t mark)
{
    struct client_call call;
    uint64_t own = 0;
    bool entered = false, pushed = false, pulled = false;
    CUresult rc = CUDA_SUCCESS;
    if (!client_twins_some() || context->session == NULL) {
        return rc;
    }
    lock(context->session);
    for (struct client_twin *at = NULL;
         rc == CUDA_SUCCESS && (at = client_twin_next(context->session, at)) != NULL;) {
        if (at->use_count == 0) {
            continue;
        }
        if (!entered) {
            rc = enter(&call, context, &own);
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
        client_twins_show(); /* the same bytes may be a twin of other devices */
    }
    return rc;
}
