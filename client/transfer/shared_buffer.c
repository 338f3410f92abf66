/* SPDX-License-Identifier: Apache-2.0 */
/* Shared buffers: their numbers, and how the other end learns of them. Note: a descriptor is only
 * passed on from this process to the other. It is not kept open, so programs with much pinned
 * memory do not run out of descriptors. Memory that a network card reaches has none: it stays the
 * program's, and the card holds its pages until it is shared no more. */
#include "client/transfer/shared_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/shared_memory.h"
#include "base/spin.h"
#include "client/call/call.h"
#include "client/call/copy_route.h"
#include "client/context/context.h"
#include "client/session/session.h"

#define PAGE    UINT64_C(4096)
#define SOON_NS GA_NS_PER_MS /* a few round trips of networks that have such cards */

enum state { BUFFER_OFFERED, BUFFER_OPEN, BUFFER_REFUSED };

struct client_shared_buffer {
    struct client_session *session;
    void *memory;
    uint64_t bytes;
    uint32_t piece;
    _Atomic(enum state) state;
    struct pending_reply *offer;       /* while the state is BUFFER_OFFERED */
    struct transport_memory shared;    /* registration with the network card; state NULL: none */
    struct client_shared_buffer *next; /* of the same memory */
};

/* Guards numbers, and the order of descriptors and of the calls that belong to them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool used[API_SHARED_BUFFERS_MAX];

/* ---- numbers; with the lock */

static bool number_take(uint32_t *piece)
{
    for (uint32_t i = 0; i < API_SHARED_BUFFERS_MAX; i++) {
        if (!used[i]) {
            used[i] = true;
            *piece = i;
            return true;
        }
    }
    return false;
}

/* ---- offering */

static void buffer_unshare(struct client_shared_buffer *buffer)
{
    struct transport_conn *data = client_conn_transport(client_session_conn(buffer->session));
    if (buffer->shared.state != NULL) {
        data->ops->one_sided->unshare(data, &buffer->shared);
    }
}

/* Whether the server knows the call, and also those that copy between the memory and the GPU. */
static bool served(const struct client_conn *conn, uint16_t opcode)
{
    return !client_conn_lacks(conn, opcode) &&
           !client_conn_lacks(conn, API_OP_ga_shared_buffer_in) &&
           !client_conn_lacks(conn, API_OP_ga_shared_buffer_out);
}

static bool shared_buffer_enter(const struct client_shared_buffer *buffer, uint16_t opcode,
                                struct client_call *call)
{
    return client_call_enter_session(call, opcode, buffer->session) == CUDA_SUCCESS &&
           served(client_session_conn(buffer->session), opcode);
}

/* Sends the call; its reply is pending, and no thread waits for it yet. */
static struct pending_reply *shared_buffer_start(struct client_call *call)
{
    return client_call_start(call, NULL, NULL, 0) == CUDA_SUCCESS ? call->record : NULL;
}

/* Sends the descriptor, then the call. */
static struct pending_reply *offer(const struct client_shared_buffer *buffer, int fd)
{
    struct client_call call;
    struct transport_conn *data = client_conn_transport(client_session_conn(buffer->session));
    const struct ga_shared_buffer_open_args args = {
        .piece = buffer->piece, .bytes = buffer->bytes, .inode = ga_shared_memory_inode(fd)};
    if (!shared_buffer_enter(buffer, API_OP_ga_shared_buffer_open, &call) ||
        data->ops->send_fd(data, fd) != GA_OK ||
        client_call_begin(&call, ga_shared_buffer_open_args_bound(&args)) != CUDA_SUCCESS) {
        return NULL;
    }
    ga_shared_buffer_open_args_write(&call.writer, &args);
    return shared_buffer_start(&call);
}

