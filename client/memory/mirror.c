/* SPDX-License-Identifier: Apache-2.0 */
/* Which mirrors there are, and the program's half of their memory. */
#include "client/memory/mirror.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "client/alloc/window.h"
#include "client/conn/conn.h"
#include "client/context/context.h"
#include "client/memory/device_free.h"
#include "client/memory/device_memory.h"
#include "client/memory/host_memory.h"
#include "client/memory/mirror_list.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"
#include "front/front.h"

#define PAGE UINT64_C(4096)

pthread_mutex_t client_mirror_lock = PTHREAD_MUTEX_INITIALIZER;
struct client_mirror *client_mirror_list;

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(PAGE - 1);
}

static bool inside(uint64_t address, uint64_t start, uint64_t bytes)
{
    return address - start < bytes;
}

static void enter(struct client_mirror *mirror)
{
    pthread_mutex_lock(&client_mirror_lock);
    mirror->next = client_mirror_list;
    client_mirror_list = mirror;
    atomic_fetch_add(&client_mirror_count, 1);
    pthread_mutex_unlock(&client_mirror_lock);
}

static struct client_mirror *make(struct client_context *context, uint64_t bytes)
{
    struct client_mirror *mirror = calloc(1, sizeof *mirror);
    void *agreed =
        mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mirror == NULL || agreed == MAP_FAILED) {
        free(mirror);
        if (agreed != MAP_FAILED) {
            munmap(agreed, pages(bytes));
        }
        return NULL;
    }
    mirror->session = context->session;
    mirror->context = context->object.handle;
    mirror->bytes = bytes;
    mirror->agreed = agreed;
    atomic_store(&mirror->shown, true);
    return mirror;
}

