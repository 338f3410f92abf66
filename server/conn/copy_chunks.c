/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of copies to the host leave: as frames, or into memory of the client that the network card
 * reaches. Each takes the lease of its slot along. */
#include "server/conn/copy_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"

/* Not into another slot: where the wire is slow, all of them wait for it. */
static void data_compress(struct completer *completer, struct send_queue_frame *frame)
{
    struct send_queue *out = &completer->conn->out;
    uint32_t bytes = frame->bulk_bytes - frame->padding;
    if (!send_queue_compression_wanted(out, bytes)) {
        return;
    }
    if (completer->compressed == NULL) {
        completer->compressed = malloc(compression_room(WIRE_CHUNK));
        if (completer->compressed == NULL) {
            return;
        }
    }
    uint64_t start = ga_clock_ns();
    size_t compressed = compress(frame->bulk, bytes, completer->compressed);
    send_queue_compression_tried(out, bytes, compressed, ga_clock_ns() - start);
    if (compressed != 0) {
        memcpy(frame->bulk, completer->compressed, compressed);
        send_queue_frame_compressed(frame, (uint32_t)compressed);
    }
}

/* WIRE_CHUNK at most. Takes a lease of the slot. */
static void chunk_send(struct completer *completer, struct ga_pool *frames,
                       const struct completer_entry *entry, uint32_t at, uint32_t bytes)
{
    struct server_conn *conn = completer->conn;
    struct send_queue_frame *frame =
        send_queue_frame_make(frames, 16, WIRE_DATA, entry->session, entry->sequence);
    if (frame == NULL) {
        server_fail(conn->app, "no memory for a reply");
        staging_give(&conn->staging, entry->slot);
        return;
    }
    ga_write_u64(&frame->writer, entry->offset + at);
    ga_write_u64(&frame->writer, bytes);
    frame->bulk = entry->bulk + at;
    frame->bulk_bytes = wire_padded(bytes);
    for (uint32_t i = bytes; i < frame->bulk_bytes; i++) {
        frame->bulk[i] = 0; /* padding must not show what was there before */
    }
    frame->padding = frame->bulk_bytes - bytes;
    frame->slot = entry->slot;
    data_compress(completer, frame);
    send_queue_append(&conn->out, frame);
}

void copy_chunk_send(struct completer *completer, struct ga_pool *frames,
                     const struct completer_entry *entry)
{
    struct staging *staging = &completer->conn->staging;
    if (entry->rc == CUDA_SUCCESS) {
        uint32_t at = 0;
        for (; entry->bytes - at > WIRE_CHUNK; at += WIRE_CHUNK) {
            staging_share(staging, entry->slot);
            chunk_send(completer, frames, entry, at, WIRE_CHUNK);
        }
        chunk_send(completer, frames, entry, at, entry->bytes - at);
    } else {
        staging_give(staging, entry->slot);
    }
}

void copy_chunk_store(struct completer *completer, struct ga_pool *frames,
                      const struct completer_entry *entry)
{
    struct server_conn *conn = completer->conn;
    struct send_queue_frame *store = NULL;
    if (entry->rc == CUDA_SUCCESS) {
        store = send_queue_frame_make(frames, 0, 0, entry->session, entry->sequence);
        if (store == NULL) {
            server_fail(conn->app, "no memory for a copy");
        }
    }
    if (store == NULL) {
        staging_give(&conn->staging, entry->slot);
    } else {
        store->slot = entry->slot;
        store->bulk = entry->bulk;
        store->bulk_bytes = entry->bytes;
        store->address = entry->piece->address + entry->offset;
        store->key = entry->piece->key;
        send_queue_store(&conn->out, store);
    }
}
