/* SPDX-License-Identifier: Apache-2.0 */
/* Processing answers: an answer completes a call, reports a late error or a fault, or carries
 * kernel output or a chunk of a copy to the host. Only the leader, which has the reader role, runs
 * this code (see conn_receive.c), and nothing here waits: a chunk that has arrived in part is
 * continued by the next call. */
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/log.h"
#include "client/conn/conn_internal.h"
#include "front/front.h"

static int32_t result_read(const uint8_t *values)
{
    int32_t number;
    memcpy(&number, values, sizeof number);
    return (int32_t)front_result_of(number);
}

/* Checks that a copy to the host whose answer is a success has all its bytes. */
static bool lacks_bytes(const struct pending_reply *record, int32_t result)
{
    const struct reply_action *want = &record->want;
    return result == 0 && want->to != NULL && !want->shared && record->came != want->bytes;
}

static enum ga_status take_reply(struct client_conn *conn, const struct wire_header *header,
                                 const uint8_t *values)
{
    int32_t result = 0;
    if (header->opcode == WIRE_REPLY || header->opcode == WIRE_DONE) {
        if (header->length < 8) {
            return GA_INVALID;
        }
        result = result_read(values);
    }
    pthread_mutex_lock(&conn->read_lock);
    struct pending_reply *record = conn_table_find(conn, header->sequence);
    if (record == NULL || lacks_bytes(record, result)) {
        pthread_mutex_unlock(&conn->read_lock);
        return GA_INVALID;
    }
    bool watch = record->want.watched != NULL;
    if (record->want.host != NULL && header->opcode != WIRE_DONE) {
        pthread_mutex_unlock(&conn->read_lock);
        return GA_INVALID;
    }
    if (header->opcode == WIRE_DONE) {
        if (watch) {
            client_conn_raise(record->want.watched, record->want.watch_value);
        }
        if (record->want.host != NULL) {
            uint32_t id;
            memcpy(&id, values + 4, sizeof id);
            conn->hooks->host_due(record->want.host, result, id);
        }
        conn_complete(conn, record, header->opcode, result);
        pthread_mutex_unlock(&conn->read_lock);
        return GA_OK;
    }
    if (header->length > CONN_INLINE) {
        record->results = malloc(header->length);
    }
    if (header->length <= CONN_INLINE || record->results != NULL) {
        record->results_size = header->length;
        memcpy(record->results != NULL ? record->results : record->small, values, header->length);
    } else {
        result = 2;
    }
    if (watch && result == 0 && header->opcode == WIRE_REPLY) {
        client_conn_raise(record->want.watched, record->want.watch_value);
    }
    if (watch && result == 600) {
        /* "Not ready": the call is answered, the watch stays under the same number. */
        struct pending_reply *later = conn_table_add(conn, header->sequence);
        if (later != NULL) {
            later->want = record->want;
            atomic_fetch_add(&conn->unwaited, 1);
        }
    }
    uint64_t context = record->want.context;
    bool late = !record->waited && result != 0;
    conn_complete(conn, record, header->opcode, result);
    pthread_mutex_unlock(&conn->read_lock);
    if (late) {
        conn->hooks->failed(context, result, header->opcode);
    }
    return GA_OK;
}

static enum ga_status take_error(struct client_conn *conn, const struct wire_header *header,
                                 const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    int32_t result = (int32_t)front_result_of(ga_read_i32(&r));
    uint32_t opcode = ga_read_u32(&r);
    uint64_t context = ga_read_u64(&r);
    if (r.failed) {
        return GA_INVALID;
    }
    if (result != 0) {
        context = context != 0 ? context : conn_context_of(conn, header->sequence);
        conn->hooks->failed(context, result, (uint16_t)opcode);
    }
    return GA_OK;
}

static enum ga_status take_fault(struct client_conn *conn, const struct wire_header *header,
                                 const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    int32_t result = (int32_t)front_result_of(ga_read_i32(&r));
    const char *text = ga_read_string(&r, 4096);
    if (r.failed || result == 0) {
        return GA_INVALID;
    }
    client_conn_condemn(conn, result, text != NULL ? text : "the GPU reported a fault");
    return GA_LOST;
}