static void discard(struct client_mirror *mirror)
{
    munmap(mirror->agreed, pages(mirror->bytes));
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
    struct client_mirror *mirror = make(context, bytes);
    CUdeviceptr block;
    if (mirror == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc =
        client_memory_alloc(context, bytes + (host == 0 ? PAGE - ALLOCATOR_UNIT : 0), &block);
    if (rc != CUDA_SUCCESS) {
        discard(mirror);
        return rc;
    }
    mirror->attach = attach;
    mirror->stream = attach == CU_MEM_ATTACH_HOST ? MIRROR_HOST_ONLY : 0;
    mirror->block = block;
    mirror->device = host == 0 ? pages(block) : block;
    mirror->host = host == 0 ? mirror->device : host;
    if (host == 0 &&
        mprotect((void *)(uintptr_t)mirror->host, pages(bytes), PROT_READ | PROT_WRITE) != 0) {
        (void)client_memory_free(context, block, NULL);
        discard(mirror);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    mirror->fresh = true;
    rc = client_mirror_clear(context, mirror);
    enter(mirror);
    *out = mirror;
    return rc;
}

CUresult client_mirror_same(struct client_context *context, const struct client_memory *memory,
                            struct client_physical *physical)
{
    struct client_mirror *mirror = make(context, memory->bytes);
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
    if (rc != CUDA_SUCCESS) {
        discard(mirror);
        return rc;
    }
    enter(mirror);
    return CUDA_SUCCESS;
}

void client_mirror_ask(const struct client_session *session, uint64_t host, int ordinal)
{
    pthread_mutex_lock(&client_mirror_lock);
    for (struct client_mirror *at = client_mirror_list; at != NULL; at = at->next) {
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
    struct client_mirror *mirror = make(context, bytes);
    if (mirror == NULL || room == NULL) {
        free(room);
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
    enter(mirror);
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

/* Copies the fields that never change, or change only under client_mirror_lock. */
static void facts(const struct client_mirror *mirror, struct client_mirror *copy)
{
    *copy = (struct client_mirror){.session = mirror->session,
                                   .context = mirror->context,
                                   .host = mirror->host,
                                   .device = mirror->device,
                                   .bytes = mirror->bytes,
                                   .block = mirror->block,
                                   .physical = mirror->physical,
                                   .asked = mirror->asked,
                                   .attach = mirror->attach,
                                   .stream = mirror->stream};
}

bool client_mirror_at(uint64_t host, const struct client_session *session,
                      struct client_mirror *copy)
{
    if (!client_mirrors_some()) {
        return false;
    }
    const struct client_mirror *found = NULL;
    pthread_mutex_lock(&client_mirror_lock);
    for (const struct client_mirror *at = client_mirror_list; at != NULL; at = at->next) {
        if (inside(host, at->host, at->bytes) &&
            (session == NULL || client_mirror_of(at, session))) {
            found = at;
            facts(at, copy);
            break;
        }
    }
    pthread_mutex_unlock(&client_mirror_lock);
    return found != NULL;
}

bool client_mirror_on_device(uint64_t device, struct client_mirror *copy)
{
    if (!client_mirrors_some()) {
        return false;
    }
    const struct client_mirror *found = NULL;
    pthread_mutex_lock(&client_mirror_lock);
    for (const struct client_mirror *at = client_mirror_list; at != NULL; at = at->next) {
        if (inside(device, at->device, at->bytes)) {
            found = at;
            facts(at, copy);
            break;
        }
    }
    pthread_mutex_unlock(&client_mirror_lock);
    return found != NULL;
}

bool client_mirror_translate(uint64_t *address)
{
    struct client_mirror mirror;
    bool found = client_mirror_at(*address, NULL, &mirror);
    *address = found ? mirror.device + (*address - mirror.host) : *address;
    return found;
}

static void unlink_at(struct client_mirror **at)
{
    *at = (*at)->next;
    atomic_fetch_sub(&client_mirror_count, 1);
}

struct client_mirror *client_mirror_next(const struct client_session *session,
                                         const struct client_mirror *after)
{
    pthread_mutex_lock(&client_mirror_lock);
    struct client_mirror *at = after != NULL ? after->next : client_mirror_list;
    while (at != NULL && !client_mirror_of(at, session)) {
        at = at->next;
    }
    pthread_mutex_unlock(&client_mirror_lock);
    return at;
}

/* Whether client_mirror_take means it. */
static bool begins_at(const struct client_mirror *mirror, uint64_t host, bool managed)
{
    return mirror->host == host && (mirror->attach != MIRROR_MAPPED) == managed &&
           (mirror->block != 0 || mirror->physical != NULL);
}

static struct client_conn *conn_of(uint64_t host, bool managed)
{
    struct client_conn *found = NULL;
    pthread_mutex_lock(&client_mirror_lock);
    for (const struct client_mirror *at = client_mirror_list; found == NULL && at != NULL;
         at = at->next) {
        found = begins_at(at, host, managed) ? client_session_conn(at->session) : NULL;
    }
    pthread_mutex_unlock(&client_mirror_lock);
    return found;
}

/* NULL: it went meanwhile. */
static struct client_mirror *take_from(struct client_conn *conn, uint64_t host, bool managed)
{
    struct client_mirror *found = NULL;
    pthread_mutex_lock(&conn->mirrors_lock);
    pthread_mutex_lock(&client_mirror_lock);
    for (struct client_mirror **at = &client_mirror_list; *at != NULL; at = &(*at)->next) {
        if (begins_at(*at, host, managed) && client_session_conn((*at)->session) == conn) {
            found = *at;
            unlink_at(at);
            break;
        }
    }
    pthread_mutex_unlock(&client_mirror_lock);
    pthread_mutex_unlock(&conn->mirrors_lock);
    return found;
}

struct client_mirror *client_mirror_take(uint64_t host, bool managed)
{
    struct client_mirror *found = NULL;
    struct client_conn *conn;
    while (client_mirrors_some() && found == NULL && (conn = conn_of(host, managed)) != NULL) {
        found = take_from(conn, host, managed);
    }
    return found;
}

/* Mapped memory that the program has by itself stays pinned; what came with the mirror goes. */
void client_mirrors_forget(const struct client_context *context)
{
    if (!client_mirrors_some() || context->session == NULL) {
        return;
    }
    struct client_mirror *others = NULL;
    pthread_mutex_t *of_conn = &client_session_conn(context->session)->mirrors_lock;
    pthread_mutex_lock(of_conn);
    pthread_mutex_lock(&client_mirror_lock);
    for (struct client_mirror **at = &client_mirror_list; *at != NULL;) {
        struct client_mirror *mirror = *at;
        if (mirror->context != context->object.handle) {
            at = &mirror->next;
            continue;
        }
        unlink_at(at);
        if (mirror->physical != NULL) {
            mirror->next = others;
            others = mirror;
            continue;
        }
        if (mirror->attach == MIRROR_MAPPED && mirror->host == mirror->device) {
            client_host_forget(mirror->host);
        }
        client_mirror_end(mirror);
    }
    pthread_mutex_unlock(&client_mirror_lock);
    pthread_mutex_unlock(of_conn);
    while (others != NULL) {
        struct client_mirror *mirror = others;
        others = mirror->next;
        client_mirror_give(mirror);
    }
}

void client_mirror_attach(uint64_t host, uint64_t stream)
{
    pthread_mutex_lock(&client_mirror_lock);
    for (struct client_mirror *at = client_mirror_list; at != NULL; at = at->next) {
        if (at->host == host) {
            at->stream = stream;
            atomic_store(&at->shown, true);
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
        found = found || inside(word, mirror->device, mirror->bytes);
    }
    return found;
}

void client_mirror_detach(const struct client_session *session, const void *params, uint32_t bytes,
                          uint64_t stream)
{
    pthread_mutex_lock(&client_mirror_lock);
    for (struct client_mirror *at = client_mirror_list; at != NULL; at = at->next) {
        if (at->stream != 0 && at->stream != stream && client_mirror_of(at, session) &&
            named(at, params, bytes)) {
            at->stream = 0;
            at->shown = true;
        }
    }
    pthread_mutex_unlock(&client_mirror_lock);
}
