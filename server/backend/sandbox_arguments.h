/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of a backend process of which some arguments alone are allowed, for sandbox.c.
 * Arguments that are not named here are not allowed; docs/isolation.md says why.
 *
 * Note: an argument is 64 bits here, and often 32 for the kernel. A list of what is allowed may
 * compare all of them, because a caller that fills the upper half only forbids itself the call. A
 * list of what is refused must not: it compares with LOW. */
#ifndef SERVER_BACKEND_SANDBOX_ARGUMENTS_H
#define SERVER_BACKEND_SANDBOX_ARGUMENTS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

struct argument_rule {
    int call;
    unsigned count;
    struct scmp_arg_cmp arguments[3];
};

/* The condition of a rule for an argument. */
#define IS(index, value)     SCMP_CMP(index, SCMP_CMP_EQ, (scmp_datum_t)(value))
#define IS_NOT(index, value) SCMP_CMP(index, SCMP_CMP_NE, (scmp_datum_t)(value))
#define LOW(index, value)    SCMP_CMP(index, SCMP_CMP_MASKED_EQ, 0xffffffffu, (scmp_datum_t)(value))
#define NO_BITS_BUT(index, bits)                                                                   \
    SCMP_CMP(index, SCMP_CMP_MASKED_EQ, (scmp_datum_t)(uint32_t) ~(uint32_t)(bits), 0)
#define NO_BITS_OF(index, bits)                                                                    \
    SCMP_CMP(index, SCMP_CMP_MASKED_EQ, (scmp_datum_t)(uint32_t)(bits), 0)
#define IS_STREAM(index) SCMP_CMP(index, SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM)
#define FUTEX_IS(operation)                                                                        \
    SCMP_CMP(1, SCMP_CMP_MASKED_EQ,                                                                \
             (scmp_datum_t)(uint32_t) ~(uint32_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME),      \
             (operation))

/* Values of kernels that are newer than the headers may be. */
#define KERNEL_LARGEFILE       0100000    /* O_LARGEFILE, which is 0 for programs of 64 bits */
#define NAMES_OF_MEMORY        0x53564d41 /* PR_SET_VMA, which glibc calls if the kernel knows it */
#define MADV_GUARD_INSTALL_NOW 102        /* of Linux 6.13: the end of a thread's stack */
#define MADV_GUARD_REMOVE_NOW  103
#define MFD_NOEXEC_SEAL_NOW    8u

/* Not made, cut or grown, not opened for writing alone, nor with a signal. (Memory files, which
 * have no name, are opened again for reading and writing.) */
#define OPEN_FLAGS                                                                                 \
    (O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_DIRECTORY | O_NOCTTY | O_PATH |              \
     KERNEL_LARGEFILE)
/* No O_ASYNC, which sends signals; no O_APPEND, which others would have, too, where a descriptor
 * has been passed to them. */
#define STATUS_FLAGS (O_ACCMODE | O_NONBLOCK | KERNEL_LARGEFILE)
#define SEND_FLAGS   (MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE | MSG_EOR)
/* As libc starts threads; so no process and no namespace. */
#define THREAD_FLAGS                                                                               \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_THREAD |            \
     CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