/* Kernel output. The thread that waits for an answer behind it writes it. */
static enum ga_status take_output(const struct wire_header *header, const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    struct front_record record = {.to = ga_read_u32(&r)};
    record.bytes = ga_read_u32(&r);
    const void *text = ga_read_array(&r, record.bytes, 1, 1);
    if (!ga_reader_done(&r) || record.bytes == 0 ||
        (record.to != WIRE_OUTPUT_STDOUT && record.to != WIRE_OUTPUT_STDERR)) {
        return GA_INVALID;
    }
    struct front_output *output = front_output_make(sizeof record + record.bytes);
    if (output == NULL) {
        return GA_NO_MEMORY;
    }
    front_output_add(output, &record, text);
    front_output_put(output);
    return GA_OK;
}

/* Also into the log that the program reads (front/core/log.h). */
static enum ga_status notice_take(struct client_conn *conn, const struct wire_header *header,
                                  const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    uint32_t kind = ga_read_u32(&r);
    const char *text = ga_read_string(&r, WIRE_NOTICE_MAX);
    if (!ga_reader_done(&r) || text == NULL) {
        return GA_INVALID;
    }
    if (kind == WIRE_NOTICE_END) {
        client_conn_lose(conn, text);
        return GA_LOST;
    }
    if (!atomic_load(&conn->quiet)) {
        ga_warn("%s: %s", conn->name, text);
    }
    return GA_OK;
}

/* WIRE_BULK: the bytes of the next frame come over a bulk connection, or compressed, or both. */
static enum ga_status take_prefix(struct client_conn *conn, const struct wire_header *header,
                                  const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    uint32_t connection = ga_read_u32(&r), compressed = ga_read_u32(&r);
    bool good = connection <= client_conn_bulks(conn) && compressed < WIRE_CHUNK &&
                (compressed == 0 || conn->compression.mode != COMPRESSION_OFF) &&
                (connection != 0 || compressed != 0);
    if (r.failed || conn->bulk_next != 0 || conn->compressed_next != 0 || !good) {
        return GA_INVALID;
    }
    conn->bulk_next = connection;
    conn->compressed_next = compressed;
    return GA_OK;
}

/* Drops the current frame. */
static void drop(struct client_conn *conn)
{
    struct wire_header header;
    if (frame_header(&conn->reader, &header) == GA_OK) {
        client_conn_count(&conn->bytes_in, sizeof header + header.length);
        frame_drop(&conn->reader);
    }
}

static enum ga_status take_frame(struct client_conn *conn)
{
    struct wire_header header;
    const uint8_t *values;
    GA_TRY(frame_next(&conn->reader, &header, &values));
    (void)GA_FAILPOINT("client: answer read");
    enum ga_status status;
    switch (header.opcode) {
    case WIRE_REPLY:
    case WIRE_DONE:
    case WIRE_DATA_WELCOME:
    case WIRE_REFUSED:
        status = take_reply(conn, &header, values);
        break;
    case WIRE_ERROR:
        status = take_error(conn, &header, values);
        break;
    case WIRE_FAULT:
        status = take_fault(conn, &header, values);
        break;
    case WIRE_OUTPUT:
        status = take_output(&header, values);
        break;
    case WIRE_NOTICE:
        status = notice_take(conn, &header, values);
        break;
    case WIRE_BULK:
        status = take_prefix(conn, &header, values);
        break;
    default:
        status = GA_INVALID;
    }
    drop(conn);
    return status;
}

/* ---- chunks of a copy to the host */

