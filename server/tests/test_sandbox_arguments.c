/* SPDX-License-Identifier: Apache-2.0 */
/* Each system call of which a process in the sandbox may make some: values that are allowed, and
 * what somebody who has taken it over would give instead. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "server/tests/confined.h"

enum outcome { RUNS, ENDS, FAILS /* with EPERM */ };

struct row {
    const char *what;
    long call;
    enum outcome due;
    long of[6];
    bool for_users; /* sanitizers may */
};

/* Descriptors of the process before it enters. */
enum { MEMORY = 10, SOCKET, PEER, PIPE_IN, PIPE_OUT, LISTENER };
#define ABOVE (1L << 32) /* the kernel does not look at it where an argument has 32 bits */
#define SELF  (-1000L)
#define OTHER (-1001L)

static int number, word;
static socklen_t number_bytes = sizeof number;
static const struct sockaddr_in somewhere = {.sin_family = AF_INET, .sin_port = 256};
static const struct timespec moment = {.tv_nsec = 1};

#define AT(place) ((long)(uintptr_t)(place))

static const struct row rows[] = {
    /* a signal that the kernel sends for a descriptor */
    {"an owner", SYS_fcntl, ENDS, {PIPE_IN, F_SETOWN, OTHER}, false},
    {"an owner, above", SYS_fcntl, ENDS, {PIPE_IN, F_SETOWN | ABOVE, OTHER}, false},
    {"an owner, extended", SYS_fcntl, ENDS, {PIPE_IN, 15, AT(&number)}, false},
    {"whose it is", SYS_fcntl, ENDS, {PIPE_IN, F_GETOWN}, false},
    {"a signal", SYS_fcntl, ENDS, {PIPE_IN, 10, SIGKILL}, false},
    {"O_ASYNC", SYS_fcntl, ENDS, {PIPE_IN, F_SETFL, O_ASYNC | O_NONBLOCK}, false},
    {"O_APPEND", SYS_fcntl, ENDS, {MEMORY, F_SETFL, O_APPEND}, false},
    {"O_DIRECT", SYS_fcntl, ENDS, {PIPE_IN, F_SETFL, O_DIRECT}, false},
    {"a lease", SYS_fcntl, ENDS, {MEMORY, 1024, F_RDLCK}, false},
    {"notification", SYS_fcntl, ENDS, {MEMORY, 1026, 1}, false},
    {"a pipe's size", SYS_fcntl, ENDS, {PIPE_IN, 1031, 1 << 20}, false},
    {"a lock of the process", SYS_fcntl, ENDS, {MEMORY, F_SETLK, AT(&number)}, false},
    {"a lock that waits", SYS_fcntl, ENDS, {MEMORY, 38, AT(&number)}, true},
    {"a hint of life time", SYS_fcntl, ENDS, {MEMORY, 1036, AT(&number)}, false},
    {"O_NONBLOCK", SYS_fcntl, RUNS, {SOCKET, F_SETFL, O_RDWR | O_NONBLOCK}, false},
    {"flags", SYS_fcntl, RUNS, {SOCKET, F_GETFL}, false},
    {"another number", SYS_fcntl, RUNS, {SOCKET, F_DUPFD_CLOEXEC, 20}, false},
    {"seals", SYS_fcntl, RUNS, {MEMORY, F_ADD_SEALS, F_SEAL_SHRINK}, false},
    {"FIOASYNC", SYS_ioctl, ENDS, {PIPE_IN, FIOASYNC, AT(&number)}, false},
    {"FIOSETOWN", SYS_ioctl, ENDS, {SOCKET, 0x8901, AT(&number)}, false},
    {"SIOCSPGRP", SYS_ioctl, ENDS, {SOCKET, 0x8902, AT(&number)}, false},
    {"TIOCSTI", SYS_ioctl, ENDS, {0, 0x5412, AT(&number)}, false},
    {"the card's requests", SYS_ioctl, ENDS, {0, 0xc0181b01, AT(&number)}, false},
    {"bytes to read", SYS_ioctl, RUNS, {PIPE_OUT, FIONREAD, AT(&number)}, false},
    /* signals and processes */
    {"SIGSTOP to another", SYS_kill, FAILS, {OTHER, SIGSTOP}, false},
    {"SIGCONT to another", SYS_kill, FAILS, {OTHER, SIGCONT}, false},
    {"SIGKILL to another", SYS_kill, ENDS, {OTHER, SIGKILL}, false},
    {"SIGSTOP, above", SYS_kill, FAILS, {OTHER, SIGSTOP | ABOVE}, false},
    {"SIGUSR1, above", SYS_kill, ENDS, {OTHER, SIGUSR1 | ABOVE}, false},
    {"whether it lives", SYS_kill, RUNS, {OTHER, 0}, false},
    {"a thread of another", SYS_tgkill, ENDS, {OTHER, OTHER, SIGURG}, false},
    {"a thread of another", SYS_tkill, ENDS, {OTHER, SIGURG}, false},
    {"its own thread", SYS_tgkill, RUNS, {SELF, SELF, 0}, false},
    {"a signal with a value", SYS_rt_sigqueueinfo, ENDS, {OTHER, SIGURG, AT(&number)}, false},
    {"the same to a thread", SYS_rt_tgsigqueueinfo, ENDS, {OTHER, OTHER, SIGURG}, false},
    {"pidfd_open", 434, ENDS, {OTHER}, false},
    {"pidfd_send_signal", 424, ENDS, {MEMORY, SIGKILL}, false},
    {"pidfd_getfd", 438, ENDS, {MEMORY, 2}, false},
    {"process_madvise", 440, ENDS, {MEMORY, AT(&number), 0, MADV_COLD}, false},
    {"process_mrelease", 448, ENDS, {MEMORY}, false},
    {"waitid of a pidfd", SYS_waitid, ENDS, {3 /* P_PIDFD */, MEMORY, 0, WEXITED}, false},
    {"kcmp", SYS_kcmp, ENDS, {OTHER, SELF}, false},
    {"move_pages", SYS_move_pages, ENDS, {OTHER}, false},
    {"migrate_pages", SYS_migrate_pages, ENDS, {OTHER}, false},
    {"a processor", SYS_sched_setaffinity, ENDS, {OTHER, sizeof number, AT(&number)}, false},
    {"a policy", SYS_sched_setscheduler, ENDS, {OTHER, SCHED_IDLE, AT(&number)}, false},
    {"a policy with more", SYS_sched_setattr, ENDS, {OTHER, AT(&number)}, false},
    {"a priority", SYS_setpriority, ENDS, {0, OTHER, 19}, false},
    {"a priority of the disk", 251, ENDS, {1, OTHER, 3 << 13}, false},
    {"limits of another", SYS_prlimit64, ENDS, {OTHER, 7, AT(&somewhere), 0}, false},
    {"a group of processes", SYS_setpgid, ENDS, {0, 0}, false},
    {"a session", SYS_setsid, ENDS, {0}, false},
    {"another's robust list", SYS_get_robust_list, ENDS, {OTHER, AT(&moment)}, false},
    {"a process", SYS_clone, ENDS, {SIGCHLD}, true},
    {"a thread with names of its own", SYS_clone, ENDS, {0x3d0f00 | CLONE_NEWNS}, true},
    {"a thread without a signal table", SYS_clone, ENDS, {CLONE_THREAD}, true},
    {"vfork", SYS_vfork, ENDS, {0}, false},
    {"who kills it with its parent", SYS_prctl, ENDS, {PR_SET_PDEATHSIG, 0}, true},
    {"who may look into it", SYS_prctl, ENDS, {PR_SET_DUMPABLE, 1}, true},
    {"who may look into it", SYS_prctl, ENDS, {0x59616d61 /* PR_SET_PTRACER */, -1}, true},
    {"orphans of others", SYS_prctl, ENDS, {36 /* PR_SET_CHILD_SUBREAPER */, 1}, true},
    {"pages that are one with others'", SYS_prctl, ENDS, {67 /* PR_SET_MEMORY_MERGE */, 1}, true},
    {"what a processor guesses", SYS_prctl, ENDS, {53 /* PR_SET_SPECULATION_CTRL */}, true},
    {"a name", SYS_prctl, RUNS, {PR_SET_NAME, AT("name")}, false},
    /* sockets */
    {"a filter's program", SYS_setsockopt, ENDS, {SOCKET, SOL_SOCKET, 26, AT(&number), 4}, false},
    {"a filter", SYS_setsockopt, ENDS, {SOCKET, SOL_SOCKET, 50, AT(&number), 4}, false},
    {"others' credentials", SYS_setsockopt, ENDS, {SOCKET, SOL_SOCKET, 16, AT(&number), 4}, false},
    {"others' pidfd", SYS_setsockopt, ENDS, {SOCKET, SOL_SOCKET, 76, AT(&number), 4}, false},
    {"a large buffer",
     SYS_setsockopt,
     ENDS,
     {SOCKET, SOL_SOCKET, SO_RCVBUF, AT(&number), 4},
     false},
    {"a mark", SYS_setsockopt, ENDS, {SOCKET, SOL_SOCKET, SO_MARK, AT(&number), 4}, false},
    {"a port of others", SYS_setsockopt, ENDS, {SOCKET, SOL_SOCKET, 15, AT(&number), 4}, false},
    {"a protocol above", SYS_setsockopt, ENDS, {LISTENER, IPPROTO_TCP, 31, AT("tls"), 4}, false},
    {"tables of addresses",
     SYS_setsockopt,
     ENDS,
     {LISTENER, IPPROTO_IP, 64, AT(&number), 4},
     false},
    {"no delay", SYS_setsockopt, RUNS, {LISTENER, IPPROTO_TCP, TCP_NODELAY, AT(&number), 4}, false},
    {"its peer's pidfd",
     SYS_getsockopt,
     ENDS,
     {SOCKET, SOL_SOCKET, 77, AT(&number), AT(&number_bytes)},
     false},
    {"an error",
     SYS_getsockopt,
     RUNS,
     {SOCKET, SOL_SOCKET, SO_ERROR, AT(&number), AT(&number_bytes)},
     false},
    {"a connection by sending",
     SYS_sendto,
     ENDS,
     {LISTENER, AT("x"), 1, MSG_FASTOPEN, AT(&somewhere), sizeof somewhere},
     false},
    {"urgent bytes", SYS_sendto, ENDS, {SOCKET, AT("x"), 1, MSG_OOB}, false},
    {"bytes", SYS_sendto, RUNS, {SOCKET, AT("x"), 1, MSG_NOSIGNAL | MSG_DONTWAIT}, false},
    {"a connection", SYS_connect, ENDS, {LISTENER, AT(&somewhere), sizeof somewhere}, false},
    {"many messages", SYS_sendmmsg, ENDS, {SOCKET, AT(&number), 0, 0}, false},
    {"datagrams", SYS_socket, ENDS, {AF_INET, SOCK_DGRAM, 0}, false},
    {"packets", SYS_socket, ENDS, {17 /* AF_PACKET */, SOCK_RAW, 0}, false},
    {"netlink", SYS_socket, ENDS, {16, SOCK_RAW, 0}, false},
    {"the kernel's ciphers", SYS_socket, ENDS, {38, SOCK_STREAM, 0}, false},
    {"virtual machines", SYS_socket, ENDS, {40, SOCK_STREAM, 0}, false},
    {"a pair of sockets", SYS_socketpair, ENDS, {AF_UNIX, SOCK_STREAM, 0, AT(&somewhere)}, true},
    /* memory */
    {"memory with code",
     SYS_mmap,
     ENDS,
     {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0},
     false},
    {"the machine's huge pages",
     SYS_mmap,
     ENDS,
     {0, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0},
     false},
    {"locked memory",
     SYS_mmap,
     ENDS,
     {0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0},
     false},
    {"memory", SYS_mmap, RUNS, {0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}, false},
    {"code", SYS_mprotect, ENDS, {0, 4096, PROT_READ | PROT_EXEC}, false},
    {"code by a key", 329 /* pkey_mprotect */, ENDS, {0, 4096, PROT_EXEC, 0}, false},
    {"huge pages in a file", SYS_memfd_create, ENDS, {AT("x"), 4 /* MFD_HUGETLB */}, false},
    {"a memory file", SYS_memfd_create, RUNS, {AT("x"), MFD_CLOEXEC | MFD_ALLOW_SEALING}, false},
    {"memory of others", SYS_shmat, ENDS, {0, 0, 0}, false},
    {"memory for others", SYS_shmget, ENDS, {1, 4096, 0600 | 01000}, false},
    {"messages", SYS_msgget, ENDS, {1, 0}, false},
    {"semaphores", SYS_semget, ENDS, {1, 1, 0}, false},
    {"locking memory", SYS_mlock, ENDS, {AT(&word), 4}, false},
    {"locking all memory", SYS_mlockall, ENDS, {1}, false},
    {"pages that are one with others'", SYS_madvise, ENDS, {0, 4096, 12 /* MERGEABLE */}, false},
    {"pages that are broken", SYS_madvise, ENDS, {0, 4096, 100 /* HWPOISON */}, false},
    {"pages that others use", SYS_madvise, ENDS, {0, 4096, 21 /* PAGEOUT */}, false},
    {"large pages", SYS_madvise, RUNS, {0, 4096, MADV_HUGEPAGE}, false},
    {"growing a file", SYS_fallocate, ENDS, {MEMORY, 0, 0, 4096}, false},
    {"faults of its own", SYS_userfaultfd, ENDS, {0}, false},
    {"secret memory", 447 /* memfd_secret */, ENDS, {0}, false},
    /* threads */
    {"a lock that raises priorities", SYS_futex, ENDS, {AT(&word), FUTEX_LOCK_PI, 0, 0}, false},
    {"the same, private", SYS_futex, ENDS, {AT(&word), FUTEX_LOCK_PI_PRIVATE, 0, 0}, false},
    {"the same, to try", SYS_futex, ENDS, {AT(&word), FUTEX_TRYLOCK_PI, 0, 0}, false},
    {"waking into one", SYS_futex, ENDS, {AT(&word), FUTEX_CMP_REQUEUE_PI, 1, 1, AT(&word)}, false},
    {"many words", 449 /* futex_waitv */, ENDS, {AT(&word), 1}, false},
    {"waking", SYS_futex, RUNS, {AT(&word), FUTEX_WAKE_PRIVATE, 1}, false},
    {"waiting", SYS_futex, RUNS, {AT(&word), FUTEX_WAIT, 0, AT(&moment)}, false},
    /* files */
    {"a file that is made",
     SYS_openat,
     ENDS,
     {AT_FDCWD, AT("/tmp/x"), O_RDWR | O_CREAT, 0600},
     false},
    {"a file that is cut", SYS_openat, ENDS, {AT_FDCWD, AT("/tmp/x"), O_RDWR | O_TRUNC}, false},
    {"a file that is written", SYS_open, ENDS, {AT("/dev/null"), O_WRONLY}, false},
    {"the same, above", SYS_open, ENDS, {AT("/dev/null"), O_WRONLY | ABOVE}, false},
    {"an end to write at", SYS_open, ENDS, {AT("/dev/null"), O_RDWR | O_APPEND}, false},
    {"by a new call", 437 /* openat2 */, ENDS, {AT_FDCWD, AT("/dev/null"), AT(&moment), 24}, false},
    {"by a handle", SYS_open_by_handle_at, ENDS, {AT_FDCWD, AT(&moment), 0}, false},
    {"a file to read", SYS_open, RUNS, {AT("/dev/null"), O_RDONLY | O_CLOEXEC}, false},
    {"what others see of files", SYS_flock, ENDS, {MEMORY, 2}, false},
    {"watching files", SYS_inotify_init1, ENDS, {0}, false},
    {"watching files", SYS_fanotify_init, ENDS, {0, 0}, false},
    {"the whole disk", SYS_syncfs, ENDS, {MEMORY}, false},
    {"from pipe to pipe", SYS_tee, ENDS, {PIPE_OUT, PIPE_IN, 1, 0}, false},
    {"pages into a pipe", SYS_vmsplice, ENDS, {PIPE_IN, AT(&moment), 0, 0}, false},
    {"a pipe", SYS_pipe2, ENDS, {AT(&moment), 0}, true},
    {"watches", SYS_epoll_create1, ENDS, {0}, false},
    /* filters, keys, timers */
    {"a filter that asks", SYS_seccomp, ENDS, {1, 8, AT(&moment)}, false},
    {"a filter", SYS_seccomp, RUNS, {1, 0, 0}, false},
    {"a filter of files", 444 /* landlock_create_ruleset */, ENDS, {0, 0, 1}, false},
    {"keys", SYS_add_key, ENDS, {AT("user"), AT("x"), AT("x"), 1, -3}, false},
    {"a timer with a signal", SYS_timer_create, ENDS, {0, 0, AT(&number)}, false},
    {"a timer with a descriptor", SYS_timerfd_create, ENDS, {0, 0}, false},
    {"an alarm", SYS_alarm, ENDS, {1}, false},
    {"signals as a descriptor", SYS_signalfd4, ENDS, {-1, AT(&moment), 8, 0}, false},
    {"events of the processor", SYS_perf_event_open, ENDS, {0}, false},
    {"personality", SYS_personality, ENDS, {0x400000 /* READ_IMPLIES_EXEC */}, false},
    {"a security module's own", 459 /* lsm_get_self_attr */, ENDS, {0}, false},
};

