/* SPDX-License-Identifier: Apache-2.0 */
/* The filter (seccomp), made by libseccomp. The kernel does not make a call that is not allowed,
 * but sends SIGSYS, whose handler tells gpuaasd which call it was and ends the process. */
#include "server/backend/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/backend/sandbox_list.h"
#include "server/channel.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* What a rule wants of an argument. */
#define IS(index, value)     SCMP_CMP(index, SCMP_CMP_EQ, (scmp_datum_t)(value))
#define WITHOUT(index, bits) SCMP_CMP(index, SCMP_CMP_MASKED_EQ, (scmp_datum_t)(bits), 0)
#define WITH(index, bits)    SCMP_CMP(index, SCMP_CMP_MASKED_EQ, (scmp_datum_t)(bits), (bits))
#define IS_STREAM(index)     SCMP_CMP(index, SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM)

#define FILES_ARE_MADE  (O_WRONLY | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define NAMES_OF_MEMORY 0x53564d41 /* PR_SET_VMA, which glibc calls if the kernel knows it */

static bool listens_too; /* these calls can be taken away, too */

static void forbidden(int number, siginfo_t *info, void *context)
{
    (void)context;
    const struct channel_forbidden packet = {.kind = CHANNEL_FORBIDDEN, .call = info->si_syscall};
    (void)!send(CHANNEL_FD, &packet, sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL);
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    (void)sigaction(number, &standard, NULL);
    (void)raise(number); /* blocked until the handler returns */
}

/* The first error, as libseccomp has it. */
static int calls_add(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = seccomp_rule_add(filter, action, calls[i], 0);
        rc = rc == -EEXIST || rc == -EACCES ? 0 : rc; /* that is the standard action */
    }
    return rc;
}

struct argument_rule {
    int call;
    unsigned count;
    struct scmp_arg_cmp arguments[2];
};

static int rules_add(scmp_filter_ctx filter, const struct argument_rule *rules, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].call, rules[i].count,
                                    rules[i].arguments);
    }
    return rc;
}

/* Files are not made, and not opened for writing alone. (Memory files, which have no name, are
 * opened again for reading and writing.) Sockets do not connect, but those that listen are made.
 * Threads start, processes do not. A node continues and stops other processes that stand still. */
static int narrow_add(scmp_filter_ctx filter)
{
    const struct argument_rule rules[] = {
        {SCMP_SYS(openat), 1, {WITHOUT(2, FILES_ARE_MADE)}},
        {SCMP_SYS(open), 1, {WITHOUT(1, FILES_ARE_MADE)}},
        {SCMP_SYS(socket), 2, {IS(0, AF_INET), IS_STREAM(1)}},
        {SCMP_SYS(socket), 2, {IS(0, AF_INET6), IS_STREAM(1)}},
        {SCMP_SYS(socket), 2, {IS(0, AF_UNIX), IS_STREAM(1)}},
        {SCMP_SYS(socketpair), 1, {IS(0, AF_UNIX)}},
        {SCMP_SYS(sendto), 1, {WITHOUT(3, MSG_FASTOPEN)}}, /* which connects */
        {SCMP_SYS(sendmsg), 1, {WITHOUT(2, MSG_FASTOPEN)}},
        {SCMP_SYS(sendmmsg), 1, {WITHOUT(3, MSG_FASTOPEN)}},
        {SCMP_SYS(ioctl), 1, {IS(1, FIONREAD)}},
        {SCMP_SYS(ioctl), 1, {IS(1, FIONBIO)}},
        {SCMP_SYS(ioctl), 1, {IS(1, TCGETS)}},
        {SCMP_SYS(prlimit64), 1, {IS(2, 0)}},
        {SCMP_SYS(clone), 1, {WITH(0, CLONE_THREAD)}},
        {SCMP_SYS(kill), 1, {IS(1, 0)}},
        {SCMP_SYS(kill), 1, {IS(1, SIGCONT)}},
        {SCMP_SYS(kill), 1, {IS(1, SIGSTOP)}},
        {SCMP_SYS(tgkill), 1, {IS(0, getpid())}},
        {SCMP_SYS(process_vm_readv), 1, {IS(0, getpid())}},
        {SCMP_SYS(prctl), 1, {IS(0, PR_SET_NAME)}},
        {SCMP_SYS(prctl), 1, {IS(0, PR_GET_NAME)}},
        {SCMP_SYS(prctl), 1, {IS(0, PR_SET_TIMERSLACK)}},
        {SCMP_SYS(prctl), 1, {IS(0, PR_SET_NO_NEW_PRIVS)}},
        {SCMP_SYS(prctl), 1, {IS(0, NAMES_OF_MEMORY)}},
    };
    return rules_add(filter, rules, COUNT(rules));
}

