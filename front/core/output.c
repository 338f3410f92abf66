/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of output, first in, first out. */
#include "front/core/output.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/driver_open.h"
#include "base/log.h"

/* A program that never makes a call which writes must not fill the machine. */
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

/* The first one, or NULL. With the lock. */
static struct front_output *take(void)
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
        lost = take();
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

/* Lines of our own driver's are logged here, so that they look as those of a driver of this
 * process, and are in the program's log; a record holds whole ones of them. */
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

/* A stdout that takes nothing (closed, or a disk that is full) is the program's affair: what it
 * prints itself is lost there as well. */
static void output_write(const struct front_output *output)
{
    size_t at = output->begin;
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
}

/* Whoever comes while another thread writes waits for it: the lock is that of stdout itself, which
 * the program may hold already. */
void front_output_write_pending(void)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    flockfile(stdout);
    for (;;) {
        pthread_mutex_lock(&lock);
        struct front_output *output = take();
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
