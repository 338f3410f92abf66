/* SPDX-License-Identifier: Apache-2.0 */
/* Bounce buffers: slots of shared memory through which pageable memory is copied, some for each
 * connection. One end fills a slot while the other end empties another. They are made at the first
 * copy that could use them. */
#include "client/transfer/bounce_buffers.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/spin.h"
#include "client/conn/conn.h"
#include "client/context/context.h"

#define PAGE        4096u
#define STRIDE      (CLIENT_SLOT_BYTES + CLIENT_SLOT_LINE)
#define SLOTS_BYTES ((2 * CLIENT_SLOTS * STRIDE + PAGE - 1) / PAGE * PAGE)
#define REST_NS     GA_NS_PER_S
#define CONNS_MAX   256u
#define SOON_NS     GA_NS_PER_MS /* a slot busy for longer belongs to a stream that stands still */

struct slots {
    struct client_shared_buffer *buffer;
    struct client_slot slots[2][CLIENT_SLOTS]; /* out, in */
    atomic_uint next[2];
    atomic_bool stuck; /* the last wait for a slot has failed */
    bool stays;        /* a network card holds the pages */
    struct {
        unsigned next;
        uint64_t since_ns;
        bool rests;
    } seen; /* by the service thread: how many slots had been taken, since when */
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static struct slots *_Atomic by_conn[CONNS_MAX];
static bool tried[CONNS_MAX];

/* Slots in private memory, registered with the network card. A forked child does not inherit it. */
static struct client_shared_buffer *buffer_reach(const struct client_context *context)
{
    if (!client_shared_buffer_reaches(client_session_conn(context->session))) {
        return NULL;
    }
    void *memory =
        mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(memory, SLOTS_BYTES, MADV_DONTFORK);
    struct client_shared_buffer *buffer =
        client_shared_buffer_reach(context->session, memory, SLOTS_BYTES);
    if (buffer == NULL) {
        munmap(memory, SLOTS_BYTES);
    }
    return buffer;
}

static struct slots *slots_make(const struct client_context *context)
{
    struct slots *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->buffer = client_shared_buffer_make(context, NULL, SLOTS_BYTES);
    if (made->buffer == NULL) {
        made->buffer = buffer_reach(context);
        made->stays = true;
    }
    if (made->buffer == NULL) {
        free(made);
        return NULL;
    }
    uint64_t offset = 0;
    for (unsigned i = 0; i < 2 * CLIENT_SLOTS; i++, offset += STRIDE) {
        struct client_slot *slot = &made->slots[i / CLIENT_SLOTS][i % CLIENT_SLOTS];
        slot->memory = (uint8_t *)client_shared_buffer_memory(made->buffer) + offset;
        slot->place =
            (struct client_buffer_place){client_shared_buffer_piece(made->buffer), offset};
    }
    return made;
}

/* The slots of the context's connection; NULL: there are none. */
static struct slots *slots_of(const struct client_context *context)
{
    const struct client_conn *conn = client_session_conn(context->session);
    unsigned index = client_conn_index(conn);
    if (index >= CONNS_MAX) {
        return NULL;
    }
    struct slots *found = atomic_load_explicit(&by_conn[index], memory_order_acquire);
    if (found == NULL) {
        pthread_mutex_lock(&making);
        found = atomic_load(&by_conn[index]);
        if (found == NULL && !tried[index]) {
            tried[index] = true;
            found = slots_make(context);
            atomic_store(&by_conn[index], found);
        }
        pthread_mutex_unlock(&making);
    }
    return found;
}

/* Reads answers for a moment, until the slot is free. */
static bool frees_soon(struct slots *slots, struct client_conn *conn,
                       const struct client_slot *slot)
{
    uint64_t until = ga_clock_ns() + (atomic_load(&slots->stuck) ? 0 : SOON_NS);
    do {
        client_conn_drain(conn);
        if (atomic_load(&slot->busy) == 0) {
            atomic_store(&slots->stuck, false);
            return true;
        }
        ga_spin_look();
    } while (ga_clock_ns() < until);
    atomic_store(&slots->stuck, true);
    return false;
}

struct client_slot *client_slot_take(const struct client_context *context, bool in)
{
    struct client_conn *conn = client_session_conn(context->session);
    struct slots *slots = slots_of(context);
    if (slots == NULL || !client_shared_buffer_usable(slots->buffer, conn)) {
        return NULL;
    }
    unsigned next = atomic_load_explicit(&slots->next[in], memory_order_relaxed);
    struct client_slot *slot = &slots->slots[in][next % CLIENT_SLOTS];
    unsigned free = 0;
    if (atomic_load(&slot->busy) != 0 && (!in || !frees_soon(slots, conn, slot))) {
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&slot->busy, &free, 1)) {
        return NULL; /* another thread was faster */
    }
    atomic_fetch_add(&slots->next[in], 1);
    return slot;
}

/* Takes all slots, so that their memory can be given back; how many, up to the first busy one. */
static unsigned take_all(struct slots *slots)
{
    unsigned taken = 0, free = 0;
    while (taken < 2 * CLIENT_SLOTS &&
           atomic_compare_exchange_strong(
               &slots->slots[taken / CLIENT_SLOTS][taken % CLIENT_SLOTS].busy, &free, 1)) {
        taken++;
    }
    return taken;
}

void client_slots_rest(const struct client_conn *conn, uint64_t now_ns)
{
    unsigned index = client_conn_index(conn);
    struct slots *slots = index < CONNS_MAX ? atomic_load(&by_conn[index]) : NULL;
    if (slots == NULL || slots->stays) {
        return;
    }
    unsigned next = atomic_load(&slots->next[0]) + atomic_load(&slots->next[1]);
    if (next != slots->seen.next) {
        slots->seen.next = next;
        slots->seen.since_ns = now_ns;
        slots->seen.rests = false;
        return;
    }
    if (slots->seen.rests || now_ns - slots->seen.since_ns < REST_NS) {
        return;
    }
    unsigned taken = take_all(slots);
    if (taken == 2 * CLIENT_SLOTS) {
        slots->seen.rests =
            madvise(client_shared_buffer_memory(slots->buffer), SLOTS_BYTES, MADV_REMOVE) == 0;
    }
    while (taken-- != 0) {
        atomic_store(&slots->slots[taken / CLIENT_SLOTS][taken % CLIENT_SLOTS].busy, 0);
    }
}
