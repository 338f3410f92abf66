/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded, this library makes the disk slow: what waits for a write to reach it waits as long as
 * there is the file that SLOW_DISK names. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_here(void)
{
    const char *gate = getenv("SLOW_DISK");
    const struct timespec moment = {.tv_nsec = 10000000};
    while (gate != NULL && access(gate, F_OK) == 0) {
        (void)nanosleep(&moment, NULL);
    }
}

__attribute__((visibility("default"))) int fsync(int file)
{
    wait_here();
    return (int)syscall(SYS_fsync, file);
}

__attribute__((visibility("default"))) int fdatasync(int file)
{
    wait_here();
    return (int)syscall(SYS_fdatasync, file);
}