static const struct argument_rule arguments_allowed[] = {
    {SCMP_SYS(openat), 1, {NO_BITS_BUT(2, OPEN_FLAGS)}},
    {SCMP_SYS(open), 1, {NO_BITS_BUT(1, OPEN_FLAGS)}},
    /* descriptors: no owner, no signal, no lease, no notification, no size of a pipe */
    {SCMP_SYS(fcntl), 1, {IS(1, F_DUPFD)}},
    {SCMP_SYS(fcntl), 1, {IS(1, F_DUPFD_CLOEXEC)}},
    {SCMP_SYS(fcntl), 1, {IS(1, F_GETFD)}},
    {SCMP_SYS(fcntl), 1, {IS(1, F_SETFD)}},
    {SCMP_SYS(fcntl), 1, {IS(1, F_GETFL)}},
    {SCMP_SYS(fcntl), 2, {IS(1, F_SETFL), NO_BITS_BUT(2, STATUS_FLAGS)}},
    {SCMP_SYS(fcntl), 1, {IS(1, F_OFD_GETLK)}},
    {SCMP_SYS(fcntl), 1, {IS(1, F_OFD_SETLK)}},
    {SCMP_SYS(fcntl), 1, {IS(1, F_ADD_SEALS)}},
    {SCMP_SYS(fcntl), 1, {IS(1, F_GET_SEALS)}},
    {SCMP_SYS(ioctl), 1, {IS(1, FIONREAD)}},
    {SCMP_SYS(ioctl), 1, {IS(1, FIONBIO)}},
    {SCMP_SYS(ioctl), 1, {IS(1, TCGETS)}},
    {SCMP_SYS(memfd_create),
     1,
     {NO_BITS_BUT(1, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL_NOW)}},
    {SCMP_SYS(fallocate), 1, {IS(1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)}},
    /* sockets: those that listen are made, but none connects; no filter, no credentials */
    {SCMP_SYS(socket), 2, {IS(0, AF_INET), IS_STREAM(1)}},
    {SCMP_SYS(socket), 2, {IS(0, AF_INET6), IS_STREAM(1)}},
    {SCMP_SYS(socket), 2, {IS(0, AF_UNIX), IS_STREAM(1)}},
    {SCMP_SYS(sendto), 1, {NO_BITS_BUT(3, SEND_FLAGS)}},
    {SCMP_SYS(sendmsg), 1, {NO_BITS_BUT(2, SEND_FLAGS)}},
    {SCMP_SYS(setsockopt), 2, {IS(1, SOL_SOCKET), IS(2, SO_KEEPALIVE)}},
    {SCMP_SYS(setsockopt), 2, {IS(1, SOL_SOCKET), IS(2, SO_REUSEADDR)}},
    {SCMP_SYS(setsockopt), 2, {IS(1, IPPROTO_TCP), IS(2, TCP_NODELAY)}},
    {SCMP_SYS(setsockopt), 2, {IS(1, IPPROTO_TCP), IS(2, TCP_KEEPIDLE)}},
    {SCMP_SYS(setsockopt), 2, {IS(1, IPPROTO_TCP), IS(2, TCP_KEEPINTVL)}},
    {SCMP_SYS(setsockopt), 2, {IS(1, IPPROTO_TCP), IS(2, TCP_USER_TIMEOUT)}},
    {SCMP_SYS(getsockopt), 2, {IS(1, SOL_SOCKET), IS(2, SO_ERROR)}},
    {SCMP_SYS(getsockopt), 2, {IS(1, SOL_SOCKET), IS(2, SO_TYPE)}},
    {SCMP_SYS(getsockopt), 2, {IS(1, SOL_SOCKET), IS(2, SO_DOMAIN)}},
    {SCMP_SYS(getsockopt), 2, {IS(1, SOL_SOCKET), IS(2, SO_PEERCRED)}},
    {SCMP_SYS(getsockopt), 2, {IS(1, IPPROTO_TCP), IS(2, TCP_INFO)}},
    /* memory: none that is locked, none of the machine's huge pages, none that others give up */
    {SCMP_SYS(madvise), 1, {IS(2, MADV_DONTNEED)}},
    {SCMP_SYS(madvise), 1, {IS(2, MADV_FREE)}},
    {SCMP_SYS(madvise), 1, {IS(2, MADV_REMOVE)}},
    {SCMP_SYS(madvise), 1, {IS(2, MADV_DONTFORK)}},
    {SCMP_SYS(madvise), 1, {IS(2, MADV_HUGEPAGE)}},
    {SCMP_SYS(madvise), 1, {IS(2, MADV_NOHUGEPAGE)}},
    {SCMP_SYS(madvise), 1, {IS(2, MADV_DONTDUMP)}},
    {SCMP_SYS(madvise), 1, {IS(2, MADV_GUARD_INSTALL_NOW)}},
    {SCMP_SYS(madvise), 1, {IS(2, MADV_GUARD_REMOVE_NOW)}},
    /* threads: nothing that raises somebody's priority */
    {SCMP_SYS(futex), 1, {FUTEX_IS(FUTEX_WAIT)}},
    {SCMP_SYS(futex), 1, {FUTEX_IS(FUTEX_WAKE)}},
    {SCMP_SYS(futex), 1, {FUTEX_IS(FUTEX_CMP_REQUEUE)}},
    {SCMP_SYS(futex), 1, {FUTEX_IS(FUTEX_WAKE_OP)}},
    {SCMP_SYS(futex), 1, {FUTEX_IS(FUTEX_WAIT_BITSET)}},
    {SCMP_SYS(futex), 1, {FUTEX_IS(FUTEX_WAKE_BITSET)}},
    {SCMP_SYS(clone), 1, {IS(0, THREAD_FLAGS)}},
    {SCMP_SYS(kill), 1, {IS(1, 0)}}, /* whether it is there */
    {SCMP_SYS(prlimit64), 1, {IS(2, 0)}},
    {SCMP_SYS(prctl), 1, {IS(0, PR_SET_NAME)}},
    {SCMP_SYS(prctl), 1, {IS(0, PR_GET_NAME)}},
    {SCMP_SYS(prctl), 1, {IS(0, PR_SET_TIMERSLACK)}},
    {SCMP_SYS(prctl), 1, {IS(0, PR_SET_NO_NEW_PRIVS)}},
    {SCMP_SYS(prctl), 1, {IS(0, NAMES_OF_MEMORY)}},
    /* a filter can only be made narrower; it answers for nobody */
    {SCMP_SYS(seccomp),
     2,
     {IS(0, 1 /* SECCOMP_SET_MODE_FILTER */),
      NO_BITS_OF(1, 8 /* SECCOMP_FILTER_FLAG_NEW_LISTENER */)}},
    {SCMP_SYS(seccomp), 1, {IS(0, 2 /* SECCOMP_GET_ACTION_AVAIL */)}},
};

