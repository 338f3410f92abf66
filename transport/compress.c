/* SPDX-License-Identifier: Apache-2.0 */
/* The decision whether to compress, and LZ4. */
#include "transport/compress.h"

#include <lz4.h>
#include <stdlib.h>

#include "base/clock.h"
#include "transport/socket.h"
#include "transport/transport.h"

#define SAMPLE_NS_MIN (500 * GA_NS_PER_US) /* shorter samples say nothing about a wire */
#define WIRE_SLOW_PS  1000u /* picoseconds per byte; a faster wire needs no compression */
#define SHARE_ONE     1024u
#define SKIP_MAX      256u                 /* pieces: 64 MiB */
#define SURE_BYTES    (UINT64_C(16) << 20) /* the most that sockets buffer */
#define HASTE         2 /* LZ4's acceleration: a little faster than it is by itself */

/* Moving average: a quarter of the new value. */
static uint64_t learn(uint64_t known, uint64_t now)
{
    return known == 0 ? now : known - known / 4 + now / 4;
}

void compression_full(struct compression *compression, uint64_t now_ns)
{
    uint64_t ns = now_ns - compression->full_ns;
    if (compression->full && (ns < SAMPLE_NS_MIN || compression->taken_bytes == 0)) {
        return; /* the sample goes on */
    }
    if (compression->full) {
        compression->wire_ps =
            learn(compression->wire_ps, ns * 1000 / compression->taken_bytes + 1);
        compression->sure_bytes = SURE_BYTES;
    }
    compression->full = true;
    compression->full_ns = now_ns;
    compression->taken_bytes = 0;
}

bool compression_wanted(struct compression *compression)
{
    if (compression->mode != COMPRESSION_AUTO) {
        return compression->mode == COMPRESSION_ALWAYS;
    }
    if ((!compression->full && compression->sure_bytes == 0) ||
        compression->wire_ps < WIRE_SLOW_PS) {
        return false;
    }
    if (compression->skip != 0) {
        compression->skip--;
        return false;
    }
    return true;
}

void compression_tried(struct compression *compression, uint64_t plain_bytes,
                       uint64_t compressed_bytes, uint64_t took_ns)
{
    uint64_t left = compressed_bytes != 0 ? compressed_bytes : plain_bytes;
    compression->work_ps = learn(compression->work_ps, took_ns * 1000 / plain_bytes + 1);
    compression->left_share = learn(compression->left_share, left * SHARE_ONE / plain_bytes);
    if (compressed_bytes != 0) {
        compression->plain_bytes += plain_bytes;
        compression->compressed_bytes += compressed_bytes;
    }
    uint64_t saved_ps = compression->wire_ps * (SHARE_ONE - compression->left_share) / SHARE_ONE;
    if (compressed_bytes != 0 && compression->work_ps < saved_ps) {
        compression->next_skip = 0;
        return;
    }
    compression->next_skip = compression->next_skip == 0 ? 2 : compression->next_skip * 2;
    compression->next_skip = compression->next_skip < SKIP_MAX ? compression->next_skip : SKIP_MAX;
    compression->skip = compression->next_skip;
}

size_t compress(const void *from, size_t bytes, void *to)
{
    int compressed = LZ4_compress_fast(from, to, (int)bytes, (int)compression_room(bytes), HASTE);
    return compressed > 0 ? (size_t)compressed : 0;
}

size_t compress_piece(struct compression *compression, const void *from, size_t bytes, void *to)
{
    uint64_t start = ga_clock_ns();
    size_t compressed = compress(from, bytes, to);
    compression_tried(compression, bytes, compressed, ga_clock_ns() - start);
    return compressed;
}

enum ga_status decompress(const void *from, size_t compressed, void *to, size_t bytes)
{
    if (compressed == 0 || compressed >= bytes || bytes > LZ4_MAX_INPUT_SIZE) {
        return GA_INVALID;
    }
    int got = LZ4_decompress_safe(from, to, (int)compressed, (int)bytes);
    return got >= 0 && (size_t)got == bytes ? GA_OK : GA_INVALID;
}

bool compression_is_near(const struct transport_conn *conn)
{
    bool here;
    return socket_is_here(conn->fd, &here) != GA_OK || here;
}
