/* SPDX-License-Identifier: Apache-2.0 */
/* The log that programs read: a numbered list of the last messages.
 *
 * Note: a callback runs in the thread that found the error, within the CUDA call that failed, so
 * it may make no CUDA call, as a host function may not. cuLogs* work before cuInit. */
#include "front/core/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log_watch.h"
#include "front/front.h"

#define LOG_BYTES     25600u /* as cuda.h says */
#define CALLBACKS_MAX 1024u

struct message {
    struct ga_list link;
    unsigned number;
    size_t bytes; /* of `text`, which ends with a newline and a NUL */
    char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_list messages = {&messages, &messages};
static size_t kept_bytes;
static unsigned next_number; /* of the next message */

#if CUDA_VERSION >= 12090

struct CUlogsCallbackEntry_st {
    struct ga_list link;
    CUlogsCallback function;
    void *data;
};

/* Held while callbacks run, so a callback that has been unregistered is not called afterwards. */
static pthread_mutex_t calling = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct ga_list callbacks = {&callbacks, &callbacks};
static unsigned callback_count;

struct telling {
    CUlogLevel level;
    char *text;
    size_t bytes;
};

static void CUDA_CB tell_all(void *argument)
{
    const struct telling *telling = argument;
    ga_list_each (at, following, &callbacks) {
        const struct CUlogsCallbackEntry_st *entry =
            ga_container(at, struct CUlogsCallbackEntry_st, link);
        entry->function(entry->data, telling->level, telling->text, telling->bytes);
    }
}

static void callbacks_run(enum ga_log_level level, char *text, size_t bytes)
{
    static _Thread_local bool inside;
    struct telling telling = {.level =
                                  level == GA_LOG_ERROR ? CU_LOG_LEVEL_ERROR : CU_LOG_LEVEL_WARNING,
                              .text = text,
                              .bytes = bytes};
    const struct front_host_call call = {.function = tell_all, .data = &telling};
    pthread_mutex_lock(&calling);
    if (!inside && !ga_list_empty(&callbacks)) {
        inside = true;
        front_host_call_run(&call, CUDA_SUCCESS);
        inside = false;
    }
    pthread_mutex_unlock(&calling);
}

#else

static void callbacks_run(enum ga_log_level level, char *text, size_t bytes)
{
    (void)level, (void)text, (void)bytes;
}

#endif

/* Writes to CUDA_LOG_FILE: stdout, stderr, or a path. */
static void file_write(const char *text)
{
    static FILE *file;
    static bool asked;
    if (!asked) {
        const char *path = getenv("CUDA_LOG_FILE");
        asked = true;
        file = path == NULL                  ? NULL
               : strcmp(path, "stdout") == 0 ? stdout
               : strcmp(path, "stderr") == 0 ? stderr
                                             : fopen(path, "ae");
    }
    if (file != NULL) {
        (void)fputs(text, file);
        (void)fflush(file);
    }
}

static void log_message_keep(const char *line, size_t bytes)
{
    struct message *made = malloc(sizeof *made + bytes + 1);
    unsigned number = next_number++;
    if (made == NULL) {
        return; /* the gap in the numbers shows it */
    }
    made->number = number;
    made->bytes = bytes;
    memcpy(made->text, line, bytes + 1);
    ga_list_append(&messages, &made->link);
    kept_bytes += bytes;
    while (kept_bytes > LOG_BYTES) {
        struct message *oldest = ga_container(messages.next, struct message, link);
        kept_bytes -= oldest->bytes;
        ga_list_remove(&oldest->link);
        free(oldest);
    }
}

static void log_message_add(enum ga_log_level level, const char *text, size_t bytes)
{
    char line[1200];
    struct timespec now;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &now);
    (void)localtime_r(&now.tv_sec, &local);
    int length =
        snprintf(line, sizeof line, "[%02d:%02d:%02d.%03ld][%ld][gpuaas][%c] %.*s\n", local.tm_hour,
                 local.tm_min, local.tm_sec, now.tv_nsec / 1000000, syscall(SYS_gettid),
                 level == GA_LOG_ERROR ? 'E' : 'W', (int)(bytes < 1024 ? bytes : 1024), text);
    if (length <= 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    log_message_keep(line, (size_t)length);
    file_write(line);
    pthread_mutex_unlock(&lock);
    line[length - 1] = '\0'; /* a callback gets no newline */
    callbacks_run(level, line, (size_t)length - 1);
}

static void log_errors_watch(enum ga_log_level level, const char *text)
{
    log_message_add(level, text, strlen(text));
}

void front_log_begin(void)
{
    ga_log_begin();
    ga_log_watch(log_errors_watch);
}

#if CUDA_VERSION >= 12090

CUresult CUDAAPI cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
                                        CUlogsCallbackHandle *callback_out)
{
    if (callbackFunc == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    front_log_begin();
    struct CUlogsCallbackEntry_st *entry = calloc(1, sizeof *entry);
    pthread_mutex_lock(&calling);
    bool kept = entry != NULL && callback_count < CALLBACKS_MAX;
    if (kept) {
        entry->function = callbackFunc;
        entry->data = userData;
        ga_list_append(&callbacks, &entry->link);
        callback_count++;
    }
    pthread_mutex_unlock(&calling);
    if (!kept) {
        free(entry);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (callback_out != NULL) {
        *callback_out = entry;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
    CUresult rc = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&calling);
    ga_list_each (at, following, &callbacks) {
        struct CUlogsCallbackEntry_st *entry =
            ga_container(at, struct CUlogsCallbackEntry_st, link);
        if (entry == callback) {
            ga_list_remove(&entry->link);
            free(entry);
            callback_count--;
            rc = CUDA_SUCCESS;
            break;
        }
    }
    pthread_mutex_unlock(&calling);
    return rc;
}

CUresult CUDAAPI cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
    if (iterator_out == NULL || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    *iterator_out = next_number;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* The first line of a dump in which older messages are missing. */
static const char missing[] = "[gpuaas] older messages are missing here\n";

/* A dump in progress: its first message, and whether earlier ones are lost. The lock is held. */
struct dump {
    struct ga_list *first; /* or &messages */
    size_t bytes;          /* with the line `missing` */
    bool lost;
};

static struct dump dump_begin(const CUlogIterator *iterator)
{
    unsigned from = iterator != NULL ? *iterator : 0;
    struct dump dump = {.first = messages.next};
    while (dump.first != &messages &&
           ga_container(dump.first, struct message, link)->number < from) {
        dump.first = dump.first->next;
    }
    unsigned expected = from;
    for (struct ga_list *at = dump.first; at != &messages; at = at->next) {
        const struct message *message = ga_container(at, struct message, link);
        dump.lost = dump.lost || message->number != expected;
        expected = message->number + 1;
        dump.bytes += message->bytes;
    }
    dump.bytes += dump.lost ? sizeof missing - 1 : 0;
    return dump;
}

static void dump_end(CUlogIterator *iterator)
{
    if (iterator != NULL) {
        *iterator = next_number;
    }
    pthread_mutex_unlock(&lock);
}

CUresult CUDAAPI cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile,
                                  unsigned int flags)
{
    if (pathToFile == NULL || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    FILE *file = fopen(pathToFile, "ae");
    if (file == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    struct dump dump = dump_begin(iterator);
    bool good = !dump.lost || fputs(missing, file) >= 0;
    for (struct ga_list *at = dump.first; at != &messages; at = at->next) {
        good = good && fputs(ga_container(at, struct message, link)->text, file) >= 0;
    }
    good = fclose(file) == 0 && good;
    dump_end(good ? iterator : NULL);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Drops the oldest messages until the others fit. */
static void dump_cut(struct dump *dump, size_t room)
{
    while (dump->first != &messages && dump->bytes >= room) {
        if (!dump->lost) {
            dump->lost = true;
            dump->bytes += sizeof missing - 1;
        } else {
            dump->bytes -= ga_container(dump->first, struct message, link)->bytes;
            dump->first = dump->first->next;
        }
    }
}

CUresult CUDAAPI cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
                                    unsigned int flags)
{
    if (buffer == NULL || size == NULL || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    size_t room = *size, used = 0;
    CUresult rc = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct dump dump = dump_begin(iterator);
    bool any = dump.first != &messages;
    dump_cut(&dump, room);
    if (any && dump.first == &messages) {
        rc = CUDA_ERROR_INVALID_VALUE; /* not even the last one fits */
    } else if (any && dump.lost) {
        memcpy(buffer, missing, sizeof missing - 1);
        used = sizeof missing - 1;
    }
    for (struct ga_list *at = dump.first; at != &messages; at = at->next) {
        const struct message *message = ga_container(at, struct message, link);
        memcpy(buffer + used, message->text, message->bytes);
        used += message->bytes;
    }
    if (room != 0) {
        buffer[used] = '\0';
    }
    *size = used;
    dump_end(rc == CUDA_SUCCESS ? iterator : NULL);
    return rc;
}

#endif
