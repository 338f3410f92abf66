/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/pinned.h"

#include <pthread.h>
#include <stdlib.h>

#include "client/address/address_map.h"
#include "client/conn/conn_list.h"
#include "client/context/context.h"
#include "client/session/session.h"
#include "front/front.h"

struct pinned {
    uint64_t start, bytes;
    unsigned flags;
    bool registered;                     /* the program's own memory */
    bool placed;                         /* kernels use it by this address */
    struct client_shared_buffer *buffer; /* those of the servers that share it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of records, in which they also go */

static struct pinned *pinned_at(uint64_t address)
{
    struct client_address at;
    return client_address_find(address, CLIENT_ADDRESS(PINNED), &at) ? at.record : NULL;
}

CUresult client_host_pin(void *start, uint64_t bytes, unsigned flags, bool registered, bool placed,
                         struct client_shared_buffer *buffer)
{
    struct pinned *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *made = (struct pinned){.start = (uint64_t)(uintptr_t)start,
                            .bytes = bytes,
                            .flags = flags,
                            .registered = registered,
                            .placed = placed,
                            .buffer = buffer};
    const struct client_address at = {.kind = CLIENT_ADDRESS_PINNED,
                                      .flags = placed ? CLIENT_ADDRESS_PLACED : 0,
                                      .start = made->start,
                                      .bytes = bytes,
                                      .context = (uint64_t)(uintptr_t)front_context_current(),
                                      .record = made};
    enum ga_status status = client_address_enter(&at);
    if (status != GA_OK) {
        free(made);
    }
    return status == GA_OK          ? CUDA_SUCCESS
           : status == GA_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
                                    : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult client_host_unpin(void *start, bool registered, uint64_t *bytes, bool *placed)
{
    pthread_mutex_lock(&lock);
    struct pinned *found = pinned_at((uint64_t)(uintptr_t)start);
    bool right = found != NULL && found->start == (uint64_t)(uintptr_t)start &&
                 found->registered == registered;
    if (right) {
        client_address_leave(CLIENT_ADDRESS_PINNED, found->start, found);
        *bytes = found->bytes;
        *placed = found->placed;
    }
    pthread_mutex_unlock(&lock);
    if (!right) {
        return found != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    struct client_conn *conn;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        client_conn_wait_range(conn, start, *bytes, true);
    }
    client_shared_buffer_end(found->buffer);
    free(found);
    return CUDA_SUCCESS;
}

void client_host_forget(uint64_t start)
{
    pthread_mutex_lock(&lock);
    struct pinned *found = pinned_at(start);
    if (found != NULL) {
        client_address_leave(CLIENT_ADDRESS_PINNED, found->start, found);
    }
    pthread_mutex_unlock(&lock);
    free(found); /* nobody shares it: copies of it are copies of its mirror */
}

bool client_host_pinned(const void *start, uint64_t bytes)
{
    struct client_address at;
    uint64_t address = (uint64_t)(uintptr_t)start;
    return client_address_find(address, CLIENT_ADDRESS(PINNED), &at) &&
           bytes <= at.bytes - (address - at.start);
}

bool client_host_allocated(uint64_t address, unsigned *flags)
{
    pthread_mutex_lock(&lock);
    const struct pinned *found = pinned_at(address);
    bool allocated = found != NULL && !found->registered;
    if (allocated) {
        *flags = found->flags;
    }
    pthread_mutex_unlock(&lock);
    return allocated;
}

/* Memory of the program is shared with a server whose card reaches it when a copy uses it first:
 * that takes a while, so it stays shared until it is pinned no more. */
static struct client_shared_buffer *pinned_buffer(struct client_session *session, uint64_t start)
{
    static pthread_mutex_t reaching = PTHREAD_MUTEX_INITIALIZER;
    struct client_shared_buffer *made = NULL;
    struct pinned range = {.bytes = 0};
    pthread_mutex_lock(&reaching);
    pthread_mutex_lock(&lock);
    struct pinned *found = pinned_at(start);
    if (found != NULL) {
        range = *found;
        made = client_shared_buffer_of(found->buffer, client_session_conn(session));
    }
    pthread_mutex_unlock(&lock);
    if (made == NULL && found != NULL) {
        made = client_shared_buffer_reach(session, (void *)(uintptr_t)range.start, range.bytes);
        pthread_mutex_lock(&lock);
        found = pinned_at(start); /* unless the program has unpinned what it copies */
        if (made != NULL && found != NULL) {
            client_shared_buffer_add(&found->buffer, made);
        }
        pthread_mutex_unlock(&lock);
        if (made != NULL && found == NULL) {
            client_shared_buffer_end(made);
            made = NULL;
        }
    }
    pthread_mutex_unlock(&reaching);
    return made != NULL && client_shared_buffer_usable_soon(made, client_session_conn(session))
               ? made
               : NULL;
}

bool client_host_place(const void *start, uint64_t bytes, const struct client_context *context,
                       struct client_buffer_place *place)
{
    uint64_t address = (uint64_t)(uintptr_t)start;
    struct client_session *session = context->session;
    struct client_conn *conn = client_session_conn(session);
    struct client_shared_buffer *buffer = NULL;
    pthread_mutex_lock(&lock);
    const struct pinned *found = pinned_at(address);
    bool within = found != NULL && bytes <= found->bytes - (address - found->start);
    if (within) {
        buffer = client_shared_buffer_of(found->buffer, conn);
        place->offset = address - found->start;
    }
    pthread_mutex_unlock(&lock);
    if (buffer != NULL) {
        buffer = client_shared_buffer_usable(buffer, conn) ? buffer : NULL;
    } else if (within && client_shared_buffer_reaches(conn)) {
        buffer = pinned_buffer(session, address);
    }
    if (buffer == NULL) {
        return false;
    }
    place->piece = client_shared_buffer_piece(buffer);
    return true;
}

static bool word_there(uint64_t address, unsigned bytes)
{
    const struct pinned *found = pinned_at(address);
    return found != NULL && bytes <= found->bytes - (address - found->start);
}

bool client_host_load(uint64_t address, unsigned bytes, uint64_t *value)
{
    void *at = (void *)(uintptr_t)address;
    pthread_mutex_lock(&lock);
    bool there = word_there(address, bytes);
    if (there) {
        *value = bytes == 4 ? __atomic_load_n((uint32_t *)at, __ATOMIC_ACQUIRE)
                            : __atomic_load_n((uint64_t *)at, __ATOMIC_ACQUIRE);
    }
    pthread_mutex_unlock(&lock);
    return there;
}

bool client_host_store(uint64_t address, unsigned bytes, uint64_t value)
{
    void *at = (void *)(uintptr_t)address;
    pthread_mutex_lock(&lock);
    bool there = word_there(address, bytes);
    if (there && bytes == 4) {
        __atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_RELEASE);
    } else if (there) {
        __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return there;
}
