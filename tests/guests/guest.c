/* SPDX-License-Identifier: Apache-2.0 */
/* guest MODE: a process that the client library is a guest in, and that treats it badly. It
 * finds libcuda.so.1 by dlopen, as Python and frameworks do, and needs neither the toolkit nor a
 * GPU kernel. If all is well its last line is PASSED, and its exit status 0. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define CUDA_ERROR_NOT_INITIALIZED 3
#define BYTES                      65536

struct guest_cuda cuda;

void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\nFAILED\n");
    fflush(stdout);
    _exit(1);
}

void check(int rc, const char *what)
{
    if (rc != 0) {
        fail("%s: error %d", what, rc);
    }
}

void *symbol(const char *name)
{
    void *at = dlsym(cuda.library, name);
    if (at == NULL) {
        fail("no %s: %s", name, dlerror());
    }
    return at;
}

void load(void)
{
    cuda.library = dlopen("libcuda.so.1", RTLD_NOW);
    if (cuda.library == NULL) {
        fail("%s", dlerror());
    }
    *(void **)&cuda.init = symbol("cuInit");
    *(void **)&cuda.device = symbol("cuDeviceGet");
    *(void **)&cuda.retain = symbol("cuDevicePrimaryCtxRetain");
    *(void **)&cuda.release = symbol("cuDevicePrimaryCtxRelease_v2");
    *(void **)&cuda.set = symbol("cuCtxSetCurrent");
    *(void **)&cuda.alloc = symbol("cuMemAlloc_v2");
    *(void **)&cuda.free = symbol("cuMemFree_v2");
    *(void **)&cuda.in = symbol("cuMemcpyHtoD_v2");
    *(void **)&cuda.out = symbol("cuMemcpyDtoH_v2");
}

void begin(void)
{
    int device;
    void *context;
    CHECK(cuda.init(0));
    CHECK(cuda.device(&device, 0));
    CHECK(cuda.retain(&context, device));
    CHECK(cuda.set(context));
}

void copies(int rounds)
{
    unsigned long long memory;
    unsigned char *bytes = malloc(BYTES), *back = malloc(BYTES);
    CHECK(cuda.alloc(&memory, BYTES));
    for (int round = 0; round != rounds; round++) {
        memset(bytes, round + 1, BYTES);
        CHECK(cuda.in(memory, bytes, BYTES));
        CHECK(cuda.out(back, memory, BYTES));
        if (memcmp(bytes, back, BYTES) != 0) {
            fail("round %d: other bytes came back", round);
        }
        pthread_testcancel(); /* the only place: a call of CUDA is none */
    }
    CHECK(cuda.free(memory));
    free(bytes);
    free(back);
}

int session(void)
{
    load();
    begin();
    copies(3);
    CHECK(cuda.release(0));
    return 0;
}

static int reopen(void)
{
    for (int i = 0; i < 3; i++) {
        session();
        if (dlclose(cuda.library) != 0) {
            fail("dlclose: %s", dlerror());
        }
    }
    return 0;
}

/* ---- fork */

static void wait_child(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) {
        fail("the child ended with status 0x%x", (unsigned)status);
    }
}

/* Both have CUDA: nothing had been used before. */
static int fork_before(void)
{
    load();
    pid_t child = fork();
    begin();
    copies(3);
    if (child == 0) {
        _exit(0);
    }
    wait_child(child);
    return 0;
}

void *copy_for_ever(void *unused)
{
    (void)unused;
    void *context;
    CHECK(cuda.retain(&context, 0));
    CHECK(cuda.set(context));
    copies(-1);
    return NULL;
}

void start(pthread_t *thread, size_t stack, void *(*function)(void *))
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack != 0 && pthread_attr_setstacksize(&attributes, stack) != 0) {
        fail("a stack of %zu bytes is too small for the system", stack);
    }
    if (pthread_create(thread, &attributes, function, NULL) != 0) {
        fail("no thread");
    }
}

/* The child must not wait for locks that threads of the parent held: they do not exist there. */
static int fork_in_threads(void)
{
    pthread_t threads[4];
    load();
    begin();
    for (int i = 0; i < 4; i++) {
        start(&threads[i], 0, copy_for_ever);
    }
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            unsigned long long memory;
            int rc = cuda.alloc(&memory, BYTES), again = cuda.init(0);
            _exit(rc == CUDA_ERROR_NOT_INITIALIZED && again == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
        }
        wait_child(child);
        copies(1);
    }
    return 0;
}

static int descriptors_above_stdio(void)
{
    int count = 0;
    struct stat facts;
    for (int fd = 3; fd < 256; fd++) {
        count += fstat(fd, &facts) == 0;
    }
    return count;
}

