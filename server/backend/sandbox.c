/* SPDX-License-Identifier: Apache-2.0 */
/* The filter (seccomp), made by libseccomp. The kernel does not make a call that is not allowed,
 * but sends SIGSYS, whose handler tells gpuaasd which call it was and ends the process. */
#include "server/backend/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/backend/sandbox_arguments.h"
#include "server/backend/sandbox_list.h"
#include "server/channel.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool soft, rdma; /* as sandbox_calls has been told; without it, neither */

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

static int rules_add(scmp_filter_ctx filter, uint32_t action, const struct argument_rule *rules,
                     size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = seccomp_rule_add_array(filter, action, rules[i].call, rules[i].count,
                                    rules[i].arguments);
        rc = rc == -EEXIST ? 0 : rc; /* a call that is allowed altogether */
    }
    return rc;
}

#define RULES_ADD(filter, action, rules) rules_add(filter, action, rules, COUNT(rules))

/* Signals to oneself, and looking whether an address is there. */
static int self_add(scmp_filter_ctx filter)
{
    const struct argument_rule rules[] = {
        {SCMP_SYS(tgkill), 1, {IS(0, getpid())}},
        {SCMP_SYS(process_vm_readv), 1, {IS(0, getpid())}},
    };
    return RULES_ADD(filter, SCMP_ACT_ALLOW, rules);
}

static int tests_add(scmp_filter_ctx filter)
{
#ifdef GPUAAS_FAILPOINTS
    int rc = calls_add(filter, SCMP_ACT_ALLOW, sandbox_for_tests, COUNT(sandbox_for_tests));
    return rc == 0 ? RULES_ADD(filter, SCMP_ACT_ALLOW, tests_allowed) : rc;
#else
    (void)filter;
    return 0;
#endif
}

static int soft_add(scmp_filter_ctx filter)
{
    /* libc asks whether it may look at the flags in memory, and then makes threads by clone. */
    int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    rc = rc == 0 ? calls_add(filter, SCMP_ACT_ALLOW, sandbox_allowed, COUNT(sandbox_allowed)) : rc;
    rc = rc == 0 ? tests_add(filter) : rc;
    rc = rc == 0 ? RULES_ADD(filter, SCMP_ACT_ALLOW, arguments_allowed) : rc;
    rc = rc == 0 ? RULES_ADD(filter, SCMP_ACT_ERRNO(EPERM), arguments_refused) : rc;
    rc = rc == 0 ? self_add(filter) : rc;
    if (rc == 0) {
        rc = rdma ? RULES_ADD(filter, SCMP_ACT_ALLOW, rdma_allowed)
                  : RULES_ADD(filter, SCMP_ACT_ALLOW, memory_allowed);
    }
    return rc;
}

/* A driver that is not ours: signals to others, and looking into them, are refused, too. */
static int driver_add(scmp_filter_ctx filter)
{
    const struct argument_rule others[] = {
        {SCMP_SYS(kill), 2, {IS_NOT(0, getpid()), IS_NOT(1, 0)}},
        {SCMP_SYS(tgkill), 1, {IS_NOT(0, getpid())}},
        {SCMP_SYS(rt_sigqueueinfo), 1, {IS_NOT(0, getpid())}},
        {SCMP_SYS(rt_tgsigqueueinfo), 1, {IS_NOT(0, getpid())}},
        {SCMP_SYS(process_vm_readv), 1, {IS_NOT(0, getpid())}},
    };
    const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
    int rc = calls_add(filter, refuse, sandbox_refused, COUNT(sandbox_refused));
    rc = rc == 0 ? RULES_ADD(filter, refuse, driver_refused) : rc;
    return rc == 0 ? RULES_ADD(filter, refuse, others) : rc;
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
    rdma = needs->soft && needs->rdma;
    rc = rc != 0 ? rc : needs->soft ? soft_add(filter) : driver_add(filter);
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
    soft = needs->soft;
    return GA_OK;
}

/* Without a card, no socket is made any more. */
static int listens_add(scmp_filter_ctx filter)
{
    static const int calls[] = {SCMP_SYS(listen), SCMP_SYS(seccomp)};
    static const int sockets[] = {SCMP_SYS(socket), SCMP_SYS(bind)};
    static const struct argument_rule families[] = {
        {SCMP_SYS(socket), 1, {LOW(0, AF_INET)}},
        {SCMP_SYS(socket), 1, {LOW(0, AF_INET6)}},
        {SCMP_SYS(socket), 1, {LOW(0, AF_UNIX)}},
    };
    int rc = calls_add(filter, SCMP_ACT_TRAP, calls, COUNT(calls));
    if (rc == 0) {
        rc = rdma ? RULES_ADD(filter, SCMP_ACT_TRAP, families)
                  : calls_add(filter, SCMP_ACT_TRAP, sockets, COUNT(sockets));
    }
    return rc;
}

void sandbox_listens(void)
{
    scmp_filter_ctx filter = soft ? seccomp_init(SCMP_ACT_ALLOW) : NULL;
    if (filter != NULL && listens_add(filter) == 0) {
        (void)filter_load(filter);
    }
    seccomp_release(filter);
}