/* Code is not made while the process runs. libibverbs loads what is for the card when a connection
 * asks for it, and talks with it and the kernel. */
static int rdma_add(scmp_filter_ctx filter, bool rdma)
{
    const struct argument_rule without[] = {
        {SCMP_SYS(mmap), 1, {WITHOUT(2, PROT_EXEC)}},
        {SCMP_SYS(mprotect), 1, {WITHOUT(2, PROT_EXEC)}},
    };
    const struct argument_rule with[] = {
        {SCMP_SYS(mmap), 0, {{0}}},
        {SCMP_SYS(mprotect), 0, {{0}}},
        {SCMP_SYS(ioctl), 0, {{0}}},
        {SCMP_SYS(socket), 1, {IS(0, AF_NETLINK)}},
    };
    return rdma ? rules_add(filter, with, COUNT(with)) : rules_add(filter, without, COUNT(without));
}

static int soft_add(scmp_filter_ctx filter, bool rdma)
{
    /* libc asks whether it may look at the flags in memory, and then makes threads by clone. */
    int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    rc = rc == 0 ? calls_add(filter, SCMP_ACT_ALLOW, sandbox_allowed, COUNT(sandbox_allowed)) : rc;
#ifdef GPUAAS_FAILPOINTS
    rc = rc == 0 ? calls_add(filter, SCMP_ACT_ALLOW, sandbox_for_tests, COUNT(sandbox_for_tests))
                 : rc;
#endif
    rc = rc == 0 ? narrow_add(filter) : rc;
    return rc == 0 ? rdma_add(filter, rdma) : rc;
}

/* Takes it for all threads. */
static int filter_load(scmp_filter_ctx filter)
{
    int rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    return rc == 0 ? seccomp_load(filter) : rc;
}

enum ga_status sandbox_calls(const struct sandbox_needs *needs, char *why, size_t why_size)
{
    const struct sigaction action = {.sa_sigaction = forbidden, .sa_flags = SA_SIGINFO};
    scmp_filter_ctx filter = seccomp_init(needs->soft ? SCMP_ACT_TRAP : SCMP_ACT_ALLOW);
    int rc = filter == NULL || sigaction(SIGSYS, &action, NULL) != 0 ? -ENOMEM : 0;
    if (rc == 0 && needs->soft) {
        rc = soft_add(filter, needs->rdma);
    } else if (rc == 0) {
        rc = calls_add(filter, SCMP_ACT_ERRNO(EPERM), sandbox_refused, COUNT(sandbox_refused));
    }
    (void)(rc == 0 && seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2)); /* if it can */
    rc = rc == 0 ? filter_load(filter) : rc;
    seccomp_release(filter);
    if (rc != 0) {
        snprintf(why, why_size,
                 "the kernel takes no filter of system calls: %s; [server] sandbox = no goes "
                 "without",
                 strerror(-rc));
        return GA_UNSUPPORTED;
    }
    listens_too = needs->soft && !needs->rdma;
    return GA_OK;
}

void sandbox_listens(void)
{
    static const int calls[] = {SCMP_SYS(socket), SCMP_SYS(bind), SCMP_SYS(listen)};
    scmp_filter_ctx filter = listens_too ? seccomp_init(SCMP_ACT_ALLOW) : NULL;
    if (filter != NULL && calls_add(filter, SCMP_ACT_TRAP, calls, COUNT(calls)) == 0) {
        (void)filter_load(filter);
    }
    seccomp_release(filter);
}
