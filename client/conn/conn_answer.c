/* What an answer does: it completes a call, tells a late error or a fault, is what kernels have
 * printed, or a piece of a copy to the host. Only who has the reader role is here (see
 * conn_receive.c), and nothing here waits: a piece that has come in part goes on with the next
 * call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "client/stream/host_function.h"
#include "client/conn/conn.h"
#include "front/front.h"

static int32_t result_read(const uint8_t *values)
{
    int32_t number;
    memcpy(&number, values, sizeof number);
    return (int32_t)front_result_of(number);
}

/* A copy to the host whose answer is good has all its bytes. */
static bool lacks_bytes(const struct link_record *record, int32_t result)
{
    const struct link_want *want = &record->want;
    return result == 0 && want->to != NULL && !want->shared && record->came != want->bytes;
}

static enum ga_status take_reply(struct client_link *link, const struct wire_header *header,
                                 const uint8_t *values)
{
    int32_t result = 0;
    if (header->opcode == WIRE_REPLY || header->opcode == WIRE_DONE) {
        if (header->length < 8) {
            return GA_INVALID;
        }
        result = result_read(values);
    }
    pthread_mutex_lock(&link->read_lock);
    struct link_record *record = link_table_find(link, header->sequence);
    if (record == NULL || lacks_bytes(record, result)) {
        pthread_mutex_unlock(&link->read_lock);
        return GA_INVALID;
    }
    bool watch = record->want.watched != NULL;
    if (record->want.host != NULL && header->opcode != WIRE_DONE) {
        pthread_mutex_unlock(&link->read_lock);
        return GA_INVALID;
    }
    if (header->opcode == WIRE_DONE) {
        if (watch) {
            client_link_raise(record->want.watched, record->want.watch_value);
        }
        if (record->want.host != NULL) {
            uint32_t ticket;
            memcpy(&ticket, values + 4, sizeof ticket);
            client_host_call_due(record->want.host, result, ticket);
        }
        link_complete(link, record, header->opcode, result);
        pthread_mutex_unlock(&link->read_lock);
        return GA_OK;
    }
    if (header->length > LINK_INLINE) {
        record->results = malloc(header->length);
    }
    if (header->length <= LINK_INLINE || record->results != NULL) {
        record->results_size = header->length;
        memcpy(record->results != NULL ? record->results : record->small, values, header->length);
    } else {
        result = 2;
    }
    if (watch && result == 0 && header->opcode == WIRE_REPLY) {
        client_link_raise(record->want.watched, record->want.watch_value);
    }
    if (watch && result == 600) {
        /* "Not ready": the call is answered, the watch stays under the same number. */
        struct link_record *later = link_table_add(link, header->sequence);
        if (later != NULL) {
            later->want = record->want;
            atomic_fetch_add(&link->unwaited, 1);
        }
    }
    uint64_t context = record->want.context;
    bool late = !record->waited && result != 0;
    link_complete(link, record, header->opcode, result);
    pthread_mutex_unlock(&link->read_lock);
    if (late && link->on_error != NULL) {
        link->on_error(context, result, header->opcode);
    }
    return GA_OK;
}

static enum ga_status take_error(struct client_link *link, const struct wire_header *header,
                                 const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    int32_t result = (int32_t)front_result_of(ga_read_i32(&r));
    uint32_t opcode = ga_read_u32(&r);
    uint64_t context = ga_read_u64(&r);
    if (r.failed) {
        return GA_INVALID;
    }
    if (link->on_error != NULL && result != 0) {
        context = context != 0 ? context : link_context_of(link, header->sequence);
        link->on_error(context, result, (uint16_t)opcode);
    }
    return GA_OK;
}

static enum ga_status take_fault(struct client_link *link, const struct wire_header *header,
                                 const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    int32_t result = (int32_t)front_result_of(ga_read_i32(&r));
    const char *text = ga_read_string(&r, 4096);
    if (r.failed || result == 0) {
        return GA_INVALID;
    }
    client_link_condemn(link, result, text != NULL ? text : "the GPU reported a fault");
    return GA_LOST;
}

