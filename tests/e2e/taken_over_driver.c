/* SPDX-License-Identifier: Apache-2.0 */
/* A software GPU whose launches do what an attacker would who has taken the backend process over:
 * the attack that this library is called by, when it is loaded (NAME.so). All other calls are those
 * of the real one, which this library needs. */
#include <cuda.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "server/channel.h"

/* The descriptor, and not stdio, which the backend process has replaced. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[500];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    (void)!write(2, line, (size_t)length);
}

static void start_a_program(void)
{
    char name[] = "/bin/true";
    char *const none[] = {name, NULL};
    (void)execve(name, none, none + 1);
}

/* The next process of gpuaasd that is not this one, after `last`; 0: there is none. */
static pid_t other_after(pid_t last)
{
    DIR *folder = opendir("/proc");
    pid_t found = 0;
    for (const struct dirent *at; folder != NULL && (at = readdir(folder)) != NULL;) {
        char path[300], name[32] = "";
        int pid = atoi(at->d_name);
        snprintf(path, sizeof path, "/proc/%s/stat", at->d_name);
        FILE *file = pid > last && pid != getpid() ? fopen(path, "re") : NULL;
        if (file != NULL) {
            int parent = 0;
            (void)!fscanf(file, "%*d (%31[^)]) %*c %d", name, &parent);
            fclose(file);
            if (strncmp(name, "gpuaasd", 7) == 0 && parent == getppid() &&
                (found == 0 || pid < found)) {
                found = pid;
            }
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

static void stop_others(void)
{
    for (pid_t pid = 0; (pid = other_after(pid)) != 0;) {
        say("stops %d: %d\n", pid, kill(pid, SIGSTOP) == 0 ? 0 : errno);
    }
}

/* The kernel sends the signal, in the name of whoever waits for the pipe. */
static void kill_others_by_a_descriptor(void)
{
    int fd = open("/proc/self/fd/2", O_RDWR | O_NONBLOCK);
    say("%d is the pipe\n", fd);
    for (pid_t pid = 0; (pid = other_after(pid)) != 0;) {
        if (fcntl(fd, F_SETOWN, pid) == 0 && fcntl(fd, 10 /* F_SETSIG */, SIGKILL) == 0 &&
            fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC) == 0) {
            say("kills %d\n", pid);
        }
    }
}

/* Cuts the log. */
static void empty_the_log(void)
{
    say("empties: %d\n", ftruncate(2, 0) == 0 ? 0 : errno);
    (void)lseek(2, 0, SEEK_SET);
    int again = open("/proc/self/fd/2", O_RDWR | O_TRUNC);
    say("again: %d\n", again);
}

static void forge_lines(void)
{
    say("2026-01-01T00:00:00.000Z gpuaasd[1] error: forged by hand\n");
    say("{\"time\":\"2026-01-01T00:00:00.000Z\",\"level\":\"error\",\"process\":\"gpuaasd\","
        "\"pid\":1,\"msg\":\"forged by hand\"}\n");
    say("<3>192.0.2.7:1\tforged as a record\n");
    say("\r\x1b[2J\x1b[Hforged by a terminal\n");
    (void)!write(2, "no end of the line", 18);
}

static void fill_the_log(void)
{
    char line[4096];
    time_t end = time(NULL) + 3;
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (unsigned i = 0; time(NULL) < end; i++) {
        (void)!write(2, line, sizeof line);
        (void)!write(2, "<3>\tshort\n", 10);
    }
    say("what it has printed last\n");
    abort();
}

/* The process cannot make writable what it may only read. */
static void write_the_grants(void)
{
    char line[300], path[200], grants[200] = "";
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (strstr(line, "gpuaasd-grants") != NULL) {
            snprintf(grants, sizeof grants, "%.190s", line);
        }
    }
    unsigned long from = 0, to = 0;
    if (sscanf(grants, "%lx-%lx %4s", &from, &to, path) != 3) {
        say("no grants\n");
        return;
    }
    say("grants %s: mprotect %d, remove %d\n", path,
        mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) == 0 ? 0 : errno,
        madvise((void *)from, to - from, MADV_REMOVE) == 0 ? 0 : errno);
}

static void say_forbidden_without_being_it(void)
{
    const struct channel_forbidden packet = {.kind = CHANNEL_FORBIDDEN, .call = SYS_execve};
    for (int i = 0; i < 100000; i++) {
        (void)send(CHANNEL_FD, &packet, sizeof packet, MSG_NOSIGNAL);
    }
    say("lives on\n");
    (void)pause();
}

#define BLOCK_MIB 64u

static void take_memory(void)
{
    unsigned mib = 0;
    while (mib < 65536 && mmap(NULL, (size_t)BLOCK_MIB << 20, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED) {
        mib += BLOCK_MIB;
    }
    say("has %u MiB\n", mib);
}

static const struct {
    const char *name;
    void (*make)(void);
} attacks[] = {
    {"start_a_program", start_a_program},
    {"stop_others", stop_others},
    {"kill_others_by_a_descriptor", kill_others_by_a_descriptor},
    {"empty_the_log", empty_the_log},
    {"forge_lines", forge_lines},
    {"fill_the_log", fill_the_log},
    {"write_the_grants", write_the_grants},
    {"take_memory", take_memory},
    {"say_forbidden_without_being_it", say_forbidden_without_being_it},
};

static void attack(void)
{
    Dl_info self;
    const char *name = dladdr((void *)(uintptr_t)attack, &self) != 0 ? self.dli_fname : "";
    name = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        size_t length = strlen(attacks[i].name);
        if (strncmp(name, attacks[i].name, length) == 0 && strcmp(name + length, ".so") == 0) {
            attacks[i].make();
            say("it has tried to %s\n", attacks[i].name);
            return;
        }
    }
    say("there is no attack %s\n", name);
}

__attribute__((visibility("default"))) CUresult
cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block_x,
               unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
               void **parameters, void **extra)
{
    (void)function, (void)x, (void)y, (void)z, (void)block_x, (void)block_y, (void)block_z;
    (void)shared_bytes, (void)stream, (void)parameters, (void)extra;
    attack();
    return CUDA_ERROR_LAUNCH_FAILED;
}
