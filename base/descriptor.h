/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors of a library in somebody else's process. They are never 0, 1 or 2, even if
 * the program has closed those, because code that prints would write into them. */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Takes `fd` (negative: returned as it is) and returns a descriptor of the same open file above
 * stdio, with O_CLOEXEC. -1: errno has the reason, and `fd` is closed. */
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
