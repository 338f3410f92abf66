/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock. The headers of the machine that it is built on may know less than the kernel that it
 * runs on, so what is needed of them is written here; the values are the kernel's interface and do
 * not change. */
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/backend/sandbox.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define RULESET_VERSION   1u
#define RULE_PATH_BENEATH 1
#define EXECUTE           (UINT64_C(1) << 0)
#define WRITE_FILE        (UINT64_C(1) << 1)
#define REMOVE_FILE       (UINT64_C(1) << 5)
#define MAKE_REGULAR      (UINT64_C(1) << 8)
#define REMOVE_AND_MAKE   (UINT64_C(0x1ff) << 4) /* directories, files, devices, sockets, links */
#define REFER             (UINT64_C(1) << 13)    /* version 2 */
#define TRUNCATE          (UINT64_C(1) << 14)    /* version 3 */
#define CONNECT_TCP       (UINT64_C(1) << 1)     /* version 4 */
#define ABSTRACT_SOCKETS  (UINT64_C(1) << 0)     /* version 6: connecting to those of others */
#define SIGNALS           (UINT64_C(1) << 1)     /* the same: to others, also for a descriptor */

struct ruleset {
    uint64_t handled_files, handled_net, scoped;
};

/* Without effect if there is no such path. A rule is the rights and the descriptor, without gap. */
static void path_allow(int rules, const char *path, uint64_t allowed)
{
    uint8_t rule[12];
    int parent = open(path, O_PATH | O_CLOEXEC);
    if (parent >= 0) {
        memcpy(rule, &allowed, sizeof allowed);
        memcpy(rule + sizeof allowed, &parent, sizeof parent);
        (void)syscall(SYS_landlock_add_rule, rules, RULE_PATH_BENEATH, rule, 0);
        close(parent);
    }
}

/* The folder of the file that the variable names, in which the file may be made. */
static void variable_allow(int rules, const char *variable, uint64_t allowed)
{
    char path[4096];
    const char *value = getenv(variable);
    if (value != NULL && value[0] != 0 && strlen(value) < sizeof path) {
        strcpy(path, value);
        path_allow(rules, dirname(path), allowed);
    }
}

void sandbox_files(void)
{
    static const size_t sizes[] = {8, 8, 8, 8, 16, 16, 24}; /* of the ruleset, by version */
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION);
    if (version < 1) {
        return;
    }
    uint64_t later = (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);
    const struct ruleset set = {.handled_files = EXECUTE | WRITE_FILE | REMOVE_AND_MAKE | later,
                                .handled_net = CONNECT_TCP,
                                .scoped = ABSTRACT_SOCKETS | SIGNALS};
    const uint64_t file = WRITE_FILE | MAKE_REGULAR | (later & TRUNCATE);
    int rules =
        (int)syscall(SYS_landlock_create_ruleset, &set, sizes[version < 6 ? version : 6], 0);
    if (rules < 0) {
        return;
    }
    path_allow(rules, "/dev/infiniband", WRITE_FILE);
    path_allow(rules, "/dev/null", WRITE_FILE);
    variable_allow(rules, "SOFTGPU_TRACE", file);
#ifdef GPUAAS_FAILPOINTS
    variable_allow(rules, "GPUAAS_FAILPOINT", file | REMOVE_FILE);
#endif
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* without it only root may */
    (void)syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}
