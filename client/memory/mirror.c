/* SPDX-License-Identifier: Apache-2.0 */
/* Making and ending mirrors, and the program's half of their memory. */
#include "client/memory/mirror.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "client/alloc/window.h"
#include "client/conn/conn.h"
#include "client/context/context.h"
#include "client/memory/address.h"
#include "client/memory/device_free.h"
#include "client/memory/device_memory.h"
#include "client/memory/mirror_list.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"
#include "client/transfer/pinned.h"
#include "front/front.h"

#define PAGE UINT64_C(4096)

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(PAGE - 1);
}

static bool mirror_inside(uint64_t address, uint64_t start, uint64_t bytes)
{
    return address - start < bytes;
}

static struct client_mirror *mirror_make(struct client_context *context, uint64_t bytes)
{
    struct client_mirror *mirror = calloc(1, sizeof *mirror);
    void *base_copy =
        mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mirror == NULL || base_copy == MAP_FAILED) {
        free(mirror);
        if (base_copy != MAP_FAILED) {
            munmap(base_copy, pages(bytes));
        }
        return NULL;
    }
    mirror->session = context->session;
    mirror->context = context->object.handle;
    mirror->bytes = bytes;
    mirror->base_copy = base_copy;
    atomic_store(&mirror->maybe_dirty, true);
    return mirror;
}

static void discard(struct client_mirror *mirror)
{
    munmap(mirror->base_copy, pages(mirror->bytes));
    free(mirror->asked);
    free(mirror);
}

/* The device's copy begins as zeros, and so does the program's if it is made here: pages of the
 * window, on which nothing but this allocation begins. */
