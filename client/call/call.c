/* SPDX-License-Identifier: Apache-2.0 */
/* A call on its way; see call.h. */
#include "client/call/call.h"

#include <assert.h>

#include "api/call_info.h"
#include "base/log.h"
#include "client/call/deferred_copies.h"
#include "client/context/context.h"
#include "client/context/mark.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/process/process.h"
#include "client/process/trace.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"
#include "front/front.h"

#define HEADER sizeof(struct wire_header)
#define SWITCH 32u /* a WIRE_CONTEXT frame */

atomic_uint client_mirror_count;

CUresult client_call_enter_in(struct client_call *call, uint16_t op, struct client_context *context)
{
    call->op = op;
    call->missing = CUDA_SUCCESS;
    call->routed = false;
    call->bare = false;
    call->mirrors = (struct client_call_mirrors){0};
    call->record = NULL;
    call->sequence = 0;
    call->lends = false;
    call->brief = false;
    call->stream = 0;
    call->context = context;
    call->session = NULL;
    call->conn = client_session_conn(context->session);
    int dead = client_conn_dead(call->conn);
    if (dead != 0) {
        front_output_write();
    }
    return (CUresult)dead;
}

CUresult client_call_enter_session(struct client_call *call, uint16_t op,
                                   struct client_session *session)
{
    *call = (struct client_call){
        .op = op, .bare = true, .session = session, .conn = client_session_conn(session)};
    return (CUresult)client_conn_dead(call->conn);
}

CUresult client_call_enter(struct client_call *call, uint16_t op)
{
    struct client_context *context;
    CU_TRY(client_context_current(&context));
    return client_call_enter_in(call, op, context);
}

CUresult client_call_enter_handle(struct client_call *call, uint16_t op)
{
    CUresult rc = client_call_enter(call, op);
    if (rc == CUDA_ERROR_INVALID_CONTEXT || rc == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
        *call = (struct client_call){.op = op, .missing = rc};
        rc = CUDA_SUCCESS;
    }
    return rc;
}

bool client_call_exiting(void)
{
    return atomic_load_explicit(&client_exiting, memory_order_relaxed);
}

