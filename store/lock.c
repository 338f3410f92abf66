/* SPDX-License-Identifier: Apache-2.0 */
/* Note: the lock is a POSIX one, because only of those the kernel says which process has it.
 * Nothing else opens the file: POSIX takes away all locks of a process when it closes one
 * descriptor. SQLite does so with the database, whose lock is therefore one of the open file
 * description (OFD), at a byte that SQLite does not know. */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/moment.h"

#define LOCK_SUFFIX "-lock"
#define LOCK_BYTE   ((off_t)1 << 62) /* of the database; SQLite has some behind the first GiB */

struct store_lock {
    int file;
    int database; /* -1: there was none */
};

/* The place of the lock: beside the database itself, by whatever link that has been named. */
static enum ga_status lock_place(const char *path, char place[PATH_MAX], char *why, size_t why_size)
{
    char folder[PATH_MAX], name[PATH_MAX], whole[PATH_MAX];
    int length;
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(name, sizeof name, "%s", path);
    if (realpath(path, whole) != NULL) {
        length = snprintf(place, PATH_MAX, "%s" LOCK_SUFFIX, whole);
    } else if (errno == ENOENT && realpath(dirname(folder), whole) != NULL) {
        length = snprintf(place, PATH_MAX, "%s/%s" LOCK_SUFFIX, whole, basename(name));
    } else {
        int error = errno;
        snprintf(why, why_size, "%s cannot be made: %s%s", path, strerror(error),
                 error == ENOENT ? "; make its folder first" : "");
        return GA_DENIED;
    }
    if (length >= PATH_MAX) {
        snprintf(why, why_size, "the path of the database is too long");
        return GA_INVALID;
    }
    return GA_OK;
}

/* Says who has it: the kernel knows the process, unless that is of another container; the file says
 * since when, unless it is about somebody else. */
static void lock_holder_write(int file, const char *path, char *why, size_t why_size)
{
    struct flock found = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char text[80] = "", at[GA_MOMENT_BYTES], when[GA_MOMENT_BYTES + 10] = "", process[40] = "";
    long pid;
    int64_t since;
    bool known = fcntl(file, F_GETLK, &found) == 0 && found.l_type != F_UNLCK && found.l_pid > 0;
    if (known) {
        snprintf(process, sizeof process, ", process %ld", (long)found.l_pid);
    }
    if (pread(file, text, sizeof text - 1, 0) > 0 &&
        sscanf(text, "%ld %" SCNd64, &pid, &since) == 2 && (!known || pid == found.l_pid)) {
        ga_moment_for_people(since, at);
        snprintf(when, sizeof when, ", since %s", at);
    }
    snprintf(why, why_size,
             "%s is used by %sgpuaasd%s%s: stop that one first, or give each gpuaasd a store of "
             "its own",
             path, known ? "" : "another ", process, when);
}

/* Takes the lock of the open file. */
static enum ga_status lock_hold(int file, const char *path, const char *place, char *why,
                                size_t why_size)
{
    struct flock wanted = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char text[80];
    if (fcntl(file, F_SETLK, &wanted) != 0) {
        if (errno == EAGAIN || errno == EACCES) {
            lock_holder_write(file, path, why, why_size);
            return GA_AGAIN;
        }
        snprintf(why, why_size, "%s cannot be locked: %s", place, strerror(errno));
        return GA_DENIED;
    }
    /* For people alone: where the disk is full, they hear of the process all the same. */
    int length =
        snprintf(text, sizeof text, "%ld %" PRId64 "\n", (long)getpid(), (int64_t)time(NULL));
    (void)!ftruncate(file, 0);
    (void)!pwrite(file, text, (size_t)length, 0);
    return GA_OK;
}

/* A regular file, and another one than `known`. */
static bool is_new(const char *path, int known)
{
    struct stat file, before;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
           (known < 0 || fstat(known, &before) != 0 || before.st_dev != file.st_dev ||
            before.st_ino != file.st_ino);
}

enum ga_status store_lock_database(struct store_lock *lock, const char *path, char *why,
                                   size_t why_size)
{
    struct flock wanted = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1};
    int file = is_new(path, lock->database) ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) {
        return GA_OK; /* store_open says what is wrong with it */
    }
    if (fcntl(file, F_OFD_SETLK, &wanted) != 0) {
        bool taken = errno == EAGAIN || errno == EACCES;
        snprintf(why, why_size,
                 taken ? "%s is used by another gpuaasd, which knows it by another name, or its "
                         "file " LOCK_SUFFIX " has been removed: stop that one first, or give each "
                         "gpuaasd a store of its own"
                       : "%s cannot be locked: %s",
                 path, strerror(errno));
        close(file);
        return taken ? GA_AGAIN : GA_DENIED;
    }
    if (lock->database >= 0) {
        close(lock->database);
    }
    lock->database = file;
    return GA_OK;
}

bool store_lock_is_of_another(const struct store_lock *lock, const char *path)
{
    return lock->database >= 0 && is_new(path, lock->database);
}

enum ga_status store_lock_look(const char *path, char *why, size_t why_size)
{
    char place[PATH_MAX];
    struct flock found = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    GA_TRY(lock_place(path, place, why, why_size));
    int file = open(place, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool taken = file >= 0 && fcntl(file, F_GETLK, &found) == 0 && found.l_type != F_UNLCK;
    if (taken) {
        lock_holder_write(file, path, why, why_size);
    }
    struct store_lock lock = {.file = file, .database = -1};
    enum ga_status status = taken ? GA_AGAIN : store_lock_database(&lock, path, why, why_size);
    if (lock.database >= 0) {
        close(lock.database);
    }
    if (file >= 0) {
        close(file);
    }
    return status;
}

enum ga_status store_lock_take(const char *path, struct store_lock **out, char *why,
                               size_t why_size)
{
    char place[PATH_MAX];
    GA_TRY(lock_place(path, place, why, why_size));
    struct store_lock *lock = malloc(sizeof *lock);
    if (lock == NULL) {
        snprintf(why, why_size, "there is no memory");
        return GA_NO_MEMORY;
    }
    lock->file = open(place, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock->file < 0) {
        snprintf(why, why_size, "%s cannot be made: %s; %s", place, strerror(errno),
                 errno == ENOSPC ? "make room on the disk" : "may this user write its folder?");
        free(lock);
        return GA_DENIED;
    }
    lock->database = -1;
    enum ga_status status = lock_hold(lock->file, path, place, why, why_size);
    if (status == GA_OK) {
        status = store_lock_database(lock, path, why, why_size);
    }
    if (status != GA_OK) {
        store_lock_free(lock);
        return status;
    }
    *out = lock;
    return GA_OK;
}

void store_lock_free(struct store_lock *lock)
{
    if (lock != NULL) {
        if (lock->database >= 0) {
            close(lock->database);
        }
        close(lock->file);
        free(lock);
    }
}