CUresult client_mirror_make(struct client_context *context, uint64_t host, uint64_t bytes,
                            unsigned attach, struct client_mirror **out)
{
    if (bytes > UINT64_MAX / 2) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct client_mirror *mirror = mirror_make(context, bytes);
    CUdeviceptr block;
    if (mirror == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    uint64_t block_bytes = bytes + (host == 0 ? PAGE - ALLOCATOR_UNIT : 0);
    CUresult rc = client_memory_alloc(context, block_bytes, &block);
    if (rc != CUDA_SUCCESS) {
        discard(mirror);
        return rc;
    }
    mirror->attach = attach;
    mirror->stream = attach == CU_MEM_ATTACH_HOST ? MIRROR_HOST_ONLY : 0;
    mirror->block = block;
    mirror->block_bytes = block_bytes;
    mirror->device = host == 0 ? pages(block) : block;
    mirror->host = host == 0 ? mirror->device : host;
    if (host == 0 &&
        mprotect((void *)(uintptr_t)mirror->host, pages(bytes), PROT_READ | PROT_WRITE) != 0) {
        (void)client_memory_free_mirror(context, mirror);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    mirror->fresh = true;
    rc = client_mirror_clear(context, mirror);
    if (!client_mirror_enter(mirror)) {
        (void)client_memory_free_mirror(context, mirror);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = mirror;
    return rc;
}

CUresult client_mirror_same(struct client_context *context, const struct client_memory *memory,
                            struct client_physical *physical)
{
    struct client_mirror *mirror = mirror_make(context, memory->bytes);
    if (mirror == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    mirror->asked = calloc(CLIENT_DEVICES_MAX / 64, sizeof *mirror->asked);
    if (mirror->asked == NULL) {
        discard(mirror);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    mirror->attach = MIRROR_MAPPED;
    mirror->host = mirror->device = memory->start;
    mirror->physical = physical;
    mirror->fresh = true;
    mirror->asked[context->device->ordinal / 64] |= UINT64_C(1) << context->device->ordinal % 64;
    CUresult rc = client_mirror_clear(context, mirror);
    if (rc == CUDA_SUCCESS && !client_mirror_enter(mirror)) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc != CUDA_SUCCESS) {
        discard(mirror);
    }
    return rc;
}

void client_mirror_ask(const struct client_session *session, uint64_t host, int ordinal)
{
    pthread_mutex_lock(&client_mirror_lock);
    ga_list_each (in_list, following, &client_mirror_list) {
        const struct client_mirror *at = client_mirror_in(in_list);
        if (at->host == host && at->physical != NULL && client_mirror_of(at, session)) {
            at->asked[ordinal / 64] |= UINT64_C(1) << ordinal % 64;
        }
    }
    pthread_mutex_unlock(&client_mirror_lock);
}

/* The program's half stays where it is when the last context has gone: pointers to it live on. */
static bool room_make(uint64_t host, uint64_t bytes)
{
    uint64_t start = host & ~(PAGE - 1);
    const struct handshake_window room = {.base = start, .bytes = pages(host + bytes) - start};
    return client_window_reserve(&room) &&
           mprotect((void *)(uintptr_t)start, room.bytes, PROT_READ | PROT_WRITE) == 0;
}

CUresult client_mirror_variable(struct client_context *context, uint64_t host, uint64_t device,
                                uint64_t bytes)
{
    static struct client_ranges rooms; /* under client_mirror_lock */
    struct client_mirror other;
    bool first = !client_mirror_at(host, NULL, &other);
    struct client_range *room = calloc(1, sizeof *room);
    struct client_mirror *mirror = mirror_make(context, bytes);
    if (mirror == NULL || room == NULL) {
        free(room);
        if (mirror != NULL) {
            discard(mirror);
        }
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *room = (struct client_range){.start = host, .bytes = bytes};
    pthread_mutex_lock(&client_mirror_lock);
    bool known = client_ranges_find(&rooms, host) != NULL;
    bool there = known || (room_make(host, bytes) && client_ranges_insert(&rooms, room));
    pthread_mutex_unlock(&client_mirror_lock);
    if (known || !there) {
        free(room);
    }
    if (!there) {
        ga_warn("a managed variable lies at 0x%llx on the server, where this program has something",
                (unsigned long long)host);
        discard(mirror);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    mirror->attach = CU_MEM_ATTACH_GLOBAL;
    mirror->host = host;
    mirror->device = device;
    CUresult rc = client_mirror_read(context, mirror, first);
    if (!client_mirror_enter(mirror)) {
        discard(mirror);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return rc;
}

void client_mirror_end(struct client_mirror *mirror)
{
    if (mirror == NULL) {
        return;
    }
    uint64_t start = mirror->host & ~(PAGE - 1);
    uint64_t bytes = pages(mirror->host + mirror->bytes) - start;
    if (mirror->attach != MIRROR_MAPPED) {
        front_advice_forget(mirror->host, mirror->host + mirror->bytes);
    }
    if (mirror->block != 0 && mirror->host == mirror->device) { /* the window stays reserved */
        (void)mmap((void *)(uintptr_t)start, bytes, PROT_NONE,
                   MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    discard(mirror);
}

/* Mapped memory that the program has by itself stays pinned; what came with the mirror goes. */
void client_mirrors_forget(const struct client_context *context)
{
    if (!client_mirrors_some() || context->session == NULL) {
        return;
    }
    struct ga_list others;
    ga_list_init(&others);
    pthread_mutex_t *of_conn = client_conn_mirrors_lock(client_session_conn(context->session));
    pthread_mutex_lock(of_conn);
    pthread_mutex_lock(&client_mirror_lock);
    ga_list_each (at, following, &client_mirror_list) {
        struct client_mirror *mirror = client_mirror_in(at);
        if (mirror->context != context->object.handle) {
            continue;
        }
        client_mirror_leave(mirror);
        if (mirror->physical != NULL) {
            ga_list_append(&others, &mirror->in_list);
            continue;
        }
        if (mirror->attach == MIRROR_MAPPED && mirror->host == mirror->device) {
            client_host_forget(mirror->host);
        }
        client_mirror_end(mirror);
    }
    pthread_mutex_unlock(&client_mirror_lock);
    pthread_mutex_unlock(of_conn);
    while (!ga_list_empty(&others)) {
        struct client_mirror *mirror = client_mirror_in(others.next);
        ga_list_remove(&mirror->in_list);
        client_mirror_give(mirror);
    }
}

void client_mirror_attach(uint64_t host, uint64_t stream)
{
    pthread_mutex_lock(&client_mirror_lock);
    ga_list_each (in_list, following, &client_mirror_list) {
        struct client_mirror *at = client_mirror_in(in_list);
        if (at->host == host) {
            at->stream = stream;
            atomic_store(&at->maybe_dirty, true);
        }
    }
    pthread_mutex_unlock(&client_mirror_lock);
}

static bool named(const struct client_mirror *mirror, const uint8_t *params, uint32_t bytes)
{
    bool found = false;
    for (uint32_t at = 0; at + sizeof(uint64_t) <= bytes; at += (uint32_t)sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, params + at, sizeof word);
        found = found || mirror_inside(word, mirror->device, mirror->bytes);
    }
    return found;
}

void client_mirror_detach(const struct client_session *session, const void *params, uint32_t bytes,
                          uint64_t stream)
{
    pthread_mutex_lock(&client_mirror_lock);
    ga_list_each (in_list, following, &client_mirror_list) {
        struct client_mirror *at = client_mirror_in(in_list);
        if (at->stream != 0 && at->stream != stream && client_mirror_of(at, session) &&
            named(at, params, bytes)) {
            at->stream = 0;
            at->maybe_dirty = true;
        }
    }
    pthread_mutex_unlock(&client_mirror_lock);
}