CUresult client_call_between_nodes(const char *what)
{
    static atomic_bool told;
    if (!atomic_exchange(&told, true)) {
        ga_warn("%s between devices of different nodes is not supported yet (error 801)", what);
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* The first explicit handle decides where the call runs. */
CUresult client_call_route(struct client_call *call, struct client_context *context)
{
    if (context != call->context && !call->routed) {
        if (!atomic_load(&context->active)) {
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
        call->context = context;
        call->conn = client_session_conn(context->session);
    }
    call->routed = true;
    /* NOLINTNEXTLINE: streams, events, modules and functions have a context */
    if (context->session == NULL || client_session_conn(context->session) != call->conn) {
        return client_call_between_nodes("a call");
    }
    return CUDA_SUCCESS;
}

/* A context of another server: its memory is out of reach, as cuDeviceCanAccessPeer says. */
static CUresult call_between_servers(uint16_t op)
{
    switch (op) {
    case API_OP_cuCtxEnablePeerAccess:
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    case API_OP_cuCtxDisablePeerAccess:
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    default:
        return client_call_between_nodes("a call");
    }
}

CUresult client_context_check(struct client_call *call, CUcontext handle, uint64_t *wire)
{
    struct client_context *context;
    CU_TRY(client_context_find(handle, &context));
    if (!atomic_load(&context->active)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (client_session_conn(context->session) != call->conn) {
        return call_between_servers(call->op);
    }
    if (call->op == API_OP_cuCtxEnablePeerAccess) {
        atomic_store(&context->session->reached, true);
    }
    *wire = context->object.handle;
    return CUDA_SUCCESS;
}

CUresult client_device_check(struct client_call *call, CUdevice ordinal, int32_t *wire)
{
    (void)call;
    struct client_device *device;
    CU_TRY(client_device_find(ordinal, &device));
    *wire = (int32_t)device->index;
    return CUDA_SUCCESS;
}

CUresult client_handle_make(struct client_call *call, enum ga_handle_type type, uint64_t *wire)
{
    struct client_object *object = client_object_make(type, call->context);
    if (object == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *wire = object->handle;
    return CUDA_SUCCESS;
}

void client_handle_drop(uint64_t wire)
{
    void *object = client_object_find(ga_handle_type_of(wire), wire);
    if (object != NULL) {
        client_object_drop(object);
    }
}

/* Says once for each call what is missing where. */
static CUresult lacking(const struct client_call *call)
{
    static struct api_op_set told;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool first = !api_op_set_has(&told, call->op);
    api_op_set_add(&told, call->op);
    pthread_mutex_unlock(&lock);
    if (first) {
        ga_log_write(NULL, GA_LOG_WARN, NULL,
                     "%s is not supported by the gpuaasd at %s, whose build is another than this "
                     "library's (" GPUAAS_VERSION "): upgrade the older one",
                     api_op_name(call->op), client_conn_name(call->conn));
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

bool client_call_lacking(const struct client_call *call)
{
    return client_conn_lacks(call->conn, call->op);
}

/* Assigns field by field: a struct copy would read bytes that were just stored in smaller pieces,
 * and stall on store forwarding. */
static void writer_begin(struct client_call *call, size_t bound)
{
    call->writer.data = client_conn_at(call->conn) + HEADER;
    call->writer.size = bound + 15;
    call->writer.at = 0;
    call->writer.failed = false;
}

static enum api_work work_of(const struct client_call *call)
{
    return call->lends   ? API_WORK_LASTING
           : call->brief ? API_WORK_SHORT
                         : (enum api_work)api_facts(call->op).work;
}

/* Whether the stream of this name is known to have done its work up to a call. */
static bool is_done(const struct client_call *call, uint64_t in, uint64_t sequence)
{
    uint64_t mark = client_mark_of(call->conn, sequence);
    struct client_context *context = client_object_find(GA_HANDLE_CONTEXT, in);
    const struct client_stream *stream = client_object_find(GA_HANDLE_STREAM, in);
    return context != NULL  ? client_stream_passed(context, 0, mark)
           : stream != NULL ? client_stream_passed(stream->object.context, in, mark)
                            : sequence == 0;
}

/* Before the call counts as the last one. */
static void note_stream(const struct client_call *call, uint64_t sequence)
{
    struct client_conn_facts *facts = client_conn_facts(call->conn);
    uint64_t in = atomic_load_explicit(&facts->lasting_in, memory_order_relaxed);
    if (in == call->stream && in != 0) {
        return;
    }
    uint64_t last = atomic_load_explicit(&facts->lasting, memory_order_relaxed);
    if (call->stream == 0) {
        atomic_store(&facts->lasting_before, sequence);
    } else if (!is_done(call, in, last)) {
        atomic_store(&facts->lasting_before, last);
    }
    atomic_store(&facts->lasting_in, call->stream);
}

/* Work that may last comes behind blocking copies that have not waited. Not an event: it is what is
 * recorded then. */
static void mark_copies(const struct client_call *call)
{
    if (atomic_load_explicit(&client_conn_facts(call->conn)->owing, memory_order_relaxed) != 0 &&
        work_of(call) == API_WORK_LASTING && call->op != API_OP_cuEventRecord) {
        client_copy_fence(call->conn);
    }
}

CUresult client_call_begin(struct client_call *call, size_t bound)
{
    if (client_call_lacking(call)) {
        return lacking(call);
    }
    mark_copies(call);
    int rc = client_conn_lock(call->conn, bound + HEADER + SWITCH + 16);
    if (rc != 0) {
        return (CUresult)rc;
    }
    if (!call->bare) {
        client_conn_context(call->conn, call->context->session->number,
                            call->context->object.handle);
    }
    writer_begin(call, bound);
    return CUDA_SUCCESS;
}

CUresult client_call_begin_out_of_band(struct client_call *call, size_t bound)
{
    if (client_call_lacking(call)) {
        return lacking(call);
    }
    int rc = client_conn_lock_out_of_band(call->conn, bound + HEADER + SWITCH + 16);
    if (rc == 0) {
        client_conn_context(call->conn, call->context->session->number,
                            call->context->object.handle);
    }
    return (CUresult)rc;
}

void client_call_prefix(struct client_call *call, size_t bound, unsigned connection,
                        uint32_t compressed)
{
    client_conn_prefix(call->conn, connection, compressed);
    writer_begin(call, bound);
}

static uint64_t call_append(struct client_call *call, uint64_t bulk)
{
    assert(!call->writer.failed); /* the bound was too small: a bug of ours */
    if (client_trace_mode != CLIENT_TRACE_NONE) {
        client_trace_call(call->op, call->writer.data, call->writer.at);
    }
    const struct client_session *session =
        call->session != NULL ? call->session : call->context->session;
    uint64_t sequence =
        client_conn_frame(call->conn, call->op, session->number, call->writer.at, bulk, true);
    enum api_work work = work_of(call);
    call->lends = false;
    if (work == API_WORK_LASTING) {
        note_stream(call, sequence);
    }
    if (work != API_WORK_NOTHING) {
        client_conn_note_work(call->conn, sequence, work == API_WORK_LASTING);
    }
    call->sequence = sequence;
    return sequence;
}

void client_call_sent(struct client_call *call)
{
    if (call->mirrors.sent != NULL && !call->mirrors.later) {
        call->mirrors.sent(call);
    }
}

CUresult client_call_post(struct client_call *call)
{
    (void)call_append(call, 0);
    client_conn_unlock(call->conn, false);
    client_call_sent(call);
    return CUDA_SUCCESS;
}

CUresult client_call_post_bulk(struct client_call *call, const void *from, uint64_t bytes)
{
    (void)call_append(call, bytes);
    client_conn_bulk(call->conn, from, bytes);
    client_conn_unlock(call->conn, false);
    client_call_sent(call);
    return CUDA_SUCCESS;
}

CUresult client_call_post_out_of_band(struct client_call *call, const void *from, uint64_t bytes,
                                      struct conn_out_of_band *call_between_servers)
{
    (void)call_append(call, 0);
    client_conn_send_out_of_band(call->conn, from, bytes, call_between_servers);
    client_conn_unlock(call->conn, false);
    call->mirrors.later = true;
    return CUDA_SUCCESS;
}

uint8_t *client_call_bulk_room(struct client_call *call, uint64_t bytes)
{
    return ga_write_room(&call->writer, bytes, 1, 16);
}

CUresult client_call_post_expect(struct client_call *call, const struct reply_action *want)
{
    uint64_t sequence = call_append(call, 0);
    struct pending_reply *record = client_conn_expect(call->conn, sequence, false, want);
    client_conn_unlock(call->conn, false);
    if (record == NULL) {
        /* The answer could not be placed when it comes: the connection is no longer usable. */
        client_conn_lose(call->conn, "no memory for an answer");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* `leads`: we have the reader role, so nobody looks for the record before it is there: the server
 * has the call while we make it. */
static CUresult call_start(struct client_call *call, const struct reply_action *want,
                           const void *from, uint64_t bytes, bool leads)
{
    call->sequence = call_append(call, bytes);
    if (!leads) {
        call->record = client_conn_expect(call->conn, call->sequence, true, want);
    }
    if (from != NULL) {
        client_conn_bulk(call->conn, from, bytes);
    }
    client_conn_unlock(call->conn, true);
    if (leads) {
        call->record = client_conn_expect(call->conn, call->sequence, true, want);
    }
    if (call->record == NULL) {
        client_conn_lose(call->conn, "no memory for an answer");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* The call is complete. */
static CUresult call_finish(struct client_call *call, bool keep_late, struct ga_reader *reader)
{
    struct pending_reply *record = call->record;
    *reader = ga_reader_of(record->results != NULL ? record->results : record->small,
                           record->results_size);
    reader->at = record->results_size < 8 ? record->results_size : 8;
    CUresult rc = (CUresult)record->result;
    /* A handle that the server does not know is one whose making has failed: that is the error. */
    bool asks = rc == CUDA_ERROR_INVALID_HANDLE || (rc == CUDA_SUCCESS && !keep_late);
    int late = asks && call->context != NULL ? atomic_load(&call->context->late) : 0;
    if (late != 0 && !keep_late) {
        late = atomic_exchange(&call->context->late, 0);
    }
    rc = late != 0 ? (CUresult)late : rc;
    return rc;
}

CUresult client_call_start(struct client_call *call, const struct reply_action *want,
                           const void *from, uint64_t bytes)
{
    return call_start(call, want, from, bytes, false);
}

CUresult client_call_finish(struct client_call *call, bool keep_late, struct ga_reader *reader)
{
    client_conn_wait(call->conn, call->record);
    return call_finish(call, keep_late, reader);
}

CUresult client_call_wait_want(struct client_call *call, const struct reply_action *want,
                               bool keep_late, const void *from, uint64_t bytes,
                               struct ga_reader *reader)
{
    bool leads = from == NULL && client_conn_lead(call->conn);
    CUresult rc = call_start(call, want, from, bytes, leads);
    if (leads) {
        client_conn_wait_leading(call->conn, call->record);
    } else if (rc == CUDA_SUCCESS) {
        client_conn_wait(call->conn, call->record);
    }
    if (rc == CUDA_SUCCESS) {
        rc = call_finish(call, keep_late, reader);
    }
    return rc;
}

CUresult client_call_wait(struct client_call *call, struct ga_reader *reader)
{
    return client_call_wait_want(call, NULL, false, NULL, 0, reader);
}

CUresult client_call_broken(struct client_call *call)
{
    client_conn_lose(call->conn, "it sent an answer that cannot be read");
    return CUDA_ERROR_LAUNCH_FAILED;
}

void client_call_end(struct client_call *call)
{
    if (call->record != NULL) {
        client_conn_release(call->conn, call->record);
        call->record = NULL;
    }
}
