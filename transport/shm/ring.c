/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of a ring. Counters only increase and are never reduced modulo the size: their
 * difference is the number of bytes in the ring. */
#include "transport/shm/ring.h"

#include <string.h>
#include <sys/mman.h>

#define PIECE      (64u << 10) /* bytes after which the counter is published */
#define PAGE       4096u
#define WORTH_WAKE (RING_BYTES / 4) /* room that is worth waking a writer */

static size_t ring_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The bytes that one copy can move: up to the end of the ring's memory. */
static size_t ring_straight(uint64_t at, size_t size)
{
    return ring_smaller(size, RING_BYTES - (size_t)(at % RING_BYTES));
}

/* One side publishes its counter, then checks whether the other sleeps; the other side marks
 * itself as sleeping, then checks the counter. At least one of them sees the other. */
static bool take_sleep(_Atomic uint32_t *sleeps)
{
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(sleeps, memory_order_relaxed) != 0 &&
           atomic_exchange(sleeps, 0) != 0;
}

/* Only the owner of this end moves it. */
static uint64_t position(const struct ring_end *end)
{
    return atomic_load_explicit(&end->at, memory_order_relaxed);
}

static void publish(struct ring_end *end, _Atomic uint64_t *counter, uint64_t at)
{
    atomic_store_explicit(&end->at, at, memory_order_relaxed);
    atomic_store_explicit(counter, at, memory_order_release);
}

/* The room in the ring, at most `want`. GA_LOST: an honest reader cannot have this counter. */
static enum ga_status room(struct ring_end *end, size_t want, size_t *bytes)
{
    const uint64_t at = position(end);
    if (RING_BYTES - (at - end->other) < want) {
        end->other = atomic_load_explicit(&end->ring->read, memory_order_acquire);
    }
    if (at - end->other > RING_BYTES) {
        return GA_LOST;
    }
    *bytes = RING_BYTES - (size_t)(at - end->other);
    return *bytes != 0 ? GA_OK : GA_AGAIN;
}

static enum ga_status filled(struct ring_end *end, size_t *bytes)
{
    const uint64_t at = position(end);
    if (end->other == at) {
        end->other = atomic_load_explicit(&end->ring->written, memory_order_acquire);
    }
    if (end->other - at > RING_BYTES) {
        return GA_LOST;
    }
    *bytes = (size_t)(end->other - at);
    return *bytes != 0 ? GA_OK : GA_AGAIN;
}

/* Copies into the ring. The caller publishes the last piece. */
static uint64_t ring_put(struct ring_end *end, uint64_t at, const uint8_t *from, size_t size)
{
    for (size_t done = 0; done < size;) {
        if (done != 0) {
            publish(end, &end->ring->written, at);
        }
        size_t part = ring_straight(at, ring_smaller(size - done, PIECE));
        memcpy(end->ring->bytes + at % RING_BYTES, from + done, part);
        at += part;
        done += part;
    }
    return at;
}

enum ga_status ring_write(struct ring_end *end, const struct iovec *pieces, int count, size_t *sent,
                          bool *wake)
{
    size_t bytes = 0, want = 0;
    for (int i = 0; i < count; i++) {
        want += pieces[i].iov_len;
    }
    GA_TRY(room(end, want, &bytes));
    const uint64_t before = position(end);
    uint64_t at = before;
    for (int i = 0; i < count && bytes != 0; i++) {
        size_t part = ring_smaller(pieces[i].iov_len, bytes);
        at = ring_put(end, at, pieces[i].iov_base, part);
        bytes -= part;
    }
    publish(end, &end->ring->written, at);
    *wake = take_sleep(&end->ring->reader_sleeps);
    *sent = (size_t)(at - before);
    return GA_OK;
}

/* Whether reading from `before` on must wake the writer. A writer sleeps only when the ring is
 * full. If the ring was not half full, the writer can sleep unseen only if it copied the other
 * half while our counter was on its way; then the next read wakes it. Small messages therefore
 * need no fence. */
static bool wakes_writer(struct ring_end *end, uint64_t before)
{
    uint64_t written = atomic_load_explicit(&end->ring->written, memory_order_relaxed);
    if (written - before <= RING_BYTES / 2) {
        return atomic_load_explicit(&end->ring->writer_sleeps, memory_order_relaxed) != 0 &&
               atomic_exchange(&end->ring->writer_sleeps, 0) != 0;
    }
    /* Bytes that were written meanwhile count: the ring may be full again. */
    return written - position(end) <= RING_BYTES - WORTH_WAKE &&
           take_sleep(&end->ring->writer_sleeps);
}

enum ga_status ring_read(struct ring_end *end, void *to, size_t size, size_t *got, bool *wake)
{
    size_t bytes = 0;
    GA_TRY(filled(end, &bytes));
    bytes = ring_smaller(bytes, size);
    const uint64_t before = position(end);
    uint64_t at = before;
    for (size_t done = 0; done < bytes;) {
        size_t part = ring_straight(at, ring_smaller(bytes - done, PIECE));
        memcpy((uint8_t *)to + done, end->ring->bytes + at % RING_BYTES, part);
        at += part;
        done += part;
        publish(end, &end->ring->read, at);
    }
    *wake = wakes_writer(end, before);
    *got = bytes;
    return GA_OK;
}

bool ring_reader_sleeps(struct ring_end *end)
{
    atomic_store(&end->ring->reader_sleeps, 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&end->ring->written) == position(end)) {
        return true;
    }
    atomic_store(&end->ring->reader_sleeps, 0);
    return false;
}

bool ring_writer_sleeps(struct ring_end *end)
{
    atomic_store(&end->ring->writer_sleeps, 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (position(end) - atomic_load(&end->ring->read) == RING_BYTES) {
        return true;
    }
    atomic_store(&end->ring->writer_sleeps, 0);
    return false;
}

bool ring_idle(struct ring_end *end)
{
    struct ring *ring = end->ring;
    if (atomic_load(&ring->read) != position(end)) {
        return false;
    }
    uintptr_t first = ((uintptr_t)ring->bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t last = ((uintptr_t)ring->bytes + RING_BYTES) & ~(uintptr_t)(PAGE - 1);
    return madvise((void *)first, last - first, MADV_REMOVE) == 0;
}
