/* Pieces of shared memory: who has them, and how the other end learns of them. What a reader would
 * get wrong: a descriptor is only on its way from this process to the other. Nothing keeps it open,
 * so programs with much pinned memory do not run out of them. What a network card reaches has none:
 * it stays the program's memory, and the card keeps its pages until nobody shares it. */
#include "client/copy/shared_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/calls.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/shared_memory.h"
#include "base/spin.h"
#include "client/call/call.h"
#include "client/call/state.h"

#define PIECES_MOST 1024u /* as the server's, whose numbers they are */
#define PAGE        UINT64_C(4096)
#define SOON_NS     GA_NS_PER_MS /* a few round trips of networks that have such cards */

enum state { ARENA_OFFERED, ARENA_OPEN, ARENA_REFUSED };

struct client_arena {
    struct client_session *session;
    void *memory;
    uint64_t bytes;
    uint32_t piece;
    _Atomic(enum state) state;
    struct link_record *offer;      /* while it is offered */
    struct transport_memory shared; /* with the network card; state NULL: it is not */
    struct client_arena *next;      /* of the same memory */
};

/* Numbers, and the order in which descriptors and the calls that speak of them are sent. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool used[PIECES_MOST];

/* ---- numbers; with the lock */

static bool number_take(uint32_t *piece)
{
    for (uint32_t i = 0; i < PIECES_MOST; i++) {
        if (!used[i]) {
            used[i] = true;
            *piece = i;
            return true;
        }
    }
    return false;
}

/* ---- offering */

static void arena_unshare(struct client_arena *arena)
{
    struct client_link *link = arena->session->link;
    if (arena->shared.state != NULL) {
        link->data.ops->reach->unshare(&link->data, &arena->shared);
    }
}

/* A server that would take memory but cannot copy between it and the GPU is of no use. */
static bool served(const struct client_link *link, uint16_t opcode)
{
    return !link->lacks || (!api_op_set_has(&link->lacking, opcode) &&
                            !api_op_set_has(&link->lacking, API_OP_ga_arena_in) &&
                            !api_op_set_has(&link->lacking, API_OP_ga_arena_out));
}

static bool enter(const struct client_arena *arena, uint16_t opcode, struct client_call *call)
{
    return client_call_enter_session(call, opcode, arena->session) == CUDA_SUCCESS &&
           served(arena->session->link, opcode);
}

/* Nobody waits for the record yet. */
static struct link_record *start(struct client_call *call)
{
    return client_call_start(call, NULL, NULL, 0) == CUDA_SUCCESS ? call->record : NULL;
}

/* The descriptor, then the call. */
static struct link_record *offer(const struct client_arena *arena, int fd)
{
    struct client_call call;
    struct client_link *link = arena->session->link;
    const struct ga_arena_open_args args = {
        .piece = arena->piece, .bytes = arena->bytes, .inode = ga_shared_memory_inode(fd)};
    if (!enter(arena, API_OP_ga_arena_open, &call) ||
        link->data.ops->pass(&link->data, fd) != GA_OK ||
        client_call_begin(&call, ga_arena_open_args_bound(&args)) != CUDA_SUCCESS) {
        return NULL;
    }
    ga_arena_open_args_write(&call.writer, &args);
    return start(&call);
}

static struct link_record *offer_reach(const struct client_arena *arena)
{
    struct client_call call;
    const struct ga_arena_reach_args args = {.piece = arena->piece,
                                             .key = arena->shared.key,
                                             .bytes = arena->bytes,
                                             .address = arena->shared.address};
    if (!enter(arena, API_OP_ga_arena_reach, &call) ||
        client_call_begin(&call, ga_arena_reach_args_bound(&args)) != CUDA_SUCCESS) {
        return NULL;
    }
    ga_arena_reach_args_write(&call.writer, &args);
    return start(&call);
}

/* By its descriptor, or where it lies (-1). False: no number is free, or the server is none that
 * takes it. */
static bool numbered_offer(struct client_arena *arena, int fd)
{
    pthread_mutex_lock(&lock);
    bool numbered = number_take(&arena->piece);
    arena->offer = !numbered ? NULL : fd >= 0 ? offer(arena, fd) : offer_reach(arena);
    if (numbered && arena->offer == NULL) {
        used[arena->piece] = false;
    }
    pthread_mutex_unlock(&lock);
    return arena->offer != NULL;
}

/* Maps it, too. False: nothing of it is left. */
static bool arena_offer(struct client_arena *arena, int fd, void *where)
{
    void *memory = ga_shared_memory_map(fd, arena->bytes, where);
    if (memory == NULL) {
        return false;
    }
    arena->memory = memory;
    bool offered = numbered_offer(arena, fd);
    if (!offered && where == NULL) {
        munmap(memory, arena->bytes);
    }
    return offered;
}

