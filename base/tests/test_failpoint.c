/* SPDX-License-Identifier: Apache-2.0 */
/* An armed failpoint acts once, at the requested hit. Without failpoints there is nothing to
 * test: they are not compiled. */
#include <criterion/criterion.h>

#include "base/failpoint.h"

#ifdef GPUAAS_FAILPOINTS
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char file[] = "/tmp/gpuaas-failpoint-XXXXXX";

/* Each test is a process of its own: this is its first failpoint. */
static void arm(const char *line)
{
    int fd = mkstemp(file);
    cr_assert(fd >= 0 && dprintf(fd, "%s\n", line) > 0);
    close(fd);
    setenv("GPUAAS_FAILPOINT", file, 1);
}

static void disarm(void)
{
    unlink(file);
}

Test(failpoint, fails_at_the_second_hit_and_once, .fini = disarm)
{
    arm("2 fail test: here it is");
    cr_assert(!GA_FAILPOINT("test: elsewhere"));
    cr_assert(!GA_FAILPOINT("test: here it is"));
    cr_assert_eq(access(file, F_OK), 0, "it is armed still");
    cr_assert(GA_FAILPOINT("test: here it is"));
    cr_assert_neq(access(file, F_OK), 0, "it says that it has fired");
    cr_assert(!GA_FAILPOINT("test: here it is"));
}

Test(failpoint, fails_whenever_the_count_is_0, .fini = disarm)
{
    arm("0 fail test: here");
    for (int i = 0; i < 3; i++) {
        cr_assert(GA_FAILPOINT("test: here"));
    }
}

Test(failpoint, kills, .signal = SIGKILL, .fini = disarm)
{
    arm("1 kill test: here");
    (void)GA_FAILPOINT("test: here");
}

Test(failpoint, memory_fails, .fini = disarm)
{
    arm("1 fail malloc in gpuaas");
    errno = 0;
    void *volatile block = malloc(10);
    cr_assert_null(block);
    cr_assert_eq(errno, ENOMEM);
    block = malloc(10);
    cr_assert_not_null(block);
    free(block);
}
#else
Test(failpoint, is_false)
{
    cr_assert(!GA_FAILPOINT("test: here"));
}
#endif
