/* SPDX-License-Identifier: Apache-2.0 */
/* The FIFO of a context: records, the oldest first. */
#include "softgpu/process/print.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "front/front.h"
#include "softgpu/engine/budget.h"

/* Text may be this many times longer than its arguments; beyond that, it counts towards the size of
 * the FIFO, too. */
#define TEXT_SHARE 8
#define ROOM_FIRST 4096

_Static_assert((int)SG_OUTPUT_STDOUT == WIRE_OUTPUT_STDOUT &&
                   (int)SG_OUTPUT_STDERR == WIRE_OUTPUT_STDERR,
               "records of the one are those of the other");

struct sg_print {
    struct sg_printer printer; /* first */
    unsigned references;       /* under the process's lock */
    pthread_mutex_t lock;
    struct front_output *chunk; /* NULL: the FIFO is empty */
    size_t charged, limit;
    uint64_t lost; /* bytes of text, not reported yet */
    CUcontext context;
};

/* ---- the FIFO; with its lock */

static struct front_record record_first(const struct front_output *chunk)
{
    struct front_record record;
    memcpy(&record, chunk->records + chunk->begin, sizeof record);
    return record;
}

static void lose_first(struct sg_print *print)
{
    const struct front_record record = record_first(print->chunk);
    print->chunk->begin += sizeof record + record.bytes;
    print->charged -= record.charge;
    print->lost += record.bytes;
}

/* Makes room for `bytes` more at the end. */
static bool print_make_room(struct sg_print *print, size_t bytes)
{
    struct front_output *old = print->chunk;
    size_t held = old != NULL ? old->end - old->begin : 0;
    if (old != NULL && old->room - old->end >= bytes) {
        return true;
    }
    if (old != NULL && old->begin > old->room / 2 && old->room - held >= bytes) {
        memmove(old->records, old->records + old->begin, held);
        old->begin = 0;
        old->end = held;
        return true;
    }
    size_t room = ROOM_FIRST;
    while (room < 2 * (held + bytes)) {
        room *= 2;
    }
    struct front_output *made =
        sg_budget_take(room, "what kernels print") ? front_output_make(room) : NULL;
    if (made == NULL) {
        return false;
    }
    if (old != NULL) {
        made->end = held;
        memcpy(made->records, old->records + old->begin, held);
        sg_budget_give(old->room);
        free(old);
    }
    print->chunk = made;
    return true;
}

static bool is_empty(const struct sg_print *print)
{
    return print->chunk == NULL || print->chunk->begin == print->chunk->end;
}

static bool is_full(const struct sg_print *print, const struct front_record *next)
{
    size_t text = is_empty(print) ? 0 : print->chunk->end - print->chunk->begin;
    return print->charged + next->charge > print->limit ||
           text + next->bytes > print->limit * TEXT_SHARE;
}

static void print_write(struct sg_printer *printer, enum sg_output output, const char *text,
                        size_t bytes, uint32_t charge)
{
    struct sg_print *print = (struct sg_print *)printer;
    const struct front_record record = {(uint32_t)bytes, output, charge};
    pthread_mutex_lock(&print->lock);
    while (!is_empty(print) && is_full(print, &record)) {
        lose_first(print);
    }
    if (is_full(print, &record) || !print_make_room(print, sizeof record + bytes)) {
        print->lost += bytes;
    } else {
        front_output_add(print->chunk, &record, text);
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
        sg_budget_give(print->chunk != NULL ? print->chunk->room : 0);
        free(print->chunk);
        free(print);
    }
}

void sg_print_resize(struct sg_print *print, size_t bytes)
{
    pthread_mutex_lock(&print->lock);
    print->limit = bytes;
    pthread_mutex_unlock(&print->lock);
}

bool sg_print_pending(struct sg_print *print)
{
    pthread_mutex_lock(&print->lock);
    bool pending = !is_empty(print) || print->lost != 0;
    pthread_mutex_unlock(&print->lock);
    return pending;
}

void sg_print_name(struct sg_print *print, CUcontext context)
{
    print->context = context;
}

struct sg_printer *sg_print_printer(struct sg_print *print)
{
    return &print->printer;
}

/* ---- to the program */

static void say_lost(uint64_t bytes, size_t limit)
{
    ga_warn("softgpu: kernels have printed more at once than their FIFO of %zu bytes holds: the "
            "oldest %llu bytes of the text are lost (CU_LIMIT_PRINTF_FIFO_SIZE)",
            limit, (unsigned long long)bytes);
}

void sg_print_due(struct sg_print *print)
{
    pthread_mutex_lock(&print->lock);
    struct front_output *chunk = is_empty(print) ? NULL : print->chunk;
    uint64_t lost = print->lost;
    if (chunk != NULL) {
        print->chunk = NULL;
        print->charged = 0;
        sg_budget_give(chunk->room); /* it is written at once */
        chunk->context = print->context;
        front_output_put(chunk);
    }
    print->lost = 0;
    pthread_mutex_unlock(&print->lock);
    if (lost != 0) {
        say_lost(lost, print->limit);
    }
}