static struct pending_reply *offer_reach(const struct client_shared_buffer *buffer)
{
    struct client_call call;
    const struct ga_shared_buffer_reach_args args = {.piece = buffer->piece,
                                                     .key = buffer->shared.key,
                                                     .bytes = buffer->bytes,
                                                     .address = buffer->shared.address};
    if (!shared_buffer_enter(buffer, API_OP_ga_shared_buffer_reach, &call) ||
        client_call_begin(&call, ga_shared_buffer_reach_args_bound(&args)) != CUDA_SUCCESS) {
        return NULL;
    }
    ga_shared_buffer_reach_args_write(&call.writer, &args);
    return shared_buffer_start(&call);
}

/* Offers the memory by its descriptor, or (-1) by address and key. False: no number is free, or the
 * server does not take it. */
static bool numbered_offer(struct client_shared_buffer *buffer, int fd)
{
    pthread_mutex_lock(&lock);
    bool numbered = number_take(&buffer->piece);
    buffer->offer = !numbered ? NULL : fd >= 0 ? offer(buffer, fd) : offer_reach(buffer);
    if (numbered && buffer->offer == NULL) {
        used[buffer->piece] = false;
    }
    pthread_mutex_unlock(&lock);
    return buffer->offer != NULL;
}

/* Maps the memory, and offers it. False: it is not shared; a mapping at `where` stays. */
static bool buffer_offer(struct client_shared_buffer *buffer, int fd, void *where)
{
    void *memory = ga_shared_memory_map(fd, buffer->bytes, where);
    if (memory == NULL) {
        return false;
    }
    buffer->memory = memory;
    bool offered = numbered_offer(buffer, fd);
    if (!offered && where == NULL) {
        munmap(memory, buffer->bytes);
    }
    return offered;
}

struct client_shared_buffer *client_shared_buffer_make(const struct client_context *context,
                                                       void *where, uint64_t bytes)
{
    struct client_session *session = context->session;
    if (!client_conn_takes_fds(client_session_conn(session)) || bytes < CLIENT_ROUTE_LARGE ||
        bytes > UINT64_MAX - PAGE) {
        return NULL;
    }
    struct client_shared_buffer *buffer = calloc(1, sizeof *buffer);
    int fd =
        buffer != NULL ? ga_shared_memory_make("gpuaas", (bytes + PAGE - 1) & ~(PAGE - 1)) : -1;
    if (fd < 0) {
        free(buffer);
        return NULL;
    }
    buffer->session = session;
    buffer->bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
    bool offered = buffer_offer(buffer, fd, where);
    close(fd);
    if (!offered) {
        free(buffer);
        return NULL;
    }
    return buffer;
}

bool client_shared_buffer_reaches(const struct client_conn *conn)
{
    return client_conn_transport(conn)->ops->one_sided != NULL;
}

/* Registers the memory with the network card. After a fork the card keeps the pages of the parent,
 * and the child gets copies (Linux 5.12 and later). */
static bool buffer_share(struct client_shared_buffer *buffer)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    struct client_conn *conn = client_session_conn(buffer->session);
    struct transport_conn *data = client_conn_transport(conn);
    enum ga_status status = data->ops->one_sided->share(data, buffer->memory, buffer->bytes,
                                                        TRANSPORT_SHARED, &buffer->shared);
    if (status == GA_NO_MEMORY && !atomic_flag_test_and_set(&said)) {
        ga_warn("%llu KiB of memory cannot be registered with the network card: %s; copies go "
                "through the connection (is `ulimit -l`, the limit of locked memory, large "
                "enough?)",
                (unsigned long long)buffer->bytes >> 10, strerror(errno));
    }
    return status == GA_OK;
}

struct client_shared_buffer *client_shared_buffer_reach(struct client_session *session,
                                                        void *memory, uint64_t bytes)
{
    struct client_shared_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) {
        return NULL;
    }
    buffer->session = session;
    buffer->memory = memory;
    buffer->bytes = bytes;
    buffer->piece = API_SHARED_BUFFERS_MAX;
    if (!buffer_share(buffer) || !numbered_offer(buffer, -1)) {
        buffer_unshare(buffer);
        buffer->piece = API_SHARED_BUFFERS_MAX;
        buffer->state = BUFFER_REFUSED;
    }
    return buffer;
}

