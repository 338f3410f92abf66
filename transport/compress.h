/* Packing of bulk bytes (LZ4), where the wire is slower than that.
 *
 * A sender tells when the socket is full and what it takes; from that comes what a byte costs on
 * this wire, and from packing what that costs and saves here. A piece is packed only where that
 * wins, while the socket is full or has been not long ago; bytes that do not get smaller are tried
 * more and more seldom.
 * Nothing here is atomic: a struct pack is under its owner's lock. */
#ifndef TRANSPORT_COMPRESS_H
#define TRANSPORT_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct transport_conn;

enum pack_mode {
    PACK_OFF,
    PACK_AUTO,
    PACK_ALWAYS, /* whatever it costs; for tests */
};

struct pack {
    enum pack_mode mode;
    bool full; /* the socket is full, since then, and has taken so much: */
    uint64_t full_ns, taken_bytes;
    uint64_t sure_bytes;       /* after that many nobody knows any more what the wire is like */
    uint64_t wire_ps, work_ps; /* picoseconds: of a byte on the wire; to pack one. 0: unknown */
    uint64_t left_share;       /* of 1024: what is left of a byte */
    unsigned skip, next_skip;  /* pieces that are not even tried; as many the next time */
    uint64_t plain_bytes, packed_bytes; /* packed so far, and what was left of them */
};

/* ---- what the sender sees */
void pack_full(struct pack *pack, uint64_t now_ns);
static inline void pack_took(struct pack *pack, uint64_t bytes)
{
    pack->taken_bytes += bytes;
    pack->sure_bytes -= bytes < pack->sure_bytes ? bytes : pack->sure_bytes;
}
/* Nothing waits any more. */
static inline void pack_emptied(struct pack *pack)
{
    pack->full = false;
}

/* Whether to try the next piece. */
bool pack_wanted(struct pack *pack);
/* A piece has been tried: packed_bytes 0: it did not get smaller. */
void pack_tried(struct pack *pack, uint64_t plain_bytes, uint64_t packed_bytes, uint64_t took_ns);

/* ---- the bytes */
/* Room for what packing `bytes` may need; less than they are. */
static inline size_t pack_room(size_t bytes)
{
    return bytes - bytes / 8;
}
/* Packs into pack_room(bytes) bytes; how many they have become. 0: they do not fit. */
size_t pack_close(const void *from, size_t bytes, void *to);
/* The same in time that `pack` learns of. */
size_t pack_piece(struct pack *pack, const void *from, size_t bytes, void *to);
/* The inverse; `from` is of a peer. GA_INVALID unless exactly `bytes` come out. Writes nothing
 * beyond them. */
GA_CHECKED enum ga_status pack_open(const void *from, size_t packed, void *to, size_t bytes);

/* Whether both ends are on this machine, so that nothing is saved. */
bool pack_is_near(const struct transport_conn *conn);

#endif