static const struct row *made;
static pid_t other;

static long argument(int which)
{
    long value = made->of[which];
    return value == SELF ? getpid() : value == OTHER ? other : value;
}

static void prepare(void)
{
    int pair[2], pipe[2], memory = memfd_create("test", MFD_ALLOW_SEALING);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pid_t parent = getpid();
    other = fork();
    if (other == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) { /* or it has gone already */
            (void)pause();
        }
        _exit(0);
    }
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe2(pipe, 0) == 0 && memory >= 0);
    MUST(dup2(memory, MEMORY) == MEMORY && dup2(pair[0], SOCKET) == SOCKET);
    MUST(dup2(pair[1], PEER) == PEER && dup2(pipe[1], PIPE_IN) == PIPE_IN);
    MUST(dup2(pipe[0], PIPE_OUT) == PIPE_OUT && dup2(listener, LISTENER) == LISTENER);
}

static void make(void)
{
    errno = 0;
    (void)syscall(made->call, argument(0), argument(1), argument(2), argument(3), argument(4),
                  argument(5));
    _exit(errno == EPERM ? 3 : 0);
}

Test(sandbox_arguments, only_what_is_named_is_allowed, .timeout = 120)
{
    const struct sandbox_needs needs = {.soft = true};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made = &rows[i];
        if (made->for_users && !FOR_USERS) {
            continue;
        }
        int call, status = confined(&needs, prepare, make, &call);
        if (made->due == ENDS) {
            cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS && call == made->call,
                      "%s (system call %ld): status %x, told %d", made->what, made->call,
                      (unsigned)status, call);
        } else {
            cr_expect(WIFEXITED(status) && (WEXITSTATUS(status) == 3) == (made->due == FAILS),
                      "%s (system call %ld): status %x, told %d", made->what, made->call,
                      (unsigned)status, call);
        }
    }
}

/* ---- other doors */

#ifdef __x86_64__
/* By the numbers of 32 bits, among which 4 is writing. */
static void call_as_32_bits(void)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
    _exit(0);
}

static void call_as_x32(void)
{
    (void)syscall(0x40000000 + SYS_getpid);
    _exit(0);
}

Test(sandbox_arguments, no_other_numbers_of_calls_are_taken, .timeout = 60)
{
    const struct sandbox_needs needs = {.soft = true};
    int call, status = confined(&needs, NULL, call_as_32_bits, &call);
    cr_assert(WIFSIGNALED(status), "status %x", (unsigned)status);
    status = confined(&needs, NULL, call_as_x32, &call);
    cr_assert(WIFSIGNALED(status), "status %x", (unsigned)status);
}
#endif