static enum ga_status chunk_begin(struct client_conn *conn)
{
    struct wire_header header;
    const uint8_t *values;
    GA_TRY(frame_values(&conn->reader, 16, &header, &values));
    uint64_t offset, bytes;
    memcpy(&offset, values, sizeof offset);
    memcpy(&bytes, values + 8, sizeof bytes);
    pthread_mutex_lock(&conn->read_lock);
    struct pending_reply *record = conn_table_find(conn, header.sequence);
    pthread_mutex_unlock(&conn->read_lock);
    uint64_t here = conn->bulk_next != 0         ? 0
                    : conn->compressed_next != 0 ? conn->compressed_next
                                                 : bytes;
    if (record == NULL || record->want.to == NULL || record->want.shared || bytes > WIRE_CHUNK ||
        bytes == 0 || header.length != 16 + wire_padded(here) || conn->compressed_next >= bytes ||
        offset != record->came || bytes > record->want.bytes - offset) {
        return GA_INVALID;
    }
    if (conn->compressed_next != 0 && conn->compressed == NULL) {
        conn->compressed = malloc(WIRE_CHUNK);
        if (conn->compressed == NULL) {
            return GA_NO_MEMORY;
        }
    }
    if (record->want.pitch != record->want.width && conn->bounce == NULL) {
        conn->bounce = malloc(WIRE_CHUNK);
        if (conn->bounce == NULL) {
            return GA_NO_MEMORY;
        }
    }
    conn->bulk = record;
    conn->bulk_at = offset;
    conn->bulk_left = conn->compressed_next != 0 ? conn->compressed_next : bytes;
    conn->bulk_bytes = bytes;
    conn->bulk_compressed = conn->compressed_next;
    conn->compressed_next = 0;
    conn->bulk_got = 0;
    conn->bulk_conn = conn->bulk_next;
    conn->bulk_next = 0;
    atomic_store(&conn->awaited, conn->bulk_conn);
    return GA_OK;
}

static void scatter_rows(const struct pending_reply *record, uint64_t at, uint64_t bytes,
                         const uint8_t *from)
{
    while (bytes != 0) {
        uint64_t row = at / record->want.width, column = at % record->want.width;
        uint64_t part = record->want.width - column < bytes ? record->want.width - column : bytes;
        memcpy(record->want.to + row * record->want.pitch + column, from, part);
        at += part;
        from += part;
        bytes -= part;
    }
}

static enum ga_status chunk_receive(struct client_conn *conn, void *to, size_t size, size_t *got)
{
    if (conn->bulk_conn == 0) {
        return frame_bulk(&conn->reader, &conn->data, 16, to, size, got);
    }
    struct transport_conn *from = conn_awaited(conn);
    GA_TRY(from->ops->receive(from, to, size, got));
    client_conn_count(&conn->bytes_in, *got);
    return GA_OK;
}

static enum ga_status chunk_read(struct client_conn *conn)
{
    struct pending_reply *record = conn->bulk;
    bool rows = record->want.pitch != record->want.width;
    /* Rows are gathered in the bounce buffer until the chunk is whole. */
    uint8_t *plain = rows ? conn->bounce : record->want.to + conn->bulk_at;
    while (conn->bulk_left != 0) {
        uint8_t *to = conn->bulk_compressed != 0 ? conn->compressed : plain;
        size_t got;
        GA_TRY(chunk_receive(conn, to + conn->bulk_got, conn->bulk_left, &got));
        (void)GA_FAILPOINT("client: piece of bulk read");
        conn->bulk_got += got;
        conn->bulk_left -= got;
    }
    while (conn->bulk_conn == 0 && frame_bulk_left(&conn->reader, 16) != 0) {
        uint8_t padding[16];
        size_t got;
        GA_TRY(frame_bulk(&conn->reader, &conn->data, 16, padding, sizeof padding, &got));
    }
    if (conn->bulk_compressed != 0) {
        GA_TRY(decompress(conn->compressed, conn->bulk_compressed, plain, conn->bulk_bytes));
        client_conn_count(&conn->decompressed_bytes, conn->bulk_bytes);
        client_conn_count(&conn->decompressed_from, conn->bulk_compressed);
    }
    if (rows) {
        scatter_rows(record, conn->bulk_at, conn->bulk_bytes, conn->bounce);
    }
    record->came += conn->bulk_bytes;
    atomic_store(&conn->awaited, 0);
    conn->bulk = NULL;
    drop(conn);
    return GA_OK;
}

/* ---- either */

enum ga_status conn_answer_take(struct client_conn *conn)
{
    if (conn->bulk != NULL) {
        return chunk_read(conn);
    }
    struct wire_header header;
    GA_TRY(frame_header(&conn->reader, &header));
    if (header.opcode != WIRE_DATA && (conn->bulk_next != 0 || conn->compressed_next != 0)) {
        return GA_INVALID;
    }
    return header.opcode == WIRE_DATA ? chunk_begin(conn) : take_frame(conn);
}
