/* When packing wins, and LZ4. */
#include "transport/compress.h"

#include <lz4.h>
#include <stdlib.h>

#include "base/clock.h"
#include "transport/socket.h"
#include "transport/transport.h"

#define SAMPLE_LEAST_NS (500 * GA_NS_PER_US) /* less says nothing about a wire */
#define WIRE_SLOW_PS    1000u                /* a byte; on a faster wire nothing is tried */
#define SHARE_ONE       1024u
#define SKIP_MOST       256u                 /* pieces: 64 MiB */
#define SURE_BYTES      (UINT64_C(16) << 20) /* what sockets may hold: then they are full again */
#define HASTE           2 /* LZ4's acceleration: a little faster than it is by itself */

/* A quarter of what is new. */
static uint64_t learn(uint64_t known, uint64_t now)
{
    return known == 0 ? now : known - known / 4 + now / 4;
}

void pack_full(struct pack *pack, uint64_t now_ns)
{
    uint64_t ns = now_ns - pack->full_ns;
    if (pack->full && (ns < SAMPLE_LEAST_NS || pack->taken_bytes == 0)) {
        return; /* the sample goes on */
    }
    if (pack->full) {
        pack->wire_ps = learn(pack->wire_ps, ns * 1000 / pack->taken_bytes + 1);
        pack->sure_bytes = SURE_BYTES;
    }
    pack->full = true;
    pack->full_ns = now_ns;
    pack->taken_bytes = 0;
}

bool pack_wanted(struct pack *pack)
{
    if (pack->mode != PACK_AUTO) {
        return pack->mode == PACK_ALWAYS;
    }
    if ((!pack->full && pack->sure_bytes == 0) || pack->wire_ps < WIRE_SLOW_PS) {
        return false;
    }
    if (pack->skip != 0) {
        pack->skip--;
        return false;
    }
    return true;
}

void pack_tried(struct pack *pack, uint64_t plain_bytes, uint64_t packed_bytes, uint64_t took_ns)
{
    uint64_t left = packed_bytes != 0 ? packed_bytes : plain_bytes;
    pack->work_ps = learn(pack->work_ps, took_ns * 1000 / plain_bytes + 1);
    pack->left_share = learn(pack->left_share, left * SHARE_ONE / plain_bytes);
    if (packed_bytes != 0) {
        pack->plain_bytes += plain_bytes;
        pack->packed_bytes += packed_bytes;
    }
    uint64_t saved_ps = pack->wire_ps * (SHARE_ONE - pack->left_share) / SHARE_ONE;
    if (packed_bytes != 0 && pack->work_ps < saved_ps) {
        pack->next_skip = 0;
        return;
    }
    pack->next_skip = pack->next_skip == 0 ? 2 : pack->next_skip * 2;
    pack->next_skip = pack->next_skip < SKIP_MOST ? pack->next_skip : SKIP_MOST;
    pack->skip = pack->next_skip;
}

size_t pack_close(const void *from, size_t bytes, void *to)
{
    int packed = LZ4_compress_fast(from, to, (int)bytes, (int)pack_room(bytes), HASTE);
    return packed > 0 ? (size_t)packed : 0;
}

size_t pack_piece(struct pack *pack, const void *from, size_t bytes, void *to)
{
    uint64_t start = ga_clock_ns();
    size_t packed = pack_close(from, bytes, to);
    pack_tried(pack, bytes, packed, ga_clock_ns() - start);
    return packed;
}

enum ga_status pack_open(const void *from, size_t packed, void *to, size_t bytes)
{
    if (packed == 0 || packed >= bytes || bytes > LZ4_MAX_INPUT_SIZE) {
        return GA_INVALID;
    }
    int got = LZ4_decompress_safe(from, to, (int)packed, (int)bytes);
    return got >= 0 && (size_t)got == bytes ? GA_OK : GA_INVALID;
}

bool pack_is_near(const struct transport_conn *conn)
{
    bool here;
    return socket_is_here(conn->fd, &here) != GA_OK || here;
}
