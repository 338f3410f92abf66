/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of bulk bytes (LZ4), where the wire is slower than that.
 *
 * The sender reports when the socket is full and how much it takes: this gives the cost of a byte
 * on the wire. Compressing gives its own cost and what it saves. A piece is compressed only where
 * that wins, while the socket is full or has been not long ago; bytes that do not get smaller are
 * tried more and more seldom. Nothing here is atomic: a struct compression is under its owner's
 * lock. */
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
    bool full; /* the socket is full, since then, and has taken so much: */
    uint64_t full_ns, taken_bytes;
    uint64_t sure_bytes;       /* after that many nobody knows any more what the wire is like */
    uint64_t wire_ps, work_ps; /* picoseconds: of a byte on the wire; to compress one. 0: unknown */
    uint64_t left_share;       /* of 1024: what is left of a byte */
    unsigned skip, next_skip;  /* pieces that are not even tried; as many the next time */
    uint64_t plain_bytes, compressed_bytes; /* compressed so far, and what was left of them */
};

/* ---- what the sender sees */
void compression_full(struct compression *compression, uint64_t now_ns);
static inline void compression_took(struct compression *compression, uint64_t bytes)
{
    compression->taken_bytes += bytes;
    compression->sure_bytes -= bytes < compression->sure_bytes ? bytes : compression->sure_bytes;
}
/* Nothing waits any more. */
static inline void compression_emptied(struct compression *compression)
{
    compression->full = false;
}

/* Whether to try the next piece. */
bool compression_wanted(struct compression *compression);
/* A piece has been tried: compressed_bytes 0: it did not get smaller. */
void compression_tried(struct compression *compression, uint64_t plain_bytes,
                       uint64_t compressed_bytes, uint64_t took_ns);

/* ---- the bytes */
/* Room for what compressing `bytes` may need; less than they are. */
static inline size_t compression_room(size_t bytes)
{
    return bytes - bytes / 8;
}
/* Compresses into compression_room(bytes) bytes; how many they have become. 0: they do not fit. */
size_t compress(const void *from, size_t bytes, void *to);
/* Compresses, and tells `compression` how long that took. */
size_t compress_piece(struct compression *compression, const void *from, size_t bytes, void *to);
/* The inverse; `from` is of a peer. GA_INVALID unless exactly `bytes` come out. Writes nothing
 * beyond them. */
GA_CHECKED enum ga_status decompress(const void *from, size_t compressed, void *to, size_t bytes);

/* Whether both ends are on this machine, so that nothing is saved. */
bool compression_is_near(const struct transport_conn *conn);

#endif
