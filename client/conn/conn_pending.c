/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pending replies, by sequence number. Everything here needs read_lock. */
#include "client/conn/conn_internal.h"

#include <stdlib.h>

#define TABLE_SLAB 32u

static struct pending_reply **bucket_of(struct client_conn *conn, uint64_t sequence)
{
    return &conn->buckets[sequence & (CONN_BUCKETS - 1)];
}

struct pending_reply *conn_table_find(struct client_conn *conn, uint64_t sequence)
{
    struct pending_reply *record = *bucket_of(conn, sequence);
    while (record != NULL && record->sequence != sequence) {
        record = record->next;
    }
    return record;
}

void conn_table_remove(struct client_conn *conn, struct pending_reply *record)
{
    struct pending_reply **at = bucket_of(conn, record->sequence);
    while (*at != NULL && *at != record) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = record->next;
        record->next = NULL;
    }
}

/* Records live in slabs that are never freed, so launches and copies cost no malloc. */
static bool table_grow(struct client_conn *conn)
{
    struct pending_reply *slab = calloc(TABLE_SLAB, sizeof *slab);
    if (slab == NULL) {
        return false;
    }
    for (unsigned i = 0; i < TABLE_SLAB; i++) {
        slab[i].next = conn->unused;
        conn->unused = &slab[i];
    }
    return true;
}

struct pending_reply *conn_table_add(struct client_conn *conn, uint64_t sequence)
{
    struct pending_reply *record = atomic_load_explicit(&conn->spare, memory_order_relaxed);
    if (record != NULL) {
        record = atomic_exchange(&conn->spare, NULL);
    }
    if (record == NULL) {
        if (conn->unused == NULL && !table_grow(conn)) {
            return NULL;
        }
        record = conn->unused;
        conn->unused = record->next;
    }
    struct pending_reply **bucket = bucket_of(conn, sequence);
    record->next = *bucket;
    *bucket = record;
    record->conn = conn;
    record->sequence = sequence;
    atomic_store_explicit(&record->references, 0, memory_order_relaxed);
    record->waited = false;
    atomic_store_explicit(&record->done, false, memory_order_relaxed);
    record->opcode = 0;
    record->result = 0;
    record->want = (struct reply_action){0};
    record->came = 0;
    record->results = NULL;
    record->results_size = 0;
    return record;
}

void conn_table_free(struct client_conn *conn, struct pending_reply *record)
{
    free(record->results);
    record->results = NULL;
    record->next = conn->unused;
    conn->unused = record;
}
