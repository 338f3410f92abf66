/* SPDX-License-Identifier: Apache-2.0 */
/* A process in the sandbox: what ends it, what fails, and what goes on as before. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/readable.h"
#include "server/tests/confined.h"

static const struct sandbox_needs needs = {.soft = true};

static int prepared; /* a descriptor that the child makes before */

static void run_program(void)
{
    char name[] = "/bin/true";
    char *const none[] = {name, NULL};
    (void)execve(name, none, none + 1);
}

static void start_process(void)
{
    if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
        _exit(0);
    }
}

static void look_into_another(void)
{
    (void)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static void write_into_another(void)
{
    (void)syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0);
}

static void read_from_another(void)
{
    (void)syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static void kill_another(void)
{
    (void)kill(getppid(), SIGUSR2);
}

static void mount_something(void)
{
    (void)syscall(SYS_mount, "none", "/nowhere", "tmpfs", 0, NULL);
}

static void use_bpf(void)
{
    (void)syscall(SYS_bpf, 0, NULL, 0);
}

static void use_keys(void)
{
    (void)syscall(SYS_keyctl, 0, 0, 0, 0, 0);
}

static void become_root(void)
{
    (void)syscall(SYS_setuid, 0);
}

static void leave_namespaces(void)
{
    (void)syscall(SYS_unshare, 0);
}

static void use_io_uring(void)
{
    (void)syscall(SYS_io_uring_setup, 1, NULL);
}

static void connect_elsewhere(void)
{
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)connect(fd, (const struct sockaddr *)&to, sizeof to);
}

static void connect_by_sending(void)
{
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)sendto(fd, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)&to, sizeof to);
}

static void make_datagrams(void)
{
    (void)socket(AF_INET, SOCK_DGRAM, 0);
}

static void open_to_write(void)
{
    (void)open("/dev/null", O_WRONLY);
}

static void make_file(void)
{
    (void)open("/tmp/gpuaas-sandbox", O_RDWR | O_CREAT, 0600);
}

static void make_file_without_name(void)
{
    (void)open("/tmp", O_RDWR | O_TMPFILE, 0600);
}

static void remove_file(void)
{
    (void)unlink("/tmp/gpuaas-sandbox");
}

static void make_folder(void)
{
    (void)mkdir("/tmp/gpuaas-sandbox", 0700);
}

static void make_code(void)
{
    (void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void make_memory_code(void)
{
    (void)mprotect(&prepared, 1, PROT_READ | PROT_EXEC);
}

static void raise_limit(void)
{
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    (void)setrlimit(RLIMIT_NOFILE, &all);
}

static void be_dumpable(void)
{
    (void)prctl(PR_SET_DUMPABLE, 1);
}

static void take_terminal_input(void)
{
    const char byte = 'x';
    (void)syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, &byte);
}

static const struct {
    void (*make)(void);
    long call;
    bool for_users; /* sanitizers may */
} forbidden_calls[] = {
    {run_program, SYS_execve, false},
    {start_process, SYS_clone, true},
    {look_into_another, SYS_ptrace, true},
    {write_into_another, SYS_process_vm_writev, false},
    {read_from_another, SYS_process_vm_readv, false},
    {kill_another, SYS_kill, false},
    {mount_something, SYS_mount, false},
    {use_bpf, SYS_bpf, false},
    {use_keys, SYS_keyctl, false},
    {become_root, SYS_setuid, false},
    {leave_namespaces, SYS_unshare, false},
    {use_io_uring, SYS_io_uring_setup, false},
    {connect_elsewhere, SYS_connect, false},
    {connect_by_sending, SYS_sendto, false},
    {make_datagrams, SYS_socket, false},
    {open_to_write, SYS_openat, false},
    {make_file, SYS_openat, false},
    {make_file_without_name, SYS_openat, false},
    {remove_file, SYS_unlink, true},
    {make_folder, SYS_mkdir, false},
    {make_code, SYS_mmap, false},
    {make_memory_code, SYS_mprotect, false},
    {raise_limit, SYS_prlimit64, false},
    {be_dumpable, SYS_prctl, true},
    {take_terminal_input, SYS_ioctl, false},
};

Test(sandbox, a_call_that_nobody_needs_ends_the_process_and_is_named, .timeout = 60)
{
    for (size_t i = 0; i < sizeof forbidden_calls / sizeof *forbidden_calls; i++) {
        if (forbidden_calls[i].for_users && !FOR_USERS) {
            continue;
        }
        int call;
        int status = confined(&needs, NULL, forbidden_calls[i].make, &call);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "call %ld: status %x",
                  forbidden_calls[i].call, (unsigned)status);
        cr_assert_eq(call, forbidden_calls[i].call, "%d is told, it was %ld", call,
                     forbidden_calls[i].call);
    }
}

static void *nothing(void *data)
{
    return data;
}

