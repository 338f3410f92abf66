/* SPDX-License-Identifier: Apache-2.0 */
#include "base/private_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKED_AT 65536u

/* stat is avoided: old C libraries have it in their static part only. */
bool ga_file_is_private(const char *path)
{
    struct statx file;
    return statx(AT_FDCWD, path, 0, STATX_MODE, &file) != 0 || (file.stx_mode & S_IRWXO) == 0;
}

/* The text of a pipe can be read once, by whoever uses it. */
static bool can_be_read_twice(const char *path)
{
    struct statx file;
    return statx(AT_FDCWD, path, 0, STATX_TYPE, &file) == 0 && S_ISREG(file.stx_mode);
}

bool ga_file_lacks(const char *path, const char *text)
{
    if (!can_be_read_twice(path)) {
        return false;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *bytes = file >= 0 ? malloc(LOOKED_AT) : NULL;
    size_t size = 0;
    ssize_t got = 0;
    while (bytes != NULL && size < LOOKED_AT &&
           (got = read(file, bytes + size, LOOKED_AT - size)) > 0) {
        size += (size_t)got;
    }
    bool lacks = bytes != NULL && got >= 0 && memmem(bytes, size, text, strlen(text)) == NULL;
    if (bytes != NULL) {
        explicit_bzero(bytes, size);
        free(bytes);
    }
    if (file >= 0) {
        close(file);
    }
    return lacks;
}
