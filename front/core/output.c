/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel output: a queue of pieces, first in, first out. */
#include "front/core/output.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/driver_open.h"
#include "base/log.h"

/* Bounds the queue of a program that never makes a call which writes it out. */
#define WAITING_MAX ((size_t)256 << 20)

_Atomic int front_output_pending;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_list outputs = {&outputs, &outputs};
static size_t waiting; /* bytes */

struct front_output *front_output_make(size_t room)
{
    struct front_output *output = malloc(sizeof *output + room);
    if (output != NULL) {
        output->begin = output->end = 0;
        output->context = NULL;
        output->room = room;
    }
    return output;
}

void front_output_add(struct front_output *output, const struct front_record *record,
                      const void *text)
{
    memcpy(output->records + output->end, record, sizeof *record);
    memcpy(output->records + output->end + sizeof *record, text, record->bytes);
    output->end += sizeof *record + record->bytes;
}

/* Takes the first piece, or NULL. The lock is held. */
static struct front_output *output_take(void)
{
    if (ga_list_empty(&outputs)) {
        return NULL;
    }
    struct front_output *first = ga_container(outputs.next, struct front_output, link);
    ga_list_remove(&first->link);
    waiting -= first->end - first->begin;
    return first;
}

void front_output_put(struct front_output *output)
{
    static bool told;
    struct front_output *lost = NULL;
    pthread_mutex_lock(&lock);
    ga_list_append(&outputs, &output->link);
    waiting += output->end - output->begin;
    if (waiting > WAITING_MAX) {
        lost = output_take();
    }
    bool tell = lost != NULL && !told;
    told = told || tell;
    atomic_store(&front_output_pending, 1);
    pthread_mutex_unlock(&lock);
    free(lost);
    if (tell) {
        ga_warn("kernels print more than the program asks for: the oldest output is lost");
    }
}

/* Lines of our own driver go through the log of this process, so they look like those of a local
 * driver and enter the program's log. A record holds whole lines. */
static void stderr_write(const char *text, size_t bytes)
{
    static const char says[] = CUDA_DRIVER_SAYS;
    const size_t head = sizeof says - 1;
    while (bytes > 0) {
        const char *newline = memchr(text, '\n', bytes);
        size_t line = newline != NULL ? (size_t)(newline - text) + 1 : bytes;
        if (newline != NULL && line > head && memcmp(text, says, head) == 0) {
            ga_error("softgpu: %.*s", (int)(line - head - 1), text + head);
        } else {
            (void)fwrite(text, 1, line, stderr);
        }
        text += line;
        bytes -= line;
    }
}

static _Thread_local void *context_written;

void *front_output_context(void)
{
    return context_written;
}

/* Write errors of stdout (closed, disk full) are ignored: the program's own output is lost as
 * well. */
static void output_write(const struct front_output *output)
{
    size_t at = output->begin;
    context_written = output->context;
    while (at < output->end) {
        struct front_record record;
        memcpy(&record, output->records + at, sizeof record);
        const char *text = (const char *)output->records + at + sizeof record;
        if (record.to == WIRE_OUTPUT_STDERR) {
            stderr_write(text, record.bytes);
        } else {
            (void)fwrite(text, 1, record.bytes, stdout);
        }
        at += sizeof record + record.bytes;
    }
    context_written = NULL;
}

/* A thread that comes while another one writes waits for it. The lock is that of stdout, which
 * the program may hold already. */
void front_output_write_pending(void)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    flockfile(stdout);
    for (;;) {
        pthread_mutex_lock(&lock);
        struct front_output *output = output_take();
        if (output == NULL) {
            atomic_store(&front_output_pending, 0);
        }
        pthread_mutex_unlock(&lock);
        if (output == NULL) {
            break;
        }
        output_write(output);
        free(output);
    }
    funlockfile(stdout);
    (void)pthread_setcancelstate(before, NULL);
}