#define MAP_FORBIDDEN (MAP_HUGETLB | MAP_LOCKED)

/* Code is not made while the process runs. */
static const struct argument_rule memory_allowed[] = {
    {SCMP_SYS(mmap), 2, {NO_BITS_OF(2, PROT_EXEC), NO_BITS_OF(3, MAP_FORBIDDEN)}},
    {SCMP_SYS(mprotect), 1, {NO_BITS_OF(2, PROT_EXEC)}},
};

/* Where there is a card for RDMA: libibverbs loads what is for it when a connection asks, talks
 * with it by requests of its own kind (0x1b), asks the kernel by netlink, and locks memory. */
static const struct argument_rule rdma_allowed[] = {
    {SCMP_SYS(mmap), 0, {{0}}},
    {SCMP_SYS(mprotect), 0, {{0}}},
    {SCMP_SYS(mlock), 0, {{0}}},
    {SCMP_SYS(munlock), 0, {{0}}},
    {SCMP_SYS(madvise), 0, {{0}}},
    {SCMP_SYS(epoll_create1), 0, {{0}}},
    {SCMP_SYS(pipe2), 0, {{0}}},
    {SCMP_SYS(ioctl), 1, {SCMP_CMP(1, SCMP_CMP_MASKED_EQ, 0xff00, 0x1b00)}},
    {SCMP_SYS(socket), 1, {IS(0, AF_NETLINK)}},
    {SCMP_SYS(setsockopt), 2, {IS(1, SOL_SOCKET), IS(2, SO_RCVBUF)}},
    {SCMP_SYS(setsockopt), 2, {IS(1, SOL_SOCKET), IS(2, SO_SNDBUF)}},
    {SCMP_SYS(setsockopt), 1, {IS(1, 270 /* SOL_NETLINK */)}},
};

/* Calls of sanitizers and failpoints. */
static const struct argument_rule tests_allowed[] = {
    {SCMP_SYS(fcntl), 1, {IS(1, F_OFD_SETLKW)}},
    {SCMP_SYS(socketpair), 1, {IS(0, AF_UNIX)}},
};

/* Calls of programs' software GPUs for a stopped process; between tenants nobody makes them. */
static const struct argument_rule arguments_refused[] = {
    {SCMP_SYS(kill), 1, {LOW(1, SIGCONT)}},
    {SCMP_SYS(kill), 1, {LOW(1, SIGSTOP)}},
};

/* Calls that no driver of a GPU needs, once it is open. */
static const struct argument_rule driver_refused[] = {
    {SCMP_SYS(fcntl), 1, {LOW(1, F_SETOWN)}},
    {SCMP_SYS(fcntl), 1, {LOW(1, 10 /* F_SETSIG */)}},
    {SCMP_SYS(fcntl), 1, {LOW(1, 15 /* F_SETOWN_EX */)}},
    {SCMP_SYS(fcntl), 1, {LOW(1, 1024 /* F_SETLEASE */)}},
    {SCMP_SYS(ioctl), 1, {LOW(1, 0x8901 /* FIOSETOWN */)}},
    {SCMP_SYS(ioctl), 1, {LOW(1, 0x8902 /* SIOCSPGRP */)}},
    {SCMP_SYS(ioctl), 1, {LOW(1, 0x5412 /* TIOCSTI */)}},
    {SCMP_SYS(prlimit64), 2, {IS_NOT(0, 0), IS_NOT(2, 0)}},
};

#endif