struct client_arena *client_arena_make(const struct client_context *context, void *where,
                                       uint64_t bytes)
{
    struct client_session *session = context->session;
    if (session->link->data.ops->pass == NULL || bytes < CLIENT_ARENA_LEAST ||
        bytes > UINT64_MAX - PAGE) {
        return NULL;
    }
    struct client_arena *arena = calloc(1, sizeof *arena);
    int fd = arena != NULL ? ga_shared_memory_make("gpuaas", (bytes + PAGE - 1) & ~(PAGE - 1)) : -1;
    if (fd < 0) {
        free(arena);
        return NULL;
    }
    arena->session = session;
    arena->bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
    bool offered = arena_offer(arena, fd, where);
    close(fd);
    if (!offered) {
        free(arena);
        return NULL;
    }
    return arena;
}

bool client_arena_reaches(const struct client_link *link)
{
    return link->data.ops->reach != NULL;
}

/* The card keeps the pages of a program's memory when it forks, and the child gets copies, as of
 * Linux 5.12. */
static bool arena_share(struct client_arena *arena)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    struct client_link *link = arena->session->link;
    enum ga_status status = link->data.ops->reach->share(&link->data, arena->memory, arena->bytes,
                                                         TRANSPORT_SHARED, &arena->shared);
    if (status == GA_NO_MEMORY && !atomic_flag_test_and_set(&said)) {
        ga_warn("%llu KiB of memory cannot be registered with the network card: %s; copies go "
                "through the connection (is `ulimit -l`, the limit of locked memory, large "
                "enough?)",
                (unsigned long long)arena->bytes >> 10, strerror(errno));
    }
    return status == GA_OK;
}

struct client_arena *client_arena_reach(struct client_session *session, void *memory,
                                        uint64_t bytes)
{
    struct client_arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL) {
        return NULL;
    }
    arena->session = session;
    arena->memory = memory;
    arena->bytes = bytes;
    arena->piece = PIECES_MOST;
    if (!arena_share(arena) || !numbered_offer(arena, -1)) {
        arena_unshare(arena);
        arena->piece = PIECES_MOST;
        arena->state = ARENA_REFUSED;
    }
    return arena;
}

struct client_arena *client_arena_of(struct client_arena *first, const struct client_link *link)
{
    while (first != NULL && first->session->link != link) {
        first = first->next;
    }
    return first;
}

void client_arena_add(struct client_arena **first, struct client_arena *arena)
{
    arena->next = *first;
    *first = arena;
}

void *client_arena_memory(const struct client_arena *arena)
{
    return arena->memory;
}

uint32_t client_arena_piece(const struct client_arena *arena)
{
    return arena->piece;
}

/* ---- the answer; with the lock, and while it is offered */

static void answer_read(struct client_arena *arena)
{
    struct link_record *record = arena->offer;
    bool good = record->opcode == WIRE_REPLY && record->result == CUDA_SUCCESS;
    arena->offer = NULL;
    client_link_release(arena->session->link, record);
    if (!good) {
        arena_unshare(arena);
    }
    atomic_store_explicit(&arena->state, good ? ARENA_OPEN : ARENA_REFUSED, memory_order_release);
}

bool client_arena_usable(struct client_arena *arena, struct client_link *link)
{
    if (arena->session->link != link) {
        return false;
    }
    if (atomic_load_explicit(&arena->state, memory_order_acquire) == ARENA_OFFERED) {
        client_link_drain(link);
        pthread_mutex_lock(&lock);
        if (arena->offer != NULL && atomic_load(&arena->offer->done)) {
            answer_read(arena);
        }
        pthread_mutex_unlock(&lock);
    }
    return atomic_load_explicit(&arena->state, memory_order_acquire) == ARENA_OPEN;
}

bool client_arena_usable_soon(struct client_arena *arena, struct client_link *link)
{
    uint64_t until = ga_clock_ns() + SOON_NS;
    bool usable;
    while (!(usable = client_arena_usable(arena, link)) &&
           atomic_load(&arena->state) == ARENA_OFFERED && ga_clock_ns() < until) {
        ga_spin_look();
    }
    return usable;
}

static void close_there(const struct client_arena *arena)
{
    struct client_call call;
    const struct ga_arena_close_args args = {.piece = arena->piece};
    CUresult rc = client_call_enter_session(&call, API_OP_ga_arena_close, arena->session);
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_POST(&call, ga_arena_close, &args, rc);
    }
    (void)rc; /* a link that is lost has closed everything */
}

static void arena_end(struct client_arena *arena)
{
    if (arena->offer != NULL) {
        client_link_wait(arena->session->link, arena->offer);
        answer_read(arena);
    }
    if (atomic_load(&arena->state) == ARENA_OPEN) {
        close_there(arena);
    }
    arena_unshare(arena); /* also when the link is lost: the other end may not have noticed */
    pthread_mutex_lock(&lock);
    if (arena->piece < PIECES_MOST) {
        used[arena->piece] = false; /* what opens it again is sent behind the end */
    }
    pthread_mutex_unlock(&lock);
    free(arena);
}

void client_arena_end(struct client_arena *first)
{
    while (first != NULL) {
        struct client_arena *next = first->next;
        arena_end(first);
        first = next;
    }
}
