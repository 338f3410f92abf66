/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a connection for the rooms above. */
#include <stdlib.h>

#include "client/conn/conn_internal.h"

const char *client_conn_name(const struct client_conn *conn)
{
    return conn->name;
}

const char *client_conn_address(const struct client_conn *conn)
{
    return conn->address;
}

const void *client_conn_owner(const struct client_conn *conn)
{
    return conn->owner;
}

const char *client_conn_scheme(const struct client_conn *conn)
{
    return conn->data.ops->scheme;
}

struct transport_conn *client_conn_transport(const struct client_conn *conn)
{
    return (struct transport_conn *)(uintptr_t)&conn->data;
}

bool client_conn_takes_fds(const struct client_conn *conn)
{
    return conn->data.ops->send_fd != NULL;
}

pthread_mutex_t *client_conn_mirrors_lock(struct client_conn *conn)
{
    return &conn->mirrors_lock;
}

void client_conn_hush(struct client_conn *conn)
{
    atomic_store(&conn->quiet, true);
}

enum ga_status client_conn_side_send(struct client_conn *conn, uint16_t opcode, uint64_t sequence,
                                     const void *values, size_t size)
{
    return transport_side_send(&conn->side, opcode, sequence, values, size);
}

bool client_conn_trim_begin(struct client_conn *conn)
{
    return !atomic_exchange(&conn->trimming, true);
}

void client_conn_trim_end(struct client_conn *conn)
{
    atomic_store(&conn->trimming, false);
}

struct client_conn_counts client_conn_counts(const struct client_conn *conn)
{
    return (struct client_conn_counts){.bytes_out = conn->bytes_out + conn->shared_out,
                                       .bytes_in = conn->bytes_in + conn->shared_in,
                                       .waits = conn->waits,
                                       .waited_ns = conn->waited_ns,
                                       .plain_out = conn->compression.plain_bytes,
                                       .compressed_out = conn->compression.compressed_bytes,
                                       .plain_in = conn->decompressed_bytes,
                                       .compressed_in = conn->decompressed_from};
}

void client_conn_count_shared(struct client_conn *conn, uint64_t bytes, bool out)
{
    atomic_fetch_add_explicit(out ? &conn->shared_out : &conn->shared_in, bytes,
                              memory_order_relaxed);
}

uint64_t client_conn_next(const struct client_conn *conn)
{
    return conn->sequence + 1;
}

bool client_conn_unwaited(const struct client_conn *conn)
{
    return atomic_load(&conn->unwaited) != 0;
}

bool client_conn_compresses(const struct client_conn *conn)
{
    return conn->compression.mode != COMPRESSION_OFF;
}

struct compression *client_conn_compression(struct client_conn *conn)
{
    return &conn->compression;
}

uint8_t *client_conn_gather_room(struct client_conn *conn)
{
    if (conn->gathered == NULL) {
        conn->gathered = malloc(WIRE_CHUNK);
    }
    return conn->gathered;
}
