/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of bulk bytes (LZ4), if the wire is slower than the compression.
 *
 * The sender reports when the socket is full and how much it takes; this gives the cost of a
 * byte on the wire. Compressing a piece gives its own cost and its savings. A piece is
 * compressed only if that is faster, while the socket is full or has been recently; bytes that
 * do not shrink are tried more and more rarely. Nothing here is atomic: the owner locks a struct
 * compression. */
#ifndef TRANSPORT_COMPRESS_H
#define TRANSPORT_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct transport_conn;

enum compression_mode {
    COMPRESSION_OFF,
    COMPRESSION_AUTO,
    COMPRESSION_ALWAYS, /* whatever it costs; for tests */
};

struct compression {
    enum compression_mode mode;
    bool full; /* the socket is full: since when, and how much it has taken since */
    uint64_t full_ns, taken_bytes;
    uint64_t sure_bytes;       /* bytes after which the measurement of the wire is out of date */
    uint64_t wire_ps, work_ps; /* picoseconds per byte: on the wire, to compress. 0: unknown */
    uint64_t left_share;       /* compressed size, in 1024ths */
    unsigned skip, next_skip;  /* pieces to skip; pieces to skip the next time */
    uint64_t plain_bytes, compressed_bytes; /* bytes compressed so far: before, after */
};

/* ---- events of the sender */
void compression_full(struct compression *compression, uint64_t now_ns);
static inline void compression_took(struct compression *compression, uint64_t bytes)
{
    compression->taken_bytes += bytes;
    compression->sure_bytes -= bytes < compression->sure_bytes ? bytes : compression->sure_bytes;
}
/* Nothing waits for the socket any more. */
static inline void compression_emptied(struct compression *compression)
{
    compression->full = false;
}

/* Whether to try the next piece. */
bool compression_wanted(struct compression *compression);
/* The result of compressing a piece; compressed_bytes 0: it did not shrink. */
void compression_tried(struct compression *compression, uint64_t plain_bytes,
                       uint64_t compressed_bytes, uint64_t took_ns);

/* ---- the bytes */
/* The room for compressing `bytes`; smaller than `bytes`. */
static inline size_t compression_room(size_t bytes)
{
    return bytes - bytes / 8;
}
/* Compresses into compression_room(bytes) bytes. Returns the compressed size. 0: it does not
 * fit. */
size_t compress(const void *from, size_t bytes, void *to);
/* Compresses, and updates `compression` with the time it took. */
size_t compress_piece(struct compression *compression, const void *from, size_t bytes, void *to);
/* Decompresses bytes of a peer. GA_INVALID unless the result is exactly `bytes` long. Never
 * writes beyond that. */
GA_CHECKED enum ga_status decompress(const void *from, size_t compressed, void *to, size_t bytes);

/* Whether both ends are on this machine, where compression saves nothing. */
bool compression_is_near(const struct transport_conn *conn);

#endif
