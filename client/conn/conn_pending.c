/* Answers that are outstanding, by sequence number. Everything here needs read_lock. */
#include "client/conn/conn.h"

#include <stdlib.h>

#define TABLE_SLAB 32u

static struct link_record **bucket_of(struct client_link *link, uint64_t sequence)
{
    return &link->buckets[sequence & (LINK_BUCKETS - 1)];
}

struct link_record *link_table_find(struct client_link *link, uint64_t sequence)
{
    struct link_record *record = *bucket_of(link, sequence);
    while (record != NULL && record->sequence != sequence) {
        record = record->next;
    }
    return record;
}

void link_table_remove(struct client_link *link, struct link_record *record)
{
    struct link_record **at = bucket_of(link, record->sequence);
    while (*at != NULL && *at != record) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = record->next;
        record->next = NULL;
    }
}

/* Records live in slabs that are never given back: launches and copies cost no malloc. */
static bool table_grow(struct client_link *link)
{
    struct link_record *slab = calloc(TABLE_SLAB, sizeof *slab);
    if (slab == NULL) {
        return false;
    }
    for (unsigned i = 0; i < TABLE_SLAB; i++) {
        slab[i].next = link->unused;
        link->unused = &slab[i];
    }
    return true;
}

struct link_record *link_table_add(struct client_link *link, uint64_t sequence)
{
    struct link_record *record = atomic_load_explicit(&link->spare, memory_order_relaxed);
    if (record != NULL) {
        record = atomic_exchange(&link->spare, NULL);
    }
    if (record == NULL) {
        if (link->unused == NULL && !table_grow(link)) {
            return NULL;
        }
        record = link->unused;
        link->unused = record->next;
    }
    struct link_record **bucket = bucket_of(link, sequence);
    record->next = *bucket;
    *bucket = record;
    record->link = link;
    record->sequence = sequence;
    atomic_store_explicit(&record->references, 0, memory_order_relaxed);
    record->waited = false;
    atomic_store_explicit(&record->done, false, memory_order_relaxed);
    record->opcode = 0;
    record->result = 0;
    record->want = (struct link_want){0};
    record->came = 0;
    record->results = NULL;
    record->results_size = 0;
    return record;
}

void link_table_free(struct client_link *link, struct link_record *record)
{
    free(record->results);
    record->results = NULL;
    record->next = link->unused;
    link->unused = record;
}
