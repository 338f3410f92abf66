/* SPDX-License-Identifier: Apache-2.0 */
/* The actions of armed failpoints. Nothing here may allocate: allocation is a failpoint itself. */
#include "base/failpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define LINE_MAX 200

static struct {
    const char *file; /* NULL: no failpoint is armed */
    int fd;           /* it, for ever: a process may lose the right to open it */
    unsigned count;
    char action[16];
    char name[LINE_MAX];
} armed;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint hits;

static void arm(void)
{
    char line[LINE_MAX];
    const char *file = getenv("GPUAAS_FAILPOINT");
    int fd = file != NULL ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    ssize_t got = read(fd, line, sizeof line - 1);
    line[got > 0 ? got : 0] = 0;
    if (sscanf(line, "%u %15s %199[^\n]", &armed.count, armed.action, armed.name) == 3) {
        armed.fd = fd;
        armed.file = file;
        return;
    }
    close(fd);
    if (got > 0) {
        ga_error("%s: a failpoint is COUNT ACTION NAME", file);
        abort();
    }
}

static bool act(void)
{
    if (strcmp(armed.action, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(armed.action, "stop") == 0) {
        raise(SIGSTOP);
    } else if (strncmp(armed.action, "delay:", 6) == 0) {
        long ms = strtol(armed.action + 6, NULL, 10);
        const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        (void)nanosleep(&nap, NULL);
    } else if (strcmp(armed.action, "fail") == 0) {
        return true;
    } else {
        ga_error("a failpoint cannot do \"%s\"", armed.action);
        abort();
    }
    return false;
}

/* One process alone gets it, and empties the file; it removes the file, too, if it still may. */
static bool claim(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool mine = fcntl(armed.fd, F_OFD_SETLKW, &lock) == 0 && lseek(armed.fd, 0, SEEK_END) > 0 &&
                ftruncate(armed.fd, 0) == 0;
    lock.l_type = F_UNLCK;
    (void)fcntl(armed.fd, F_OFD_SETLK, &lock);
    if (mine) {
        (void)unlink(armed.file);
    }
    return mine;
}

bool ga_failpoint(const char *name)
{
    int saved_errno = errno;
    bool fail = false;
    (void)pthread_once(&once, arm);
    if (armed.file != NULL && strcmp(name, armed.name) == 0) {
        unsigned hit = atomic_fetch_add(&hits, 1) + 1;
        bool now = armed.count == 0 || (hit == armed.count && claim());
        fail = now && act();
    }
    errno = saved_errno;
    return fail;
}

/* ---- memory and threads: the linker redirects calls to here (-Wl,--wrap) */

static bool lacks(const char *what)
{
    char name[100];
    int saved_errno = errno;
    snprintf(name, sizeof name, "%s in %s", what, ga_log_name());
    bool lacks = ga_failpoint(name);
    errno = lacks ? ENOMEM : saved_errno;
    return lacks;
}

/* The linker prescribes these names, so they have no prefix of ours. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);

void *__wrap_malloc(size_t size)
{
    return lacks("malloc") ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return lacks("malloc") ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return lacks("malloc") ? NULL : __real_realloc(block, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return lacks("malloc") ? NULL : __real_aligned_alloc(alignment, size);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    return lacks("thread") ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}
