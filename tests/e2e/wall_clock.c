/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded, it makes the wall clock wrong by WALL_CLOCK_STEP seconds, for all that asks for it
 * here: waits end by the right one. So a wait by it goes as when somebody sets the clock while it
 * lasts. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
    const char *step = getenv("WALL_CLOCK_STEP");
    long rc = syscall(SYS_clock_gettime, clock, now);
    if (rc == 0 && clock == CLOCK_REALTIME && step != NULL) {
        now->tv_sec += atol(step);
    }
    return (int)rc;
}
