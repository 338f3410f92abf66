/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/private_write.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum ga_status failed(const char *path, int error, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s cannot be written: %s%s", path, strerror(error),
             error == EEXIST   ? "; name another file, or remove it"
             : error == ENOSPC ? "; make room on the disk"
             : error == ENOENT ? "; make its folder first"
                               : "");
    return error == EEXIST                      ? GA_CONFLICT
           : error == ENOSPC || error == EDQUOT ? GA_NO_MEMORY
           : error == EIO                       ? GA_LOST
                                                : GA_DENIED;
}

/* 0, or an error. */
static int write_all(int file, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return fsync(file) == 0 ? 0 : errno;
}

static int folder_sync(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = folder < 0 || fsync(folder) != 0 ? errno : 0;
    if (folder >= 0) {
        close(folder);
    }
    return error;
}

/* Gives the new file its name; 0, or an error. */
static int take_name(const char *made, const char *path, bool replace)
{
    if (replace) {
        return rename(made, path) == 0 ? 0 : errno;
    }
    if (link(made, path) != 0) {
        return errno;
    }
    unlink(made);
    return 0;
}

enum ga_status private_write(const char *path, const void *bytes, size_t size, mode_t mode,
                             bool replace, char *why, size_t why_size)
{
    char made[PATH_MAX];
    if (snprintf(made, sizeof made, "%s.new", path) >= (int)sizeof made) {
        return failed(path, ENAMETOOLONG, why, why_size);
    }
    if (!replace && access(path, F_OK) == 0) {
        return failed(path, EEXIST, why, why_size);
    }
    unlink(made); /* of somebody who did not end */
    int file = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file < 0) {
        return failed(path, errno, why, why_size);
    }
    int error = fchmod(file, mode) == 0 ? write_all(file, bytes, size) : errno;
    if (close(file) != 0 && error == 0) {
        error = errno;
    }
    if (error == 0) {
        error = take_name(made, path, replace);
    }
    if (error == 0) {
        error = folder_sync(path);
    }
    if (error != 0) {
        unlink(made);
        return failed(path, error, why, why_size);
    }
    return GA_OK;
}
