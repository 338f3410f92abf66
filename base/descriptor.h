/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of a library in a process that is not its own: never 0, 1 or 2, even when the program
 * has closed those, because code that prints would write into them. */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Takes `fd` (negative: passed on) and answers the same open file at a number above stdio, with
 * O_CLOEXEC. -1: errno says why, and `fd` is closed. */
static inline int ga_descriptor_above_stdio(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = errno;
    close(fd);
    errno = error;
    return above;
}

#endif