static void work_honestly(void)
{
    char path[64];
    int call = 0;
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, nothing, NULL) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    int memory = memfd_create("test", MFD_CLOEXEC);
    MUST(memory >= 0 && ftruncate(memory, 4096) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    int again = open(path, O_RDWR | O_CLOEXEC);
    MUST(again >= 0 && write(again, "x", 1) == 1);
    MUST(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0) != MAP_FAILED);
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    MUST(maps >= 0 && read(maps, path, sizeof path) > 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
    int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    MUST(bind(local, (struct sockaddr *)&name, sizeof(sa_family_t)) == 0 && listen(local, 1) == 0);
    MUST(prctl(PR_SET_NAME, "test") == 0 && prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL) == 0);
    MUST(ga_readable(&call, sizeof call) && !ga_readable(NULL, 1));
    sandbox_listens();
    MUST(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
    MUST(accept(listener, NULL, NULL) < 0 && errno == EAGAIN);
}

static void listen_again(void)
{
    sandbox_listens();
    (void)socket(AF_INET, SOCK_STREAM, 0);
}

Test(sandbox, what_a_backend_process_does_goes_on, .timeout = 60)
{
    int call;
    int status = confined(&needs, NULL, work_honestly, &call);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x, call %d", (unsigned)status,
              call);
}

Test(sandbox, listeners_are_made_once, .timeout = 60)
{
    int call;
    int status = confined(&needs, NULL, listen_again, &call);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS && call == SYS_socket,
              "status %x, call %d", (unsigned)status, call);
}

/* All threads are in it, those from before as well. */
static int gate[2];

static void *call_when_told(void *data)
{
    char byte;
    (void)!read(gate[0], &byte, 1);
    use_bpf();
    return data;
}

Test(sandbox, threads_that_were_there_before_are_in_it, .timeout = 60)
{
    int status;
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        pthread_t thread;
        MUST(pipe(gate) == 0 && pthread_create(&thread, NULL, call_when_told, NULL) == 0);
        enter(&needs);
        MUST(write(gate[1], "x", 1) == 1);
        (void)pthread_join(thread, NULL);
        _exit(0);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status %x", (unsigned)status);
}

/* ---- NVIDIA's driver */

/* Whatever stands in the upper half of an argument. */
static void others_are_safe(void)
{
    const long above = 1L << 32;
    const pid_t parent = getppid();
    int ends[2];
    MUST(pipe(ends) == 0);
    for (long more = 0; more <= above; more += above) {
        MUST(syscall(SYS_fcntl, ends[0], F_SETOWN | more, (long)parent) == -1 && errno == EPERM);
        MUST(syscall(SYS_fcntl, ends[0], 10 /* F_SETSIG */ | more, 9) == -1 && errno == EPERM);
        MUST(syscall(SYS_fcntl, ends[0], 15 /* F_SETOWN_EX */ | more, &parent) == -1);
        MUST(errno == EPERM);
        MUST(syscall(SYS_ioctl, ends[0], 0x8901 /* FIOSETOWN */ | more, &parent) == -1);
        MUST(errno == EPERM);
        MUST(syscall(SYS_kill, parent | more, SIGURG) == -1 && errno == EPERM);
        MUST(syscall(SYS_tgkill, parent | more, parent, SIGURG) == -1 && errno == EPERM);
        MUST(syscall(SYS_tkill, parent | more, SIGURG) == -1 && errno == EPERM);
        MUST(syscall(SYS_prlimit64, parent | more, RLIMIT_NOFILE, ends, NULL) == -1);
        MUST(errno == EPERM);
    }
    MUST(syscall(434 /* pidfd_open */, parent, 0) == -1 && errno == EPERM);
    MUST(kill(parent, 0) == 0 && raise(0) == 0);
}

Test(sandbox, a_driver_that_is_not_ours_is_only_refused_what_none_needs, .timeout = 60)
{
    int status;
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        const struct sandbox_needs other = {.soft = false};
        enter(&other);
        errno = 0;
        run_program();
        MUST(errno == EPERM);
        MUST(ptrace(PTRACE_TRACEME) == -1 && errno == EPERM);
        MUST(open("/dev/null", O_WRONLY) >= 0);
        MUST(mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
        others_are_safe();
        _exit(0);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}

/* ---- files */

static bool kernel_has_landlock(void)
{
    return syscall(444 /* landlock_create_ruleset */, NULL, 0, 1u) >= 1;
}

Test(sandbox, no_file_can_be_changed, .timeout = 60)
{
    int status;
    char path[64], mine[] = "/tmp/gpuaas-sandbox-XXXXXX";
    if (!kernel_has_landlock()) {
        (void)fputs("skipped: this kernel has no Landlock\n", stderr);
        return;
    }
    int file = mkstemp(mine);
    cr_assert_geq(file, 0);
    close(file);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        int memory = memfd_create("test", MFD_CLOEXEC);
        sandbox_files();
        MUST(open(mine, O_RDWR) == -1 && errno == EACCES);
        MUST(open("/tmp/gpuaas-sandbox-new", O_RDWR | O_CREAT, 0600) == -1 && errno == EACCES);
        MUST(unlink(mine) == -1 && errno == EACCES);
        MUST(truncate(mine, 1) == -1 && errno == EACCES);
        MUST(mkdir("/tmp/gpuaas-sandbox-new", 0700) == -1 && errno == EACCES);
        MUST(open(mine, O_RDONLY) >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
        MUST(open(path, O_RDWR) >= 0); /* which has no name that anybody knows */
        snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
        MUST(open(path, O_RDONLY) == -1);
        errno = 0;
        run_program();
        MUST(errno == EACCES);
        _exit(0);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    unlink(mine);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}
