/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/node/memory_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 64

static bool path_is(const char *path, const char *name)
{
    char target[64], expected[64];
    snprintf(expected, sizeof expected, "/memfd:%s (deleted)", name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = 0;
    return strcmp(target, expected) == 0;
}

static void own_path(char path[PATH_BYTES], int fd)
{
    snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
}

int sg_memory_file_open(int pid, int fd, const char *name, int flags)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    return path_is(path, name) ? open(path, flags | O_CLOEXEC) : -1;
}

int sg_memory_file_reopen(int fd)
{
    char path[PATH_BYTES];
    own_path(path, fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

bool sg_memory_file_is(int fd, const char *name)
{
    char path[PATH_BYTES];
    own_path(path, fd);
    return path_is(path, name);
}

bool sg_memory_file_keeps_length(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}
