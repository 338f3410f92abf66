/* The FIFO of a context, and what is due of all of them. */
#include "softgpu/print.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

/* Text may be so much longer than the arguments it was made of. Beyond that, it counts too. */
#define TEXT_SHARE 8
#define ROOM_FIRST 4096

struct record {
    uint32_t bytes, charge;
    uint32_t output; /* enum sg_output */
};

/* Records, each followed by its text. */
struct chunk {
    struct ga_list link; /* once it is due */
    size_t begin, end, room;
    uint8_t bytes[];
};

struct sg_print {
    struct sg_printer printer; /* first */
    unsigned references;       /* under the process's lock */
    pthread_mutex_t lock;
    struct chunk *chunk; /* NULL: it is empty */
    size_t charged, limit;
    uint64_t lost; /* bytes of text, not told yet */
};

_Atomic int sg_print_pending;
static pthread_mutex_t due_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_list due = {&due, &due};

/* ---- the FIFO; with its lock */

static struct record record_first(const struct chunk *chunk)
{
    struct record record;
    memcpy(&record, chunk->bytes + chunk->begin, sizeof record);
    return record;
}

static void lose_first(struct sg_print *print)
{
    const struct record record = record_first(print->chunk);
    print->chunk->begin += sizeof record + record.bytes;
    print->charged -= record.charge;
    print->lost += record.bytes;
}

/* Room for `bytes` more behind the end. */
static bool make_room(struct sg_print *print, size_t bytes)
{
    struct chunk *old = print->chunk;
    size_t held = old != NULL ? old->end - old->begin : 0;
    if (old != NULL && old->room - old->end >= bytes) {
        return true;
    }
    if (old != NULL && old->begin > old->room / 2 && old->room - held >= bytes) {
        memmove(old->bytes, old->bytes + old->begin, held);
        old->begin = 0;
        old->end = held;
        return true;
    }
    size_t room = ROOM_FIRST;
    while (room < 2 * (held + bytes)) {
        room *= 2;
    }
    struct chunk *made = malloc(sizeof *made + room);
    if (made == NULL) {
        return false;
    }
    made->begin = 0;
    made->end = held;
    made->room = room;
    if (old != NULL) {
        memcpy(made->bytes, old->bytes + old->begin, held);
        free(old);
    }
    print->chunk = made;
    return true;
}

static bool is_empty(const struct sg_print *print)
{
    return print->chunk == NULL || print->chunk->begin == print->chunk->end;
}

static bool is_full(const struct sg_print *print, const struct record *next)
{
    size_t text = is_empty(print) ? 0 : print->chunk->end - print->chunk->begin;
    return print->charged + next->charge > print->limit ||
           text + next->bytes > print->limit * TEXT_SHARE;
}

static void print_write(struct sg_printer *printer, enum sg_output output, const char *text,
                        size_t bytes, uint32_t charge)
{
    struct sg_print *print = (struct sg_print *)printer;
    const struct record record = {(uint32_t)bytes, charge, output};
    pthread_mutex_lock(&print->lock);
    while (!is_empty(print) && is_full(print, &record)) {
        lose_first(print);
    }
    if (is_full(print, &record) || !make_room(print, sizeof record + bytes)) {
        print->lost += bytes;
    } else {
        struct chunk *chunk = print->chunk;
        memcpy(chunk->bytes + chunk->end, &record, sizeof record);
        memcpy(chunk->bytes + chunk->end + sizeof record, text, bytes);
        chunk->end += sizeof record + bytes;
        print->charged += charge;
    }
    pthread_mutex_unlock(&print->lock);
}

/* ---- its life */

struct sg_print *sg_print_make(void)
{
    struct sg_print *print = calloc(1, sizeof *print);
    if (print != NULL) {
        print->printer.write = print_write;
        print->references = 1;
        print->limit = SG_PRINT_BYTES;
        pthread_mutex_init(&print->lock, NULL);
    }
    return print;
}

void sg_print_hold(struct sg_print *print)
{
    print->references++;
}

void sg_print_drop(struct sg_print *print)
{
    assert(print->references > 0);
    if (--print->references == 0) {
        pthread_mutex_destroy(&print->lock);
        free(print->chunk);
        free(print);
    }
}

void sg_print_resize(struct sg_print *print, size_t bytes)
{
    pthread_mutex_lock(&print->lock);
    print->limit = bytes < SIZE_MAX / TEXT_SHARE ? bytes : SIZE_MAX / TEXT_SHARE;
    pthread_mutex_unlock(&print->lock);
}

struct sg_printer *sg_print_printer(struct sg_print *print)
{
    return &print->printer;
}

/* ---- what is due */

static void say_lost(uint64_t bytes, size_t limit)
{
    ga_warn("softgpu: kernels have printed more at once than their FIFO of %zu bytes holds: the "
            "oldest %llu bytes of the text are lost (CU_LIMIT_PRINTF_FIFO_SIZE)",
            limit, (unsigned long long)bytes);
}

void sg_print_due(struct sg_print *print)
{
    pthread_mutex_lock(&print->lock);
    struct chunk *chunk = is_empty(print) ? NULL : print->chunk;
    uint64_t lost = print->lost;
    if (chunk != NULL) {
        print->chunk = NULL;
        print->charged = 0;
        pthread_mutex_lock(&due_lock);
        ga_list_append(&due, &chunk->link);
        atomic_store(&sg_print_pending, 1);
        pthread_mutex_unlock(&due_lock);
    }
    print->lost = 0;
    pthread_mutex_unlock(&print->lock);
    if (lost != 0) {
        say_lost(lost, print->limit);
    }
}

/* A stdout that takes nothing (closed, or a disk that is full) is the program's affair: it loses
 * its own output as well. */
static void chunk_write(const struct chunk *chunk)
{
    size_t at = chunk->begin;
    while (at < chunk->end) {
        struct record record;
        memcpy(&record, chunk->bytes + at, sizeof record);
        (void)fwrite(chunk->bytes + at + sizeof record, 1, record.bytes,
                     record.output == SG_OUTPUT_STDERR ? stderr : stdout);
        at += sizeof record + record.bytes;
    }
}

/* Whoever comes while another thread writes waits for it: the lock is that of stdout itself, which
 * the program may hold already. */
void sg_print_write_due(void)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    flockfile(stdout);
    for (;;) {
        pthread_mutex_lock(&due_lock);
        bool none = ga_list_empty(&due);
        struct chunk *chunk = none ? NULL : ga_container(due.next, struct chunk, link);
        if (none) {
            atomic_store(&sg_print_pending, 0);
        } else {
            ga_list_remove(&chunk->link);
        }
        pthread_mutex_unlock(&due_lock);
        if (none) {
            break;
        }
        chunk_write(chunk);
        free(chunk);
    }
    funlockfile(stdout);
    (void)pthread_setcancelstate(before, NULL);
}
