/* The receiving half of a link: the reader role, and what an answer does.
 *
 * Only who has the role reads, and only who has it completes records: so nobody writes into the
 * memory of a call that has already returned, not even when the link is lost meanwhile. */
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "client/cancel.h"
#include "client/host_function.h"
#include "client/link.h"

#define PASSING_BYTES (8u << 20)

enum waiter_word { WAITER_SLEEPS = 0, WAITER_COMPLETE = 1, WAITER_READS = 2 };

struct link_waiter {
    struct ga_list at;
    struct link_record *record;
    atomic_uint word;
};

static void waiter_wake(struct link_waiter *waiter, enum waiter_word word)
{
    atomic_store(&waiter->word, word);
    syscall(SYS_futex, &waiter->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void link_complete(struct client_link *link, struct link_record *record, uint16_t opcode,
                   int result)
{
    link_table_remove(link, record);
    record->opcode = opcode;
    record->result = result;
    atomic_store(&record->done, true);
    if (!record->waited) {
        atomic_fetch_sub(&link->unwaited, 1);
    }
    if (record->want.host != NULL && opcode == 0) {
        client_host_call_lost(record->want.host, result);
    }
    if (record->references == 0) {
        link_table_free(link, record);
        return;
    }
    ga_list_each (at, following, &link->waiters) {
        struct link_waiter *waiter = ga_container(at, struct link_waiter, at);
        if (waiter->record == record) {
            ga_list_remove(at);
            waiter_wake(waiter, WAITER_COMPLETE);
        }
    }
}

/* With the role, not the lock. */
static void complete_all(struct client_link *link)
{
    int dead = atomic_load(&link->dead);
    link->bulk = NULL;
    pthread_mutex_lock(&link->read_lock);
    for (unsigned i = 0; i < LINK_BUCKETS; i++) {
        while (link->buckets[i] != NULL) {
            link_complete(link, link->buckets[i], 0, dead);
        }
    }
    pthread_mutex_unlock(&link->read_lock);
}

/* The role goes to a waiter that is not complete, or becomes free. */
static void leave(struct client_link *link)
{
    if (atomic_load(&link->dead) != 0) {
        complete_all(link);
    }
    pthread_mutex_lock(&link->read_lock);
    if (ga_list_empty(&link->waiters)) {
        link->reading = false;
    } else {
        struct ga_list *first = link->waiters.next;
        ga_list_remove(first);
        waiter_wake(ga_container(first, struct link_waiter, at), WAITER_READS);
    }
    pthread_mutex_unlock(&link->read_lock);
}

/* ---- what an answer does; with the role */

static enum ga_status take_reply(struct client_link *link, const struct wire_header *header,
                                 const uint8_t *values)
{
    int32_t result = 0;
    if (header->opcode == WIRE_REPLY || header->opcode == WIRE_DONE) {
        if (header->length < 8) {
            return GA_INVALID;
        }
        memcpy(&result, values, sizeof result);
    }
    pthread_mutex_lock(&link->read_lock);
    struct link_record *record = link_table_find(link, header->sequence);
    if (record == NULL) {
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
            atomic_store(record->want.watched, record->want.watch_value);
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
    if (header->length < 8) {
        return GA_INVALID;
    }
    int32_t result;
    uint32_t opcode;
    memcpy(&result, values, sizeof result);
    memcpy(&opcode, values + 4, sizeof opcode);
    if (link->on_error != NULL && result != 0) {
        link->on_error(link_context_of(link, header->sequence), result, (uint16_t)opcode);
    }
    return GA_OK;
}

static enum ga_status take_fault(struct client_link *link, const struct wire_header *header,
                                 const uint8_t *values)
{
    struct ga_reader r = ga_reader_of(values, header->length);
    int32_t result = ga_read_i32(&r);
    const char *text = ga_read_string(&r, 4096);
    if (r.failed || result == 0) {
        return GA_INVALID;
    }
    client_link_condemn(link, result, text != NULL ? text : "the GPU reported a fault");
    return GA_LOST;
}

/* The current frame is done with. */
static void drop(struct client_link *link)
{
    struct wire_header header;
    if (frame_header(&link->reader, &header) == GA_OK) {
        atomic_fetch_add_explicit(&link->bytes_in, sizeof header + header.length,
                                  memory_order_relaxed);
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
    if (record == NULL || record->want.to == NULL || bytes > WIRE_CHUNK || bytes == 0 ||
        header.length != 16 + wire_padded(bytes) || bytes > record->want.bytes ||
        offset > record->want.bytes - bytes) {
        return GA_INVALID;
    }
    if (record->want.pitch != record->want.width && link->bounce == NULL) {
        link->bounce = malloc(WIRE_CHUNK);
        if (link->bounce == NULL) {
            return GA_NO_MEMORY;
        }
    }
    link->bulk = record;
    link->bulk_at = offset;
    link->bulk_left = bytes;
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

static enum ga_status chunk_read(struct client_link *link)
{
    struct link_record *record = link->bulk;
    bool rows = record->want.pitch != record->want.width;
    while (link->bulk_left != 0) {
        uint8_t *to = record->want.to + link->bulk_at;
        size_t got;
        if (rows) {
            /* Gathered in the bounce buffer, from its start, until the chunk is whole. */
            to = link->bounce + link->reader.taken;
        }
        GA_TRY(frame_bulk(&link->reader, &link->data, 16, to, link->bulk_left, &got));
        (void)GA_FAILPOINT("client: piece of bulk read");
        if (!rows) {
            link->bulk_at += got;
        }
        link->bulk_left -= got;
    }
    while (frame_bulk_left(&link->reader, 16) != 0) {
        uint8_t padding[16];
        size_t got;
        GA_TRY(frame_bulk(&link->reader, &link->data, 16, padding, sizeof padding, &got));
        link->bulk_padding += got;
    }
    if (rows) {
        uint64_t bytes = link->reader.taken - link->bulk_padding;
        scatter_rows(record, link->bulk_at, bytes, link->bounce);
    }
    link->bulk_padding = 0;
    link->bulk = NULL;
    drop(link);
    return GA_OK;
}

/* ---- reading; with the role */

static enum ga_status read_step(struct client_link *link)
{
    if (link->bulk != NULL) {
        return chunk_read(link);
    }
    struct wire_header header;
    GA_TRY(frame_header(&link->reader, &header));
    return header.opcode == WIRE_DATA ? chunk_begin(link) : take_frame(link);
}

/* Reads until `record` is complete (GA_OK) or nothing more is there (GA_AGAIN). Who waits for no
 * record reads in passing: it has other things to do, however much comes. */
static enum ga_status read_all(struct client_link *link, const struct link_record *record)
{
    unsigned long long enough =
        record != NULL
            ? ULLONG_MAX
            : atomic_load_explicit(&link->bytes_in, memory_order_relaxed) + PASSING_BYTES;
    for (;;) {
        if (atomic_load(&link->dead) != 0) {
            complete_all(link);
            return GA_LOST;
        }
        if (atomic_load_explicit(&link->bytes_in, memory_order_relaxed) >= enough) {
            return GA_AGAIN;
        }
        enum ga_status status = read_step(link);
        if (status == GA_OK) {
            continue;
        }
        if (status == GA_AGAIN) {
            if (record != NULL && atomic_load(&record->done)) {
                return GA_OK;
            }
            if (link->bulk != NULL) {
                return GA_AGAIN;
            }
            status = frame_fill(&link->reader, &link->data);
            if (status == GA_OK) {
                continue;
            }
            if (status == GA_AGAIN) {
                return status;
            }
        }
        client_link_lose(link, status == GA_LOST ? "the connection ended"
                                                 : "it sent bytes that are no answer");
    }
}

static void note_read(struct client_link *link)
{
    if (atomic_load_explicit(&link->unwaited, memory_order_relaxed) != 0) {
        atomic_store_explicit(&link->read_ns, ga_clock_ns(), memory_order_relaxed);
    }
}

/* Until the record is complete. */
static void lead(struct client_link *link, const struct link_record *record)
{
    while (!atomic_load(&record->done)) {
        if (read_all(link, record) == GA_AGAIN) {
            struct pollfd at = {.fd = link->data.fd, .events = POLLIN};
            (void)poll(&at, 1, -1);
        }
    }
    note_read(link);
}

void link_read_try(struct client_link *link)
{
    pthread_mutex_lock(&link->read_lock);
    bool taken = link->reading;
    link->reading = true;
    pthread_mutex_unlock(&link->read_lock);
    if (!taken) {
        (void)read_all(link, NULL);
        note_read(link);
        leave(link);
    }
}

bool link_read_free(struct client_link *link)
{
    pthread_mutex_lock(&link->read_lock);
    bool free = !link->reading;
    pthread_mutex_unlock(&link->read_lock);
    return free;
}

void client_link_drain(struct client_link *link)
{
    int before = client_cancel_off();
    client_link_flush(link);
    link_read_try(link);
    client_cancel_back(before);
}

/* ---- waiting */

static void wait_answer(struct client_link *link, struct link_record *record)
{
    struct link_waiter self = {.record = record};
    pthread_mutex_lock(&link->read_lock);
    while (!atomic_load(&record->done)) {
        bool mine = !link->reading;
        if (mine) {
            link->reading = true;
            pthread_mutex_unlock(&link->read_lock);
        } else {
            atomic_store(&self.word, WAITER_SLEEPS);
            ga_list_append(&link->waiters, &self.at);
            pthread_mutex_unlock(&link->read_lock);
            unsigned word;
            while ((word = atomic_load(&self.word)) == WAITER_SLEEPS) {
                syscall(SYS_futex, &self.word, FUTEX_WAIT_PRIVATE, WAITER_SLEEPS, NULL, NULL, 0);
            }
            mine = word == WAITER_READS;
        }
        if (mine) {
            lead(link, record);
            leave(link);
        }
        pthread_mutex_lock(&link->read_lock);
    }
    pthread_mutex_unlock(&link->read_lock);
}

void client_link_wait(struct client_link *link, struct link_record *record)
{
    int before = client_cancel_off();
    uint64_t start = ga_clock_ns();
    link_send_until(link, 0);
    wait_answer(link, record);
    atomic_fetch_add_explicit(&link->waits, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&link->waited_ns, ga_clock_ns() - start, memory_order_relaxed);
    client_cancel_back(before);
}

struct link_record *client_link_expect(struct client_link *link, uint64_t sequence, bool waited,
                                       const struct link_want *want)
{
    pthread_mutex_lock(&link->read_lock);
    struct link_record *record = link_table_add(link, sequence);
    if (record != NULL) {
        record->waited = waited;
        record->references = waited ? 1 : 0;
        if (want != NULL) {
            record->want = *want;
        }
        if (!waited && atomic_fetch_add(&link->unwaited, 1) == 0) {
            atomic_store(&link->read_ns, ga_clock_ns());
        }
        if (atomic_load(&link->dead) != 0) {
            link_complete(link, record, 0, atomic_load(&link->dead));
        }
    }
    pthread_mutex_unlock(&link->read_lock);
    return record;
}

void client_link_release(struct client_link *link, struct link_record *record)
{
    pthread_mutex_lock(&link->read_lock);
    if (--record->references == 0 && atomic_load(&record->done)) {
        link_table_free(link, record);
    }
    pthread_mutex_unlock(&link->read_lock);
}

static struct link_record *overlapping(struct client_link *link, const uint8_t *start,
                                       uint64_t bytes)
{
    for (unsigned i = 0; i < LINK_BUCKETS; i++) {
        for (struct link_record *at = link->buckets[i]; at != NULL; at = at->next) {
            uint64_t rows = at->want.width != 0 ? at->want.bytes / at->want.width : 1;
            uint64_t extent = rows != 0 ? (rows - 1) * at->want.pitch + at->want.width : 0;
            if (at->want.to != NULL && at->want.to < start + bytes &&
                start < at->want.to + extent) {
                return at;
            }
        }
    }
    return NULL;
}

void client_link_wait_range(struct client_link *link, const void *start, uint64_t bytes)
{
    while (atomic_load(&link->unwaited) != 0) {
        pthread_mutex_lock(&link->read_lock);
        struct link_record *record = overlapping(link, start, bytes);
        if (record != NULL) {
            record->references++;
        }
        pthread_mutex_unlock(&link->read_lock);
        if (record == NULL) {
            return;
        }
        client_link_wait(link, record);
        client_link_release(link, record);
    }
}