/* It is written by who waits for an answer behind it. */
static enum ga_status take_output(const struct wire_header *header, const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    struct front_record record = {.to = ga_read_u32(&r)};
    record.bytes = ga_read_u32(&r);
    const void *text = ga_read_array(&r, record.bytes, 1, 1);
    if (!ga_reader_done(&r) || record.bytes == 0 ||
        (record.to != FRONT_OUTPUT_STDOUT && record.to != FRONT_OUTPUT_STDERR)) {
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

/* The bytes of the next frame come over a bulk connection, or packed. */
static enum ga_status take_prefix(struct client_link *link, const struct wire_header *header,
                                  const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    uint32_t connection = ga_read_u32(&r), packed = ga_read_u32(&r);
    bool good = connection <= client_link_bulks(link) && packed < WIRE_CHUNK &&
                (packed == 0 || link->pack.mode != PACK_OFF) && (connection != 0 || packed != 0);
    if (r.failed || link->bulk_next != 0 || link->packed_next != 0 || !good) {
        return GA_INVALID;
    }
    link->bulk_next = connection;
    link->packed_next = packed;
    return GA_OK;
}

/* The current frame is done with. */
static void drop(struct client_link *link)
{
    struct wire_header header;
    if (frame_header(&link->reader, &header) == GA_OK) {
        client_link_count(&link->bytes_in, sizeof header + header.length);
        frame_drop(&link->reader);
    }
}

static enum ga_status take_frame(struct client_link *link)
{
    struct wire_header header;
    const uint8_t *values;
    GA_TRY(frame_next(&link->reader, &header, &values));
    (void)GA_FAILPOINT("client: answer read");
    enum ga_status status;
    switch (header.opcode) {
    case WIRE_REPLY:
    case WIRE_DONE:
    case WIRE_DATA_WELCOME:
    case WIRE_REFUSED:
        status = take_reply(link, &header, values);
        break;
    case WIRE_ERROR:
        status = take_error(link, &header, values);
        break;
    case WIRE_FAULT:
        status = take_fault(link, &header, values);
        break;
    case WIRE_OUTPUT:
        status = take_output(&header, values);
        break;
    case WIRE_BULK:
        status = take_prefix(link, &header, values);
        break;
    default:
        status = GA_INVALID;
    }
    drop(link);
    return status;
}

/* ---- chunks of a copy to the host */

static enum ga_status chunk_begin(struct client_link *link)
{
    struct wire_header header;
    const uint8_t *values;
    GA_TRY(frame_values(&link->reader, 16, &header, &values));
    uint64_t offset, bytes;
    memcpy(&offset, values, sizeof offset);
    memcpy(&bytes, values + 8, sizeof bytes);
    pthread_mutex_lock(&link->read_lock);
    struct link_record *record = link_table_find(link, header.sequence);
    pthread_mutex_unlock(&link->read_lock);
    uint64_t here = link->bulk_next != 0 ? 0 : link->packed_next != 0 ? link->packed_next : bytes;
    if (record == NULL || record->want.to == NULL || record->want.shared || bytes > WIRE_CHUNK ||
        bytes == 0 || header.length != 16 + wire_padded(here) || link->packed_next >= bytes ||
        offset != record->came || bytes > record->want.bytes - offset) {
        return GA_INVALID;
    }
    if (link->packed_next != 0 && link->packed == NULL) {
        link->packed = malloc(WIRE_CHUNK);
        if (link->packed == NULL) {
            return GA_NO_MEMORY;
        }
    }
    if (record->want.pitch != record->want.width && link->bounce == NULL) {
        link->bounce = malloc(WIRE_CHUNK);
        if (link->bounce == NULL) {
            return GA_NO_MEMORY;
        }
    }
    link->bulk = record;
    link->bulk_at = offset;
    link->bulk_left = link->packed_next != 0 ? link->packed_next : bytes;
    link->bulk_bytes = bytes;
    link->bulk_packed = link->packed_next;
    link->packed_next = 0;
    link->bulk_got = 0;
    link->bulk_apart = link->bulk_next;
    link->bulk_next = 0;
    atomic_store(&link->awaited, link->bulk_apart);
    return GA_OK;
}

static void scatter_rows(const struct link_record *record, uint64_t at, uint64_t bytes,
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

static enum ga_status chunk_receive(struct client_link *link, void *to, size_t size, size_t *got)
{
    if (link->bulk_apart == 0) {
        return frame_bulk(&link->reader, &link->data, 16, to, size, got);
    }
    struct transport_conn *from = link_awaited(link);
    GA_TRY(from->ops->receive(from, to, size, got));
    client_link_count(&link->bytes_in, *got);
    return GA_OK;
}

static enum ga_status chunk_read(struct client_link *link)
{
    struct link_record *record = link->bulk;
    bool rows = record->want.pitch != record->want.width;
    /* Rows are gathered in the bounce buffer until the chunk is whole. */
    uint8_t *plain = rows ? link->bounce : record->want.to + link->bulk_at;
    while (link->bulk_left != 0) {
        uint8_t *to = link->bulk_packed != 0 ? link->packed : plain;
        size_t got;
        GA_TRY(chunk_receive(link, to + link->bulk_got, link->bulk_left, &got));
        (void)GA_FAILPOINT("client: piece of bulk read");
        link->bulk_got += got;
        link->bulk_left -= got;
    }
    while (link->bulk_apart == 0 && frame_bulk_left(&link->reader, 16) != 0) {
        uint8_t padding[16];
        size_t got;
        GA_TRY(frame_bulk(&link->reader, &link->data, 16, padding, sizeof padding, &got));
    }
    if (link->bulk_packed != 0) {
        GA_TRY(pack_open(link->packed, link->bulk_packed, plain, link->bulk_bytes));
        client_link_count(&link->unpacked_bytes, link->bulk_bytes);
        client_link_count(&link->unpacked_from, link->bulk_packed);
    }
    if (rows) {
        scatter_rows(record, link->bulk_at, link->bulk_bytes, link->bounce);
    }
    record->came += link->bulk_bytes;
    atomic_store(&link->awaited, 0);
    link->bulk = NULL;
    drop(link);
    return GA_OK;
}

/* ---- either */

enum ga_status link_answer_take(struct client_link *link)
{
    if (link->bulk != NULL) {
        return chunk_read(link);
    }
    struct wire_header header;
    GA_TRY(frame_header(&link->reader, &header));
    if (header.opcode != WIRE_DATA && (link->bulk_next != 0 || link->packed_next != 0)) {
        return GA_INVALID;
    }
    return header.opcode == WIRE_DATA ? chunk_begin(link) : take_frame(link);
}
