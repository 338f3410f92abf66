/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a database, or making it.
 *
 * Note: a database is made under another name and gets its own when its tables are on the disk. An
 * empty file can therefore be nothing but damaged, and is never taken for a database without
 * tenants. */
#include "store/open.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/hold.h"
#include "store/schema.h"

#define OPEN_PATIENCE_MS 2000
#define OPEN_MEMORY      ":memory:"

/* Room in a path for what SQLite and we append to it. */
#define OPEN_SUFFIX_MAX 32

struct store *open_begin(const char *path)
{
    struct store *store = calloc(1, sizeof *store);
    if (store != NULL) {
        store->patience_ms = OPEN_PATIENCE_MS;
        size_t length = strnlen(path, sizeof store->path - 1); /* longer ones are refused before */
        memcpy(store->path, path, length);
    }
    return store;
}

bool open_is_in_memory(const char *path)
{
    return strncmp(path, OPEN_MEMORY, strlen(OPEN_MEMORY)) == 0;
}

enum ga_status open_connect(struct store *store, int flags)
{
    char name[sizeof store->path + 64];
    const char *memory = store->path + strlen(OPEN_MEMORY);
    if (!open_is_in_memory(store->path)) {
        memcpy(name, store->path, sizeof store->path);
    } else if (*memory == 0) {
        snprintf(name, sizeof name, "%s", OPEN_MEMORY);
    } else {
        /* memdb shares what begins with a slash. */
        snprintf(name, sizeof name, "file:/%s?vfs=memdb", memory);
        flags |= SQLITE_OPEN_URI;
    }
    int result = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (store->db == NULL) {
        return sql_refuse(store, GA_NO_MEMORY, "%s: there is no memory", store->path);
    }
    sqlite3_extended_result_codes(store->db, 1);
    if (result != SQLITE_OK) {
        return sql_failure(store);
    }
    sqlite3_busy_timeout(store->db, (int)store->patience_ms);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* cell_size_check finds damage earlier. No mmap: a truncated file would be a SIGBUS. */
    return sql_script(store, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "
                             "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; "
                             "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL");
}

enum ga_status open_look(struct store *store)
{
    struct stat file;
    if (stat(store->path, &file) != 0) {
        return errno == ENOENT
                   ? sql_refuse(store, GA_NOT_FOUND, "%s: there is no such database", store->path)
                   : sql_refuse(store, GA_DENIED, "%s: %s", store->path, strerror(errno));
    }
    if (!S_ISREG(file.st_mode)) {
        return sql_refuse(store, GA_INVALID, "%s is not a file", store->path);
    }
    if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return sql_refuse(
            store, GA_DENIED,
            "%s: others than its owner may use the file; if it is the database, which "
            "has who may use what, it must have the mode 0600",
            store->path);
    }
    if (file.st_size == 0) {
        return sql_refuse(store, GA_LOST,
                          "%s is damaged: it is empty. Restore the last backup: gpuaasctl db "
                          "restore FILE; or remove the file to begin without tenants",
                          store->path);
    }
    if (faccessat(AT_FDCWD, store->path, R_OK | W_OK, AT_EACCESS) != 0) {
        return sql_refuse(store, GA_DENIED,
                          "%s: the database cannot be written (%s): is the disk mounted read-only, "
                          "may this user write it?",
                          store->path, strerror(errno));
    }
    return GA_OK;
}

enum ga_status open_sync_folder(struct store *store)
{
    char path[sizeof store->path];
    memcpy(path, store->path, sizeof path);
    int folder = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fsync(folder) != 0) {
        enum ga_status status = sql_refuse(store, GA_LOST, "%s: its folder cannot be written: %s",
                                           store->path, strerror(errno));
        if (folder >= 0) {
            close(folder);
        }
        return status;
    }
    close(folder);
    return GA_OK;
}

/* The words for a failure of ours, not of SQLite. */
static enum ga_status make_failed(struct store *store, const char *path, int error)
{
    enum ga_status status = error == ENOSPC || error == EDQUOT ? GA_NO_MEMORY
                            : error == EIO                     ? GA_LOST
                                                               : GA_DENIED;
    return sql_refuse(store, status, "%s cannot be made: %s; %s", path, strerror(error),
                      error == ENOENT   ? "make its folder first"
                      : error == ENOSPC ? "make room on the disk"
                                        : "may this user write its folder?");
}

