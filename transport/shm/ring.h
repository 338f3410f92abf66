/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of bytes in memory that two processes share: one writes, the other reads, and neither
 * makes a system call. A side that goes to sleep sets a flag in the memory, so that the other side
 * wakes it (rings its doorbell).
 *
 * The other process may be hostile. This end uses only two counters that the other process
 * writes, and only within the bounds of the ring. Its own position is in its own memory, and
 * bytes that it reads are copied out. */
#ifndef TRANSPORT_SHM_RING_H
#define TRANSPORT_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/status.h"

#define RING_BYTES (512u << 10) /* both directions fit into a second-level cache */

struct ring {
    _Alignas(128) _Atomic uint64_t written; /* bytes since the beginning; the writer's */
    _Atomic uint32_t reader_sleeps;         /* the writer clears it, and wakes the reader */
    _Alignas(128) _Atomic uint64_t read;    /* the reader's */
    _Atomic uint32_t writer_sleeps;
    _Alignas(128) uint8_t bytes[RING_BYTES];
};

struct ring_end { /* one side of a ring */
    struct ring *ring;
    _Atomic uint64_t at; /* bytes that this side has written, or read */
    uint64_t other;      /* the other side's counter, as last read */
};

/* Writes as much as there is room for: GA_OK with *sent > 0. GA_AGAIN: the ring is full.
 * GA_LOST: the other side's counter is invalid. `*wake`: the reader sleeps. */
GA_CHECKED enum ga_status ring_write(struct ring_end *end, const struct iovec *pieces, int count,
                                     size_t *sent, bool *wake);
/* Reads up to `size` bytes: GA_OK with *got > 0. GA_AGAIN: the ring is empty. GA_LOST: the other
 * side's counter is invalid. `*wake`: the writer sleeps, and enough room is free again. */
GA_CHECKED enum ga_status ring_read(struct ring_end *end, void *to, size_t size, size_t *got,
                                    bool *wake);
/* To be called before a thread of the reader's or the writer's side goes to sleep; any thread.
 * False: there is something to do. */
bool ring_reader_sleeps(struct ring_end *end);
bool ring_writer_sleeps(struct ring_end *end);

/* Frees the memory of an empty ring until the next bytes are written. Only the writer calls it. */
bool ring_idle(struct ring_end *end);

#endif
