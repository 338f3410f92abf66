/* Which twins there are, and the program's half of their memory. */
#include "client/memory/mirror.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "client/call/state.h"
#include "client/memory/mirror_list.h"
#include "client/alloc/window.h"
#include "front/front.h"

#define PAGE UINT64_C(4096)

atomic_uint client_twin_count;
pthread_mutex_t client_twin_lock = PTHREAD_MUTEX_INITIALIZER;
struct client_twin *client_twin_list;

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(PAGE - 1);
}

static bool inside(uint64_t address, uint64_t start, uint64_t bytes)
{
    return address - start < bytes;
}

static void enter(struct client_twin *twin)
{
    pthread_mutex_lock(&client_twin_lock);
    twin->next = client_twin_list;
    client_twin_list = twin;
    atomic_fetch_add(&client_twin_count, 1);
    pthread_mutex_unlock(&client_twin_lock);
}

static struct client_twin *make(struct client_context *context, uint64_t bytes)
{
    struct client_twin *twin = calloc(1, sizeof *twin);
    void *agreed =
        mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (twin == NULL || agreed == MAP_FAILED) {
        free(twin);
        if (agreed != MAP_FAILED) {
            munmap(agreed, pages(bytes));
        }
        return NULL;
    }
    twin->session = context->session;
    twin->context = context->object.handle;
    twin->bytes = bytes;
    twin->agreed = agreed;
    atomic_store(&twin->shown, true);
    return twin;
}

static void discard(struct client_twin *twin)
{
    munmap(twin->agreed, pages(twin->bytes));
    free(twin->asked);
    free(twin);
}

/* The device's copy begins as zeros, and so does the program's if it is made here: pages of the
 * window, on which nothing but this allocation begins. */