/* Fills the new file, whose name is `path`. */
static enum ga_status open_fill(struct store *store, const char *path)
{
    struct store *made = open_begin(path);
    if (made == NULL) {
        return sql_refuse(store, GA_NO_MEMORY, "%s: there is no memory", path);
    }
    enum ga_status status = open_connect(made, SQLITE_OPEN_READWRITE);
    if (status == GA_OK) {
        status = schema_update(made, schema_steps, schema_version);
    }
    if (status != GA_OK) {
        memcpy(store->why, made->why, sizeof store->why);
    }
    store_close(made);
    return status;
}

/* Makes the database. Somebody else may do the same: the first one wins. */
static enum ga_status make(struct store *store)
{
    char path[sizeof store->path + OPEN_SUFFIX_MAX], journal[sizeof path + OPEN_SUFFIX_MAX];
    snprintf(journal, sizeof journal, "%s-wal", store->path);
    if (access(journal, F_OK) == 0) {
        return sql_refuse(store, GA_LOST,
                          "%s is missing, but its journal %s is there: put the database back, or "
                          "restore a backup: gpuaasctl db restore FILE",
                          store->path, journal);
    }
    snprintf(path, sizeof path, "%s.new-%ld", store->path, (long)getpid());
    if (unlink(path) != 0 && errno != ENOENT) {
        return make_failed(store, path, errno);
    }
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        return make_failed(store, store->path, errno);
    }
    close(file);
    enum ga_status status = open_fill(store, path);
    if (status == GA_OK && link(path, store->path) != 0 && errno != EEXIST) {
        status = make_failed(store, store->path, errno);
    }
    unlink(path);
    snprintf(journal, sizeof journal, "%s-journal", path);
    unlink(journal);
    return status == GA_OK ? open_sync_folder(store) : status;
}

/* Takes away the journal of a database that was here before: nobody has this one open yet. */
static enum ga_status journal_remove(struct store *store, struct store_hold *hold,
                                     const char *journal)
{
    char index[sizeof store->path + OPEN_SUFFIX_MAX];
    GA_TRY(hold_alone(store, hold));
    if (!hold_has_no_journal(hold)) {
        return GA_OK; /* somebody has opened it meanwhile */
    }
    snprintf(index, sizeof index, "%s-shm", store->path);
    if ((unlink(index) != 0 && errno != ENOENT) || (unlink(journal) != 0 && errno != ENOENT)) {
        return sql_refuse(store, GA_DENIED,
                          "%s is the journal of another database, and cannot be removed: %s",
                          journal, strerror(errno));
    }
    return GA_OK;
}

/* A backup that somebody has put into the place of a database (with `gpuaasctl db restore` nothing
 * is left of that one). */
static enum ga_status journal_of_another(struct store *store)
{
    char journal[sizeof store->path + OPEN_SUFFIX_MAX];
    struct stat file;
    snprintf(journal, sizeof journal, "%s-wal", store->path);
    if (stat(journal, &file) != 0 || file.st_size == 0) {
        return GA_OK;
    }
    struct store_hold hold;
    enum ga_status status = hold_open(store, &hold);
    if (status == GA_OK && hold_has_no_journal(&hold)) {
        status = journal_remove(store, &hold, journal);
    }
    hold_end(&hold);
    return status;
}

/* Whether the pages of the file fit together. */
static enum ga_status open_verify(struct store *store)
{
    sqlite3_stmt *statement;
    bool has;
    GA_TRY(sql_query(store, &statement, "PRAGMA quick_check(1)", ""));
    GA_TRY(sql_row(store, statement, &has));
    const char *found = has ? (const char *)sqlite3_column_text(statement, 0) : "no answer";
    enum ga_status status = GA_OK;
    if (found == NULL || strcmp(found, "ok") != 0) {
        store->failed = true;
        status = sql_refuse(store, GA_LOST,
                            "%s is damaged (%.200s): stop gpuaasd, restore the last backup with "
                            "`gpuaasctl db restore FILE`",
                            store->path, found);
    }
    sqlite3_reset(statement);
    return status;
}

static enum ga_status open_file(struct store *store, bool may_make)
{
    enum ga_status status = open_look(store);
    if (status == GA_NOT_FOUND && !may_make) {
        return sql_refuse(store, GA_LOST,
                          "%s is missing: put the database back, or stop gpuaasd and restore a "
                          "backup: gpuaasctl db restore FILE",
                          store->path);
    }
    if (status == GA_NOT_FOUND) {
        GA_TRY(make(store));
        status = open_look(store);
    }
    GA_TRY(status);
    GA_TRY(journal_of_another(store));
    GA_TRY(open_connect(store, SQLITE_OPEN_READWRITE));
    unsigned version;
    GA_TRY(schema_look(store, schema_version, &version));
    if (version == 0) {
        return sql_refuse(store, GA_LOST,
                          "%s is damaged: it has no tables. Restore the last backup: gpuaasctl db "
                          "restore FILE",
                          store->path);
    }
    GA_TRY(open_verify(store));
    sqlite3_stmt *statement;
    bool has;
    GA_TRY(sql_query(store, &statement, "PRAGMA journal_mode = WAL", ""));
    GA_TRY(sql_row(store, statement, &has));
    sqlite3_reset(statement);
    int moved = 0;
    GA_TRY(schema_update(store, schema_steps, schema_version));
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved != 0) {
        return sql_refuse(store, GA_AGAIN, "%s has been replaced meanwhile: try again",
                          store->path);
    }
    return GA_OK;
}

