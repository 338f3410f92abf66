/* SPDX-License-Identifier: Apache-2.0 */
/* Note: there is no secret in the log's hashes, so whoever may write its folder can replace the
 * whole log (auth/audit.h). Access control lists, and who may write the folders above, are not
 * looked at. */
#include "auth/audit_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/audit_line.h"

static enum ga_status place_refuse(char *why, size_t why_size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum ga_status place_refuse(char *why, size_t why_size, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(why, why_size, format, values);
    va_end(values);
    return GA_DENIED;
}

static enum ga_status status_is_ours(const struct stat *status, const char *path, char *why,
                                     size_t why_size)
{
    const bool folder = S_ISDIR(status->st_mode);
    if (!folder && !S_ISREG(status->st_mode)) {
        return place_refuse(why, why_size, "%.200s is no file of its own: move it away", path);
    }
    if (status->st_uid != geteuid() && status->st_uid != 0) {
        return place_refuse(why, why_size,
                            "%.200s belongs to user %u, who could change the log: it must belong "
                            "to user %u, who runs gpuaasd: chown %u %.200s",
                            path, (unsigned)status->st_uid, (unsigned)geteuid(),
                            (unsigned)geteuid(), path);
    }
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return place_refuse(why, why_size,
                            "%.200s has mode %04o: others could change the log; it needs mode "
                            "%04o: chmod %04o %.200s",
                            path, (unsigned)status->st_mode & 07777u, folder ? 0700u : 0600u,
                            folder ? 0700u : 0600u, path);
    }
    return GA_OK;
}

enum ga_status audit_place_is_ours(int file, const char *path, char *why, size_t why_size)
{
    struct stat status;
    if (fstat(file, &status) != 0) {
        snprintf(why, why_size, "%.200s: %s", path, strerror(errno));
        return GA_LOST;
    }
    return status_is_ours(&status, path, why, why_size);
}

/* A file that is not there (any more) is nobody's. */
static enum ga_status name_is_ours(int folder, const char *path, const char *name, char *why,
                                   size_t why_size)
{
    char whole[PATH_MAX];
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return GA_OK;
    }
    snprintf(whole, sizeof whole, "%.4000s/%.64s", path, name);
    return status_is_ours(&status, whole, why, why_size);
}

static enum ga_status files_are_ours(int folder, const char *path, char *why, size_t why_size)
{
    char **names;
    size_t count;
    GA_TRY(name_is_ours(folder, path, AUDIT_HEAD, why, why_size));
    GA_TRY(audit_line_files(path, &names, &count, why, why_size));
    enum ga_status status = GA_OK;
    for (size_t i = 0; i < count && status == GA_OK; i++) {
        status = name_is_ours(folder, path, names[i], why, why_size);
    }
    audit_line_files_free(names, count);
    return status;
}

enum ga_status auth_audit_check(const char *path, char *why, size_t why_size)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        snprintf(why, why_size, "%.200s: %s", path, strerror(errno));
        return errno == ENOENT ? GA_OK : GA_DENIED;
    }
    enum ga_status status = audit_place_is_ours(folder, path, why, why_size);
    if (status == GA_OK) {
        status = files_are_ours(folder, path, why, why_size);
    }
    close(folder);
    return status;
}
