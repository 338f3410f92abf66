/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a byte of each page by a system call, which fails with EFAULT. */
#include "base/readable.h"

#include <errno.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u /* the smallest page; larger ones are tested more than once */

static bool byte_is_readable(uintptr_t at)
{
    char byte;
    struct iovec to = {.iov_base = &byte, .iov_len = 1};
    struct iovec from = {.iov_base = (void *)at, .iov_len = 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

bool ga_readable(const void *memory, size_t bytes)
{
    int kept = errno;
    uintptr_t start = (uintptr_t)memory, end = start + bytes;
    bool good = end >= start;
    for (uintptr_t at = start; good && at < end; at = (at | (PAGE - 1)) + 1) {
        good = byte_is_readable(at);
    }
    errno = kept;
    return good;
}
