/* SPDX-License-Identifier: Apache-2.0 */
/* Note: the kernel forgets PR_SET_PDEATHSIG when the user changes, and makes the process one that
 * other processes of its new user cannot look into (PR_SET_DUMPABLE), which is as it should be. */
#include "server/backend/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/shared_memory.h"
#include "server/figures.h"
#include "server/grants.h"

/* Not an error: a kernel without it, or a /proc that cannot be written. */
static void oom_score_set(void)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d", PRIVILEGES_OOM_SCORE);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, text, (size_t)length);
        close(fd);
    }
}

void privileges_begin(void)
{
    bool turns = ga_shared_memory_is(GRANTS_REQUEST_FD, sizeof(struct grant_requests));
    unsigned last = turns ? GRANTS_BELL_FD : FIGURES_FD; /* the others are not for us */
    (void)syscall(SYS_close_range, last + 1, ~0U, 0);
    oom_score_set();
}

static bool capabilities_drop(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, none) == 0;
}

/* Refused to a process without capabilities, which has nothing to gain. */
static void bounds_drop(void)
{
    for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0;
         capability++) {
        (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
}

static bool has_capability(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capget, &header, data) == 0 &&
           (data[capability / 32].effective >> capability % 32 & 1) != 0;
}

/* Memory for RDMA is locked: a process that might lock any amount keeps that right. */
static void memlock_keep(void)
{
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    if (has_capability(CAP_IPC_LOCK)) {
        (void)setrlimit(RLIMIT_MEMLOCK, &all);
    }
}

/* Bytes that the process may write to and shares with nobody (mm->data_vm), now. False: the kernel
 * does not tell. */
static bool data_now(uint64_t *bytes)
{
    unsigned long long pages;
    FILE *file = fopen("/proc/self/statm", "re");
    bool told = file != NULL && fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) == 1;
    if (file != NULL) {
        fclose(file);
    }
    *bytes = told ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    return told;
}

/* The last fence for memory of this machine: the server's part and the GPU's have bounds of their
 * own, which count what an application asks for. */
static void data_limit(const struct channel_setup *setup)
{
    uint64_t now, spare = PRIVILEGES_DATA_SPARE +
                          (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * PRIVILEGES_DATA_PROCESSOR;
    if (data_now(&now) && setup->conf.application_host_memory < (RLIM_INFINITY - now - spare) / 2) {
        const rlim_t most = now + 2 * setup->conf.application_host_memory + spare;
        const struct rlimit limit = {most, most};
        (void)setrlimit(RLIMIT_DATA, &limit);
    }
}

/* NVIDIA's driver may start a program that belongs to root, to make its devices. */
static bool limits_early(const struct channel_setup *setup)
{
    return setup->driver != CONF_DRIVER_NVIDIA;
}

/* A process that stays the same user needs no right to become another one, nor to find the
 * driver. */
static bool drops_early(const struct channel_setup *setup)
{
    const struct channel_identity *identity = &setup->identity;
    return limits_early(setup) && (identity->change == 0 || identity->uid == geteuid());
}

static bool user_change(const struct channel_identity *identity)
{
    gid_t groups[CHANNEL_GROUPS_MAX];
    size_t count = identity->group_count;
    for (size_t i = 0; i < count; i++) {
        groups[i] = identity->groups[i];
    }
    return setgroups(count, groups) == 0 &&
           setresgid(identity->gid, identity->gid, identity->gid) == 0 &&
           setresuid(identity->uid, identity->uid, identity->uid) == 0;
}

static enum ga_status privileges_give_up(const struct channel_identity *identity, char *why,
                                         size_t why_size)
{
    if (identity->change != 0 && !user_change(identity)) {
        snprintf(why, why_size, "cannot become user %u, group %u: %s", identity->uid, identity->gid,
                 strerror(errno));
        return GA_INVALID;
    }
    if (!capabilities_drop() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        snprintf(why, why_size, "cannot give up capabilities: %s", strerror(errno));
        return GA_INVALID;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return GA_OK;
}

enum ga_status privileges_limit(const struct channel_setup *setup, char *why, size_t why_size)
{
    memlock_keep();
    if (limits_early(setup)) {
        data_limit(setup); /* nobody knows what NVIDIA's driver maps */
        bounds_drop();
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    return drops_early(setup) ? privileges_give_up(&setup->identity, why, why_size) : GA_OK;
}

enum ga_status privileges_drop(const struct channel_setup *setup, char *why, size_t why_size)
{
    if (!limits_early(setup)) {
        bounds_drop();
    }
    return drops_early(setup) ? GA_OK : privileges_give_up(&setup->identity, why, why_size);
}