struct client_shared_buffer *client_shared_buffer_of(struct client_shared_buffer *first,
                                                     const struct client_conn *conn)
{
    while (first != NULL && client_session_conn(first->session) != conn) {
        first = first->next;
    }
    return first;
}

void client_shared_buffer_add(struct client_shared_buffer **first,
                              struct client_shared_buffer *buffer)
{
    buffer->next = *first;
    *first = buffer;
}

void *client_shared_buffer_memory(const struct client_shared_buffer *buffer)
{
    return buffer->memory;
}

uint32_t client_shared_buffer_piece(const struct client_shared_buffer *buffer)
{
    return buffer->piece;
}

/* ---- the answer; with the lock, and while it is offered */

static void answer_read(struct client_shared_buffer *buffer)
{
    struct pending_reply *record = buffer->offer;
    bool good = record->opcode == WIRE_REPLY && record->result == CUDA_SUCCESS;
    buffer->offer = NULL;
    client_conn_release(client_session_conn(buffer->session), record);
    if (!good) {
        buffer_unshare(buffer);
    }
    atomic_store_explicit(&buffer->state, good ? BUFFER_OPEN : BUFFER_REFUSED,
                          memory_order_release);
}

bool client_shared_buffer_usable(struct client_shared_buffer *buffer, struct client_conn *conn)
{
    if (client_session_conn(buffer->session) != conn) {
        return false;
    }
    if (atomic_load_explicit(&buffer->state, memory_order_acquire) == BUFFER_OFFERED) {
        client_conn_drain(conn);
        pthread_mutex_lock(&lock);
        if (buffer->offer != NULL && atomic_load(&buffer->offer->done)) {
            answer_read(buffer);
        }
        pthread_mutex_unlock(&lock);
    }
    return atomic_load_explicit(&buffer->state, memory_order_acquire) == BUFFER_OPEN;
}

bool client_shared_buffer_usable_soon(struct client_shared_buffer *buffer, struct client_conn *conn)
{
    uint64_t until = ga_clock_ns() + SOON_NS;
    bool usable;
    while (!(usable = client_shared_buffer_usable(buffer, conn)) &&
           atomic_load(&buffer->state) == BUFFER_OFFERED && ga_clock_ns() < until) {
        ga_spin_look();
    }
    return usable;
}

static void close_there(const struct client_shared_buffer *buffer)
{
    struct client_call call;
    const struct ga_shared_buffer_close_args args = {.piece = buffer->piece};
    CUresult rc = client_call_enter_session(&call, API_OP_ga_shared_buffer_close, buffer->session);
    if (rc == CUDA_SUCCESS) {
        rc = client_post_ga_shared_buffer_close(&call, &args);
    }
    (void)rc; /* a connection that is lost has closed everything */
}

static void buffer_end(struct client_shared_buffer *buffer)
{
    if (buffer->offer != NULL) {
        client_conn_wait(client_session_conn(buffer->session), buffer->offer);
        answer_read(buffer);
    }
    if (atomic_load(&buffer->state) == BUFFER_OPEN) {
        close_there(buffer);
    }
    buffer_unshare(
        buffer); /* also when the connection is lost: the other end may not have noticed */
    pthread_mutex_lock(&lock);
    if (buffer->piece < API_SHARED_BUFFERS_MAX) {
        used[buffer->piece] = false; /* what opens it again is sent behind the end */
    }
    pthread_mutex_unlock(&lock);
    free(buffer);
}

void client_shared_buffer_end(struct client_shared_buffer *first)
{
    while (first != NULL) {
        struct client_shared_buffer *next = first->next;
        buffer_end(first);
        first = next;
    }
}
