/* SPDX-License-Identifier: Apache-2.0 */
#include "server/processes/forbidden.h"

#include <seccomp.h>
#include <stdlib.h>

#include "base/log.h"

/* No honest process makes one: either somebody has taken it over, or the list lacks a call. */
void forbidden_log(const char *client, int pid, const char *label, int call)
{
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
    ga_log_of(client, GA_LOG_ERROR,
              "backend process %d of %s made the system call %s (%d), which its sandbox does not "
              "allow, and is ended; if that was no attack, report it, and [server] sandbox = no "
              "helps until then",
              pid, label, name != NULL ? name : "without a name", call);
    free(name);
}