static enum ga_status open_memory(struct store *store)
{
    GA_TRY(open_connect(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    return schema_update(store, schema_steps, schema_version);
}

enum open_way { OPEN_MAKES, OPEN_AGAIN, OPEN_READS, OPEN_COPIES };

static enum ga_status open_to_read(struct store *store)
{
    unsigned version;
    if (open_is_in_memory(store->path)) {
        return open_connect(store, SQLITE_OPEN_READWRITE); /* memdb has no other way */
    }
    GA_TRY(open_look(store));
    GA_TRY(open_connect(store, SQLITE_OPEN_READONLY));
    GA_TRY(schema_look(store, schema_version, &version));
    return version == schema_version
               ? GA_OK
               : sql_refuse(store, GA_UNSUPPORTED, "%s has another version", store->path);
}

/* Opens a database of any version that we know. */
static enum ga_status open_to_copy(struct store *store)
{
    unsigned version;
    GA_TRY(open_look(store));
    GA_TRY(open_connect(store, SQLITE_OPEN_READONLY));
    return schema_look(store, schema_version, &version);
}

static enum ga_status open_any(const char *path, enum open_way way, struct store **out, char *why,
                               size_t why_size)
{
    if (strlen(path) + OPEN_SUFFIX_MAX > sizeof((struct store *)NULL)->path) {
        snprintf(why, why_size, "the path of the database is too long");
        return GA_INVALID;
    }
    struct store *store = open_begin(path);
    if (store == NULL) {
        snprintf(why, why_size, "%s: there is no memory", path);
        return GA_NO_MEMORY;
    }
    enum ga_status status = way == OPEN_READS         ? open_to_read(store)
                            : way == OPEN_COPIES      ? open_to_copy(store)
                            : open_is_in_memory(path) ? open_memory(store)
                                                      : open_file(store, way == OPEN_MAKES);
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store->why);
        store_close(store);
        return status;
    }
    *out = store;
    return GA_OK;
}

enum ga_status store_open(const char *path, struct store **out, char *why, size_t why_size)
{
    return open_any(path, OPEN_MAKES, out, why, why_size);
}

enum ga_status store_open_again(const char *path, struct store **out, char *why, size_t why_size)
{
    return open_any(path, OPEN_AGAIN, out, why, why_size);
}

enum ga_status store_open_to_copy(const char *path, struct store **out, char *why, size_t why_size)
{
    return open_any(path, OPEN_COPIES, out, why, why_size);
}

enum ga_status store_open_to_read(const char *path, struct store **out, char *why, size_t why_size)
{
    return open_any(path, OPEN_READS, out, why, why_size);
}

void store_close(struct store *store)
{
    if (store == NULL) {
        return;
    }
    for (unsigned i = 0; i < store->cached; i++) {
        sqlite3_finalize(store->cache[i].statement);
    }
    sqlite3_close_v2(store->db);
    free(store);
}

const char *store_why(const struct store *store)
{
    return store->why;
}

void store_set_patience(struct store *store, unsigned milliseconds)
{
    store->patience_ms = milliseconds;
    sqlite3_busy_timeout(store->db, (int)milliseconds);
}

enum ga_status store_may_write(struct store *store)
{
    unsigned patience = store->patience_ms;
    store_set_patience(store, 0);
    enum ga_status status = sql_begin(store);
    store_set_patience(store, patience);
    return status == GA_OK ? sql_end(store, GA_OK) : status;
}

enum ga_status store_changes(struct store *store, uint64_t *number)
{
    int64_t value;
    enum ga_status status =
        sql_number(store, &value, "SELECT value FROM counter WHERE name = 'changes'", "");
    if (status == GA_NOT_FOUND) {
        store->failed = true;
        return sql_refuse(store, GA_LOST,
                          "%s is damaged: it has no counter of changes. Restore a backup: "
                          "gpuaasctl db restore FILE",
                          store->path);
    }
    GA_TRY(status);
    *number = (uint64_t)value;
    return GA_OK;
}
