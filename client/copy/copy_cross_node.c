/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that leave a server: between devices of two servers, and to or from a device of another
 * server than the stream's. The bytes go through the client, piece by piece, because servers do not
 * know each other.
 *
 * What a reader would get wrong: the order. Nothing on one server can wait for the other, so the
 * client does: before it reads it waits for the work in the stream, and afterwards for its own
 * writes, unless they were in the stream itself. In the legacy stream such a copy begins when both
 * devices have ended all their work, as CUDA defines it for copies between devices. */
#include <stdlib.h>

#include "api/calls.h"
#include "client/call/stream_call.h"
#include "client/conn/conn_list.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/copy/copy.h"
#include "client/memory/address.h"
#include "client/memory/context_wait.h"
#include "client/session/session.h"
#include "client/texture/array.h"

#define PIECE (UINT64_C(4) << 20) /* through the client's memory at once */

/* One side: where its calls run. */
struct end {
    struct client_session *session; /* NULL: the host's memory */
    struct client_call call;
    uint64_t stream;
};

/* The session whose memory a side is. NULL: the host's memory; also mirrored memory, which only its
 * own server knows. */
static struct client_session *node_session_of(const struct front_side *side)
{
    struct client_address mirror;
    if (side->place == FRONT_ARRAY) {
        const struct client_array *array =
            client_object_find(GA_HANDLE_ARRAY, (uint64_t)(uintptr_t)side->array);
        return array != NULL ? array->object.context->session : NULL;
    }
    return side->place == FRONT_HOST ||
                   client_address_find(side->start, CLIENT_ADDRESS(MIRROR), &mirror)
               ? NULL
               : client_memory_session(side->start);
}

static bool elsewhere(const struct client_call *call, const struct front_side *side)
{
    const struct client_session *session = node_session_of(side);
    return session != NULL && client_session_conn(session) != call->conn;
}

bool client_copy_leaves(const struct client_call *call, const struct front_box *box)
{
    return client_conn_at_index(1) != NULL && box->width != 0 &&
           (elsewhere(call, &box->from) || elsewhere(call, &box->to));
}

struct front_box client_copy_line(uint64_t to, bool to_device, uint64_t from, bool from_device,
                                  uint64_t bytes)
{
    return (struct front_box){.from = {.place = from_device ? FRONT_DEVICE : FRONT_HOST,
                                       .start = from,
                                       .pitch = bytes,
                                       .slice = bytes},
                              .to = {.place = to_device ? FRONT_DEVICE : FRONT_HOST,
                                     .start = to,
                                     .pitch = bytes,
                                     .slice = bytes},
                              .width = bytes,
                              .height = 1,
                              .depth = 1};
}

CUresult client_copy_contexts(CUcontext to, CUcontext from)
{
    struct client_context *one, *other;
    CUresult rc = client_context_find(to, &one);
    if (rc == CUDA_SUCCESS) {
        rc = client_context_find(from, &other);
    }
    return rc == CUDA_SUCCESS && !(atomic_load(&one->active) && atomic_load(&other->active))
               ? CUDA_ERROR_INVALID_CONTEXT
               : rc;
}

/* ---- before anything is copied */