/* A program that is executed in the place of this one inherits none of our descriptors. */
static int execute(char *self)
{
    session();
    char count[16];
    snprintf(count, sizeof count, "%d", descriptors_above_stdio());
    if (atoi(count) == 0) {
        fail("no connection is open");
    }
    execl(self, self, "executed", (char *)NULL);
    fail("execl: %s", strerror(errno));
}

static int executed(void)
{
    int count = descriptors_above_stdio();
    if (count != 0) {
        fail("%d descriptors were inherited", count);
    }
    return session();
}

/* ---- threads and ends */

static int exit_in_threads(void)
{
    pthread_t threads[8];
    load();
    begin();
    for (int i = 0; i < 8; i++) {
        start(&threads[i], 0, copy_for_ever);
    }
    copies(20);
    return 0; /* exit() with eight threads inside the library */
}

static void leave(int signal)
{
    (void)signal;
    static const char text[] = "PASSED\n";
    exit(write(1, text, sizeof text - 1) > 0 ? 0 : 1);
}

/* Not allowed by POSIX, and yet programs do it: the handler interrupts us anywhere. */
static int exit_in_handler(void)
{
    load();
    begin();
    copies(3);
    signal(SIGALRM, leave);
    struct itimerval timer = {.it_value = {.tv_usec = 50000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    copies(-1);
    return 1;
}

static void *small(void *unused)
{
    (void)unused;
    begin();
    copies(3);
    return NULL;
}

static int small_stack(const char *kilobytes)
{
    pthread_t thread;
    load();
    start(&thread, (size_t)atoi(kilobytes) << 10, small);
    pthread_join(thread, NULL);
    return 0;
}

/* ---- addresses */

/* Nothing is left of the addresses at which the library looks for room for device memory: those of
 * client/alloc/window.c, under ThreadSanitizer the low ones. */
static int crowded(bool low)
{
    const unsigned long long first = low ? 64ull << 30 : 0x200000000000;
    const unsigned long long bytes = low ? 64ull << 30 : 512ull << 30;
    unsigned taken = 0;
    for (unsigned i = 0; i < (low ? 6u : 64u); i++) {
        void *at = (void *)(first + i * bytes);
        taken +=
            mmap(at, bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == at;
    }
    if (taken == 0) {
        fail("no range could be taken: %s", strerror(errno));
    }
    load();
    begin();
    for (int i = 0; i < 200; i++) {
        copies(1);
    }
    return 0;
}

/* ---- descriptors */

/* The first sockets would be 0, 1 and 2, and whoever prints would write into them. */
static int no_stdio(const char *result)
{
    load();
    int file = open(result, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int kept = fcntl(file, F_DUPFD_CLOEXEC, 100);
    close(file);
    close(0);
    close(1);
    close(2);
    begin();
    for (int i = 0; i < 200; i++) {
        static const char noise[] = "a program that prints without a place to print to\n";
        ssize_t written = write(1, noise, sizeof noise - 1) + write(2, noise, sizeof noise - 1);
        (void)written;
    }
    copies(3);
    ssize_t written = write(kept, "PASSED\n", 7);
    _exit(written == 7 ? 0 : 1);
}

static int few_descriptors(void)
{
    load();
    struct rlimit limit = {.rlim_cur = 4, .rlim_max = 4096};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        fail("setrlimit: %s", strerror(errno));
    }
    int rc = cuda.init(0), device;
    void *context = NULL;
    rc = rc != 0 ? rc : cuda.device(&device, 0);
    rc = rc != 0 ? rc : cuda.retain(&context, device);
    printf("error %d\n", rc);
    return rc != 0 ? 0 : 1;
}

static int run(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    static const struct {
        const char *name;
        int (*function)(void);
    } modes[] = {
        {"session", session},
        {"reopen", reopen},
        {"fork_before", fork_before},
        {"fork_in_threads", fork_in_threads},
        {"executed", executed},
        {"exit_in_threads", exit_in_threads},
        {"cancel", cancel_in_threads},
        {"pending", cancel_pending},
        {"exit_in_handler", exit_in_handler},
        {"few_descriptors", few_descriptors},
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(mode, modes[i].name) == 0) {
            return modes[i].function();
        }
    }
    if (strcmp(mode, "crowded") == 0) {
        return crowded(argc == 3 && strcmp(argv[2], "low") == 0);
    }
    if (strcmp(mode, "execute") == 0) {
        return execute(argv[0]);
    }
    if (strcmp(mode, "small_stack") == 0 && argc == 3) {
        return small_stack(argv[2]);
    }
    if (strcmp(mode, "no_stdio") == 0 && argc == 3) {
        return no_stdio(argv[2]);
    }
    fail("no mode '%s'", mode);
}

int main(int argc, char **argv)
{
    if (run(argc, argv) != 0) {
        fail("mode %s", argv[1]);
    }
    puts("PASSED");
    return 0;
}