CUresult client_twin_make(struct client_context *context, uint64_t host, uint64_t bytes,
                          unsigned attach, struct client_twin **out)
{
    if (bytes > UINT64_MAX / 2) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct client_twin *twin = make(context, bytes);
    CUdeviceptr block;
    if (twin == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc =
        client_memory_take(context, bytes + (host == 0 ? PAGE - ALLOCATOR_UNIT : 0), &block);
    if (rc != CUDA_SUCCESS) {
        discard(twin);
        return rc;
    }
    twin->attach = attach;
    twin->stream = attach == CU_MEM_ATTACH_HOST ? TWIN_HOST_ONLY : 0;
    twin->block = block;
    twin->device = host == 0 ? pages(block) : block;
    twin->host = host == 0 ? twin->device : host;
    if (host == 0 &&
        mprotect((void *)(uintptr_t)twin->host, pages(bytes), PROT_READ | PROT_WRITE) != 0) {
        (void)client_memory_give(context, block, NULL);
        discard(twin);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    twin->fresh = true;
    rc = client_twin_clear(context, twin);
    enter(twin);
    *out = twin;
    return rc;
}

CUresult client_twin_same(struct client_context *context, const struct client_memory *memory,
                          struct client_physical *physical)
{
    struct client_twin *twin = make(context, memory->bytes);
    if (twin == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    twin->asked = calloc(CLIENT_DEVICES_MOST / 64, sizeof *twin->asked);
    if (twin->asked == NULL) {
        discard(twin);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    twin->attach = TWIN_MAPPED;
    twin->host = twin->device = memory->start;
    twin->physical = physical;
    twin->fresh = true;
    twin->asked[context->device->ordinal / 64] |= UINT64_C(1) << context->device->ordinal % 64;
    CUresult rc = client_twin_clear(context, twin);
    if (rc != CUDA_SUCCESS) {
        discard(twin);
        return rc;
    }
    enter(twin);
    return CUDA_SUCCESS;
}

void client_twin_ask(const struct client_session *session, uint64_t host, int ordinal)
{
    pthread_mutex_lock(&client_twin_lock);
    for (struct client_twin *at = client_twin_list; at != NULL; at = at->next) {
        if (at->host == host && at->physical != NULL && client_twin_of(at, session)) {
            at->asked[ordinal / 64] |= UINT64_C(1) << ordinal % 64;
        }
    }
    pthread_mutex_unlock(&client_twin_lock);
}

/* The program's half stays where it is when the last context has gone: pointers to it live on. */
static bool room_make(uint64_t host, uint64_t bytes)
{
    uint64_t start = host & ~(PAGE - 1);
    const struct handshake_window room = {.base = start, .bytes = pages(host + bytes) - start};
    return client_window_reserve(&room) &&
           mprotect((void *)(uintptr_t)start, room.bytes, PROT_READ | PROT_WRITE) == 0;
}

CUresult client_twin_variable(struct client_context *context, uint64_t host, uint64_t device,
                              uint64_t bytes)
{
    static struct client_ranges rooms; /* under client_twin_lock */
    struct client_twin other;
    bool first = !client_twin_at(host, NULL, &other);
    struct client_range *room = calloc(1, sizeof *room);
    struct client_twin *twin = make(context, bytes);
    if (twin == NULL || room == NULL) {
        free(room);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *room = (struct client_range){.start = host, .bytes = bytes};
    pthread_mutex_lock(&client_twin_lock);
    bool known = client_ranges_find(&rooms, host) != NULL;
    bool there = known || (room_make(host, bytes) && client_ranges_insert(&rooms, room));
    pthread_mutex_unlock(&client_twin_lock);
    if (known || !there) {
        free(room);
    }
    if (!there) {
        ga_warn("a managed variable lies at 0x%llx on the server, where this program has something",
                (unsigned long long)host);
        discard(twin);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    twin->attach = CU_MEM_ATTACH_GLOBAL;
    twin->host = host;
    twin->device = device;
    CUresult rc = client_twin_read(context, twin, first);
    enter(twin);
    return rc;
}

void client_twin_end(struct client_twin *twin)
{
    if (twin == NULL) {
        return;
    }
    uint64_t start = twin->host & ~(PAGE - 1);
    uint64_t bytes = pages(twin->host + twin->bytes) - start;
    if (twin->attach != TWIN_MAPPED) {
        front_advice_forget(twin->host, twin->host + twin->bytes);
    }
    if (twin->block != 0 && twin->host == twin->device) { /* the window stays reserved */
        (void)mmap((void *)(uintptr_t)start, bytes, PROT_NONE,
                   MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    discard(twin);
}

/* What does not change, or changes under client_twin_lock. */
static void facts(const struct client_twin *twin, struct client_twin *copy)
{
    *copy = (struct client_twin){.session = twin->session,
                                 .context = twin->context,
                                 .host = twin->host,
                                 .device = twin->device,
                                 .bytes = twin->bytes,
                                 .block = twin->block,
                                 .physical = twin->physical,
                                 .asked = twin->asked,
                                 .attach = twin->attach,
                                 .stream = twin->stream};
}

bool client_twin_at(uint64_t host, const struct client_session *session, struct client_twin *copy)
{
    if (!client_twins_some()) {
        return false;
    }
    const struct client_twin *found = NULL;
    pthread_mutex_lock(&client_twin_lock);
    for (const struct client_twin *at = client_twin_list; at != NULL; at = at->next) {
        if (inside(host, at->host, at->bytes) && (session == NULL || client_twin_of(at, session))) {
            found = at;
            facts(at, copy);
            break;
        }
    }
    pthread_mutex_unlock(&client_twin_lock);
    return found != NULL;
}

bool client_twin_on_device(uint64_t device, struct client_twin *copy)
{
    if (!client_twins_some()) {
        return false;
    }
    const struct client_twin *found = NULL;
    pthread_mutex_lock(&client_twin_lock);
    for (const struct client_twin *at = client_twin_list; at != NULL; at = at->next) {
        if (inside(device, at->device, at->bytes)) {
            found = at;
            facts(at, copy);
            break;
        }
    }
    pthread_mutex_unlock(&client_twin_lock);
    return found != NULL;
}

bool client_twin_translate(uint64_t *address)
{
    struct client_twin twin;
    bool found = client_twin_at(*address, NULL, &twin);
    *address = found ? twin.device + (*address - twin.host) : *address;
    return found;
}

static void unlink_at(struct client_twin **at)
{
    *at = (*at)->next;
    atomic_fetch_sub(&client_twin_count, 1);
}

struct client_twin *client_twin_next(const struct client_session *session,
                                     const struct client_twin *after)
{
    pthread_mutex_lock(&client_twin_lock);
    struct client_twin *at = after != NULL ? after->next : client_twin_list;
    while (at != NULL && !client_twin_of(at, session)) {
        at = at->next;
    }
    pthread_mutex_unlock(&client_twin_lock);
    return at;
}

/* Whether client_twin_take means it. */
static bool begins_at(const struct client_twin *twin, uint64_t host, bool managed)
{
    return twin->host == host && (twin->attach != TWIN_MAPPED) == managed &&
           (twin->block != 0 || twin->physical != NULL);
}

static struct client_link *link_of(uint64_t host, bool managed)
{
    struct client_link *found = NULL;
    pthread_mutex_lock(&client_twin_lock);
    for (const struct client_twin *at = client_twin_list; found == NULL && at != NULL;
         at = at->next) {
        found = begins_at(at, host, managed) ? at->session->link : NULL;
    }
    pthread_mutex_unlock(&client_twin_lock);
    return found;
}

/* NULL: it went meanwhile. */
static struct client_twin *take_from(struct client_link *link, uint64_t host, bool managed)
{
    struct client_twin *found = NULL;
    pthread_mutex_lock(&link->twins_lock);
    pthread_mutex_lock(&client_twin_lock);
    for (struct client_twin **at = &client_twin_list; *at != NULL; at = &(*at)->next) {
        if (begins_at(*at, host, managed) && (*at)->session->link == link) {
            found = *at;
            unlink_at(at);
            break;
        }
    }
    pthread_mutex_unlock(&client_twin_lock);
    pthread_mutex_unlock(&link->twins_lock);
    return found;
}

struct client_twin *client_twin_take(uint64_t host, bool managed)
{
    struct client_twin *found = NULL;
    struct client_link *link;
    while (client_twins_some() && found == NULL && (link = link_of(host, managed)) != NULL) {
        found = take_from(link, host, managed);
    }
    return found;
}

/* Mapped memory that the program has by itself stays pinned; what came with the twin goes. */
void client_twins_forget(const struct client_context *context)
{
    if (!client_twins_some() || context->session == NULL) {
        return;
    }
    struct client_twin *others = NULL;
    pthread_mutex_t *of_link = &context->session->link->twins_lock;
    pthread_mutex_lock(of_link);
    pthread_mutex_lock(&client_twin_lock);
    for (struct client_twin **at = &client_twin_list; *at != NULL;) {
        struct client_twin *twin = *at;
        if (twin->context != context->object.handle) {
            at = &twin->next;
            continue;
        }
        unlink_at(at);
        if (twin->physical != NULL) {
            twin->next = others;
            others = twin;
            continue;
        }
        if (twin->attach == TWIN_MAPPED && twin->host == twin->device) {
            client_host_forget(twin->host);
        }
        client_twin_end(twin);
    }
    pthread_mutex_unlock(&client_twin_lock);
    pthread_mutex_unlock(of_link);
    while (others != NULL) {
        struct client_twin *twin = others;
        others = twin->next;
        client_twin_give(twin);
    }
}

void client_twin_attach(uint64_t host, uint64_t stream)
{
    pthread_mutex_lock(&client_twin_lock);
    for (struct client_twin *at = client_twin_list; at != NULL; at = at->next) {
        if (at->host == host) {
            at->stream = stream;
            atomic_store(&at->shown, true);
        }
    }
    pthread_mutex_unlock(&client_twin_lock);
}

static bool named(const struct client_twin *twin, const uint8_t *params, uint32_t bytes)
{
    bool found = false;
    for (uint32_t at = 0; at + sizeof(uint64_t) <= bytes; at += (uint32_t)sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, params + at, sizeof word);
        found = found || inside(word, twin->device, twin->bytes);
    }
    return found;
}

void client_twin_detach(const struct client_session *session, const void *params, uint32_t bytes,
                        uint64_t stream)
{
    pthread_mutex_lock(&client_twin_lock);
    for (struct client_twin *at = client_twin_list; at != NULL; at = at->next) {
        if (at->stream != 0 && at->stream != stream && client_twin_of(at, session) &&
            named(at, params, bytes)) {
            at->stream = 0;
            at->shown = true;
        }
    }
    pthread_mutex_unlock(&client_twin_lock);
}
