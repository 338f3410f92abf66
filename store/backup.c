/* SPDX-License-Identifier: Apache-2.0 */
/* Backups and restoring them.
 *
 * Note: a journal that is left of the old database would be read into the new one. A restore
 * therefore holds the lock that all users of a database hold, and removes the journal first. It
 * takes the lock of a gpuaasd (lock.h) before anything else: a gpuaasd whose database was moved
 * away, or is damaged, has it not open, and would go on with the new one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/check.h"
#include "store/hold.h"
#include "store/open.h"
#include "store/schema.h"

#define BACKUP_PATH_BYTES (sizeof((struct store *)NULL)->path + 64)

static enum ga_status backup_failed(struct store *store, const char *path, int error)
{
    enum ga_status status = error == ENOSPC || error == EDQUOT ? GA_NO_MEMORY
                            : error == EIO                     ? GA_LOST
                                                               : GA_DENIED;
    return sql_refuse(store, status, "%s cannot be written: %s%s", path, strerror(error),
                      error == ENOSPC   ? "; make room on its disk"
                      : error == ENOENT ? "; make its folder first"
                                        : "");
}

/* Keeps the first finding. */
static void note(void *user, const char *text)
{
    char *first = user;
    if (*first == 0) {
        snprintf(first, 300, "%s", text);
    }
}

/* Whether what was copied is sound; then it becomes a file without a journal. */
static enum ga_status copy_check(struct store *copy, enum ga_status damaged)
{
    unsigned findings, version;
    char first[300] = "";
    GA_TRY(schema_look(copy, schema_version, &version));
    GA_TRY(store_check(copy, note, first, &findings));
    if (version == 0 || findings != 0) {
        return sql_refuse(copy, damaged, "it is damaged: %s", version == 0 ? "it is empty" : first);
    }
    sqlite3_stmt *statement;
    bool has;
    GA_TRY(sql_query(copy, &statement, "PRAGMA journal_mode = DELETE", ""));
    GA_TRY(sql_row(copy, statement, &has));
    sqlite3_reset(statement);
    return GA_OK;
}

static enum ga_status pages_copy(struct store *from, struct store *copy)
{
    sqlite3_backup *backup = sqlite3_backup_init(copy->db, "main", from->db, "main");
    if (backup == NULL) {
        return sql_failure(copy);
    }
    int result = sqlite3_backup_step(backup, -1);
    for (unsigned waited = 0;
         (result == SQLITE_BUSY || result == SQLITE_LOCKED) && waited < from->patience_ms;
         waited += 10) {
        usleep(10000);
        result = sqlite3_backup_step(backup, -1);
    }
    int end = sqlite3_backup_finish(backup);
    if (result == SQLITE_DONE && end == SQLITE_OK) {
        return GA_OK;
    }
    /* The failure is of either end; the one that reads has it only if it is damaged. */
    return (result & 0xff) == SQLITE_CORRUPT || (result & 0xff) == SQLITE_NOTADB
               ? sql_refuse(copy, GA_LOST, "it is damaged")
           : result == SQLITE_BUSY || result == SQLITE_LOCKED
               ? sql_refuse(copy, GA_AGAIN, "another program keeps it locked")
               : sql_failure(copy);
}

static int file_sync(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int error = file < 0 || fsync(file) != 0 ? errno : 0;
    if (file >= 0) {
        close(file);
    }
    return error;
}

/* Copies the database into a new file, checks it, and brings it to the disk. The words for a
 * failure are in `from`. */
static enum ga_status backup_copy(struct store *from, const char *path, enum ga_status damaged)
{
    if (unlink(path) != 0 && errno != ENOENT) {
        return backup_failed(from, path, errno);
    }
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        return backup_failed(from, path, errno);
    }
    close(file);
    struct store *copy = open_begin(path);
    if (copy == NULL) {
        unlink(path);
        return sql_refuse(from, GA_NO_MEMORY, "%s: there is no memory", path);
    }
    enum ga_status status = open_connect(copy, SQLITE_OPEN_READWRITE);
    if (status == GA_OK) {
        status = pages_copy(from, copy);
    }
    if (status == GA_OK) {
        status = copy_check(copy, damaged);
    }
    if (status != GA_OK) {
        sql_refuse(from, status, "%.300s was not copied: %.280s", from->path, store_why(copy));
    }
    store_close(copy);
    int error = status == GA_OK ? file_sync(path) : 0;
    if (error != 0) {
        status = backup_failed(from, path, error);
    }
    if (status != GA_OK) {
        unlink(path);
    }
    return status;
}

