/* SPDX-License-Identifier: Apache-2.0 */
/* The floor of shared memory: a ring with both ends spinning, without checks and wake-ups. */
#ifndef PERF_FLOOR_RING_H
#define PERF_FLOOR_RING_H

#include <immintrin.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define FLOOR_RING_BYTES (512u << 10)

struct floor_ring {
    _Alignas(128) _Atomic uint64_t written;
    _Alignas(128) _Atomic uint64_t read;
    _Alignas(128) uint8_t bytes[FLOOR_RING_BYTES];
};

static inline uint64_t floor_ring_part(uint64_t at, uint64_t there, uint64_t bytes)
{
    uint64_t straight = FLOOR_RING_BYTES - at % FLOOR_RING_BYTES;
    uint64_t part = there < bytes ? there : bytes;
    part = part < straight ? part : straight;
    return part < 65536 ? part : 65536;
}

static inline void floor_ring_send(struct floor_ring *ring, const uint8_t *from, uint64_t bytes)
{
    uint64_t at = atomic_load_explicit(&ring->written, memory_order_relaxed);
    while (bytes != 0) {
        uint64_t room =
            FLOOR_RING_BYTES - (at - atomic_load_explicit(&ring->read, memory_order_acquire));
        uint64_t part = floor_ring_part(at, room, bytes);
        if (part == 0) {
            _mm_pause();
            continue;
        }
        memcpy(ring->bytes + at % FLOOR_RING_BYTES, from, part);
        at += part;
        from += part;
        bytes -= part;
        atomic_store_explicit(&ring->written, at, memory_order_release);
    }
}

/* Some bytes, at least one. */
static inline uint64_t floor_ring_receive(struct floor_ring *ring, uint8_t *to, uint64_t bytes)
{
    uint64_t at = atomic_load_explicit(&ring->read, memory_order_relaxed), part;
    while ((part = floor_ring_part(
                at, atomic_load_explicit(&ring->written, memory_order_acquire) - at, bytes)) == 0) {
        _mm_pause();
    }
    memcpy(to, ring->bytes + at % FLOOR_RING_BYTES, part);
    atomic_store_explicit(&ring->read, at + part, memory_order_release);
    return part;
}

#endif