static CUresult side_check(const struct front_box *box, const struct front_side *side)
{
    struct client_session *session;
    if (side->place == FRONT_ARRAY) {
        const struct client_array *array =
            client_object_find(GA_HANDLE_ARRAY, (uint64_t)(uintptr_t)side->array);
        return array != NULL ? front_array_holds(&array->front, box, side)
                             : CUDA_ERROR_INVALID_VALUE;
    }
    if (node_session_of(side) == NULL) {
        struct client_address mirror;
        if (client_address_find(side->start, CLIENT_ADDRESS(MIRROR), &mirror)) {
            return client_call_between_nodes("a copy of managed or mapped memory");
        }
        bool host = side->place != FRONT_DEVICE &&
                    client_copy_host_side((const void *)(uintptr_t)side->start);
        return host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return client_memory_check(side->start, front_box_extent(box, side), &session);
}

/* Any active context of the session: memory of a pool, or that the program maps, has none of its
 * own. */
static struct client_context *node_context_of(const struct client_session *session)
{
    uint32_t index = 0;
    return client_context_next_of(session, &index);
}

/* The library's own stream of a context, which waits for no other stream. */
static CUresult own_stream(struct client_context *context, uint64_t *handle)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    CUresult rc = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct client_stream *made = client_object_find(GA_HANDLE_STREAM, context->copy_stream);
    if (made == NULL) {
        rc = client_stream_make(context, CU_STREAM_NON_BLOCKING, &made);
    }
    if (rc == CUDA_SUCCESS) {
        context->copy_stream = *handle = made->object.handle;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static CUresult end_open(const struct front_side *side, struct end *end)
{
    *end = (struct end){.session = node_session_of(side)};
    if (end->session == NULL) {
        return CUDA_SUCCESS;
    }
    struct client_context *context = node_context_of(end->session);
    if (context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    CU_TRY(own_stream(context, &end->stream));
    return client_call_enter_in(&end->call, API_OP_ga_copy_in, context);
}

/* Makes the copy wait for the work before it; where possible by using the stream itself. */
static CUresult order(struct client_call *call, uint64_t stream, struct end *from, struct end *to)
{
    if (client_stream_known(stream) == 0) {
        CUresult rc = client_context_synchronize(call->context);
        if (rc == CUDA_SUCCESS && from->session != NULL) {
            rc = client_session_wait(from->session);
        }
        return rc == CUDA_SUCCESS && to->session != NULL ? client_session_wait(to->session) : rc;
    }
    if (to->session != NULL && client_session_conn(to->session) == call->conn) {
        to->call = *call;
        to->stream = stream;
    }
    if (from->session == NULL || client_session_conn(from->session) != call->conn) {
        return client_stream_wait(call, stream);
    }
    from->call = *call;
    from->stream = stream;
    return CUDA_SUCCESS;
}

/* ---- copying */

static struct front_side side_at(const struct front_side *side, uint64_t x, uint64_t y, uint64_t z)
{
    struct front_side at = *side;
    if (side->place == FRONT_ARRAY) {
        at.x += x;
        at.y += y;
        at.z += z;
    } else {
        at.start += x + y * side->pitch + z * side->slice;
    }
    return at;
}

/* A part of one slice. */
static CUresult piece(const struct front_box *box, struct end *from, struct end *to, void *through,
                      const struct front_box *part)
{
    const struct front_side between = {.place = FRONT_HOST,
                                       .start = (uint64_t)(uintptr_t)through,
                                       .pitch = part->width,
                                       .slice = part->width * part->height};
    struct front_box half = *part;
    half.from = side_at(&box->from, part->from.x, part->from.y, part->from.z);
    half.to = between;
    CU_TRY(client_copy_box(&from->call, &half, from->stream, true));
    half.from = between;
    half.to = side_at(&box->to, part->from.x, part->from.y, part->from.z);
    return client_copy_box(&to->call, &half, to->stream, false);
}

static CUresult slice(const struct front_box *box, struct end *from, struct end *to, void *through,
                      uint64_t z)
{
    CUresult rc = CUDA_SUCCESS;
    const uint64_t width = box->width < PIECE ? box->width : PIECE, rows = PIECE / width;
    for (uint64_t y = 0; rc == CUDA_SUCCESS && y < box->height; y += rows) {
        for (uint64_t x = 0; rc == CUDA_SUCCESS && x < box->width; x += width) {
            const uint64_t right = box->width - x, below = box->height - y;
            const struct front_box part = {.from = {.x = x, .y = y, .z = z},
                                           .width = right < width ? right : width,
                                           .height = below < rows ? below : rows,
                                           .depth = 1};
            rc = piece(box, from, to, through, &part);
        }
    }
    return rc;
}

static CUresult through_client(const struct front_box *box, struct end *from, struct end *to)
{
    void *through = malloc(PIECE); /* what is not used of it costs nothing */
    CUresult rc = through != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (uint64_t z = 0; rc == CUDA_SUCCESS && z < box->depth; z++) {
        rc = slice(box, from, to, through, z);
    }
    free(through);
    return rc;
}

CUresult client_copy_cross_node(struct client_call *call, const struct front_box *box,
                                uint64_t stream)
{
    struct end from, to;
    CU_TRY(side_check(box, &box->from));
    CU_TRY(side_check(box, &box->to));
    CU_TRY(end_open(&box->from, &from));
    CU_TRY(end_open(&box->to, &to));
    CU_TRY(order(call, stream, &from, &to));
    if (to.session == NULL) {
        return client_copy_box(&from.call, box, from.stream, true);
    }
    bool one = from.session == NULL ||
               client_session_conn(from.session) == client_session_conn(to.session);
    CUresult rc =
        one ? client_copy_box(&to.call, box, to.stream, true) : through_client(box, &from, &to);
    return rc == CUDA_SUCCESS && to.stream != stream ? client_stream_wait(&to.call, to.stream) : rc;
}