static bool same_file(const char *one, const char *other)
{
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static enum ga_status backup_make(struct store *store, const char *to, bool trial)
{
    char path[BACKUP_PATH_BYTES];
    if (strlen(to) + 64 > sizeof path) {
        return sql_refuse(store, GA_INVALID, "the path of the backup is too long");
    }
    if (same_file(store->path, to)) {
        return sql_refuse(store, GA_INVALID, "%s is the database itself: name another file", to);
    }
    if (store->failed) {
        return GA_LOST;
    }
    snprintf(path, sizeof path, "%s.new-%ld", to, (long)getpid());
    GA_TRY(backup_copy(store, path, GA_LOST));
    if (trial) {
        unlink(path);
        return GA_OK;
    }
    if (rename(path, to) != 0) {
        enum ga_status status = backup_failed(store, to, errno);
        unlink(path);
        return status;
    }
    struct store *named = open_begin(to);
    enum ga_status status = named == NULL ? GA_NO_MEMORY : open_sync_folder(named);
    if (status != GA_OK) {
        sql_refuse(store, status, "%s", named != NULL ? store_why(named) : "there is no memory");
    }
    store_close(named);
    return status;
}

enum ga_status store_backup(struct store *store, const char *to)
{
    return backup_make(store, to, false);
}

enum ga_status store_backup_try(struct store *store, const char *to)
{
    return backup_make(store, to, true);
}

/* ---- restoring */

/* Brings what is in the journal of a sound database into it, so that what is kept of it is whole.
 * A damaged one stays as it is. */
static enum ga_status journal_fold(struct store *store)
{
    sqlite3_stmt *statement;
    bool has;
    if (access(store->path, F_OK) != 0) {
        return GA_OK;
    }
    enum ga_status status = open_connect(store, SQLITE_OPEN_READWRITE);
    if (status == GA_OK) {
        store_set_patience(store, 0);
        status = sql_query(store, &statement, "PRAGMA journal_mode = DELETE", "");
    }
    if (status == GA_OK) {
        status = sql_row(store, statement, &has);
    }
    return status == GA_AGAIN || status == GA_NO_MEMORY ? status : GA_OK;
}

/* The new file takes the place of the old one, which gets another name. */
static enum ga_status take_place(struct store *store, const char *made)
{
    char other[BACKUP_PATH_BYTES];
    snprintf(other, sizeof other, "%s.replaced", store->path);
    bool is_there = access(store->path, F_OK) == 0; /* else an earlier one is kept */
    if (is_there && ((unlink(other) != 0 && errno != ENOENT) || link(store->path, other) != 0)) {
        return backup_failed(store, other, errno);
    }
    static const char *const journals[] = {"-wal", "-shm", "-journal"};
    for (unsigned i = 0; i < sizeof journals / sizeof *journals; i++) {
        snprintf(other, sizeof other, "%s%s", store->path, journals[i]);
        if (unlink(other) != 0 && errno != ENOENT) {
            return backup_failed(store, other, errno);
        }
    }
    if (rename(made, store->path) != 0) {
        return backup_failed(store, store->path, errno);
    }
    return open_sync_folder(store);
}

/* A trial only looks whether it could. */
static enum ga_status replace(const char *path, const char *made, bool trial, char *why,
                              size_t why_size)
{
    struct store *old = open_begin(path), *held = open_begin(path);
    struct store_hold hold = {0};
    enum ga_status status = old == NULL || held == NULL ? GA_NO_MEMORY
                            : trial                     ? GA_OK
                                                        : journal_fold(old);
    const char *words = old != NULL ? store_why(old) : "there is no memory";
    if (status == GA_AGAIN) {
        sql_refuse(old, status, "%s is in use: stop gpuaasd first (`fuser %s` names who uses it)",
                   path, path);
    }
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", words);
    }
    store_close(old);
    if (status == GA_OK) {
        status = hold_open(held, &hold);
        if (status == GA_OK) {
            status = hold_alone(held, &hold);
        }
        if (status == GA_OK && !trial) {
            status = take_place(held, made);
        }
        if (status != GA_OK) {
            snprintf(why, why_size, "%s", store_why(held));
        }
    }
    hold_end(&hold);
    store_close(held);
    return status;
}

static enum ga_status backup_restore(const char *path, const char *backup, bool trial, char *why,
                                     size_t why_size)
{
    char made[BACKUP_PATH_BYTES];
    if (strlen(path) + 64 > sizeof made || strlen(backup) + 64 > sizeof made) {
        snprintf(why, why_size, "a path is too long");
        return GA_INVALID;
    }
    if (same_file(path, backup)) {
        snprintf(why, why_size, "%s is the database itself: name its backup", backup);
        return GA_INVALID;
    }
    if (access(backup, R_OK) != 0) {
        snprintf(why, why_size, "%s: %s", backup, strerror(errno));
        return errno == ENOENT ? GA_NOT_FOUND : GA_DENIED;
    }
    struct store *from = open_begin(backup);
    if (from == NULL) {
        snprintf(why, why_size, "there is no memory");
        return GA_NO_MEMORY;
    }
    snprintf(made, sizeof made, "%s.new-%ld", path, (long)getpid());
    struct store_lock *lock = NULL;
    enum ga_status status =
        trial ? store_lock_look(path, why, why_size) : store_lock_take(path, &lock, why, why_size);
    if (status != GA_OK) {
        store_close(from);
        return status;
    }
    status = open_connect(from, SQLITE_OPEN_READONLY);
    if (status == GA_OK) {
        status = backup_copy(from, made, GA_INVALID);
    }
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store_why(from));
    }
    store_close(from);
    if (status == GA_OK) {
        status = replace(path, made, trial, why, why_size);
        if (status != GA_OK || trial) {
            unlink(made);
        }
    }
    store_lock_free(lock);
    return status == GA_LOST ? GA_INVALID : status;
}

enum ga_status store_restore(const char *path, const char *backup, char *why, size_t why_size)
{
    return backup_restore(path, backup, false, why, why_size);
}

enum ga_status store_restore_try(const char *path, const char *backup, char *why, size_t why_size)
{
    return backup_restore(path, backup, true, why, why_size);
}
