/* SPDX-License-Identifier: Apache-2.0 */
/* The transports of a tape: their common part, which replaces the other transports. */
#include "tests/fuzz/tape_conn.h"

#include "tests/fuzz/input.h"

pthread_mutex_t tape_lock = PTHREAD_MUTEX_INITIALIZER;
struct tape_conn *tape_conns[TAPE_CONNS_MAX];
unsigned tape_conn_count;
static unsigned bulk_count;

const uint8_t *tape_split(struct tape_splitter *splitter, struct wire_header *header)
{
    const uint8_t *at = splitter->bytes.at + splitter->done;
    size_t left = splitter->bytes.size - splitter->done;
    if (left >= sizeof *header) {
        memcpy(header, at, sizeof *header);
        if (left - sizeof *header >= header->length) {
            splitter->done += sizeof *header + header->length;
            return at + sizeof *header;
        }
    }
    if (splitter->done != 0) {
        memmove(splitter->bytes.at, at, left);
        splitter->bytes.size = left;
        splitter->done = 0;
    }
    return NULL;
}

void tape_learn(struct tape_conn *conn, const struct wire_header *header, const uint8_t *values)
{
    uint32_t kind;
    if (conn->kind != TAPE_UNKNOWN) {
        return;
    }
    if (header->opcode != WIRE_DATA_HELLO) {
        conn->kind = TAPE_CONTROL;
        return;
    }
    memcpy(&kind, values + 12, sizeof kind);
    conn->kind = kind == 0 ? TAPE_DATA : kind == 1 ? TAPE_SIDE : TAPE_BULK;
    if (conn->kind == TAPE_BULK) {
        conn->bulk = bulk_count++ % TAPE_BULKS;
    }
}

struct tape_conn *tape_conn_new(void)
{
    struct tape_conn *conn = calloc(1, sizeof *conn);
    FUZZ_CHECK(conn != NULL && tape_conn_count < TAPE_CONNS_MAX);
    conn->kind = TAPE_UNKNOWN;
    pthread_mutex_lock(&tape_lock);
    conn->number = tape_conn_count;
    tape_conns[tape_conn_count++] = conn;
    pthread_mutex_unlock(&tape_lock);
    return conn;
}

enum ga_status __real_transport_address_parse(const char *text, const char *default_port,
                                              struct transport_address *out, char *why,
                                              size_t why_size);
enum ga_status __wrap_transport_address_parse(const char *text, const char *default_port,
                                              struct transport_address *out, char *why,
                                              size_t why_size);

enum ga_status __wrap_transport_address_parse(const char *text, const char *default_port,
                                              struct transport_address *out, char *why,
                                              size_t why_size)
{
    GA_TRY(__real_transport_address_parse(text, default_port, out, why, why_size));
    out->inner = out->ops;
    out->ops = tape_recorded != NULL ? &tape_record_ops : &tape_play_ops;
    return GA_OK;
}
