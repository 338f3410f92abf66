/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a program would have GPUs, and of which kind. The driver's messages are held back
 * until it is known that there are none; otherwise the program gets them itself. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/gpuaas/driver.h"

static enum cmd_gpus gpus_ask(const char *library)
{
    struct cmd_driver driver;
    int count = 0;
    if (!cmd_driver_open(library, &driver) || cmd_driver_count(&driver, &count) != CUDA_SUCCESS ||
        count == 0) {
        return CMD_GPUS_NONE;
    }
    for (int i = 0; i < count; i++) {
        if (!cmd_driver_ptx_only(&driver, i)) {
            return CMD_GPUS_SOME;
        }
    }
    return CMD_GPUS_PTX;
}

enum cmd_gpus cmd_gpus_ask(const char *library, bool aloud)
{
    int words = memfd_create("words", MFD_CLOEXEC), status;
    pid_t child = fork();
    if (child == 0) {
        if (words >= 0) {
            (void)dup2(words, STDERR_FILENO);
        }
        (void)unsetenv("SOFTGPU_TRACE"); /* for the program, not for us */
        (void)unsetenv("GPUAAS_TRACE");
        _exit((int)gpus_ask(library));
    }
    bool known = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    enum cmd_gpus gpus = known ? (enum cmd_gpus)WEXITSTATUS(status) : CMD_GPUS_NONE;
    if (words >= 0 && gpus == CMD_GPUS_NONE && aloud) {
        off_t at = 0;
        while (sendfile(STDERR_FILENO, words, &at, 65536) > 0) {
        }
    }
    if (words >= 0) {
        (void)close(words);
    }
    return gpus;
}
