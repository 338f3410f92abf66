/* SPDX-License-Identifier: Apache-2.0 */
/* Changes reach the disk apart from being made, for a loop that must not wait for it.
 *
 * Note: SQLite writes to the disk within a commit (synchronous = FULL), with the lock for changes.
 * Here the commit comes first, and then the disk without the lock; a crash takes away the last
 * commits only. The first change of a journal that begins anew is an exception: it waits with the
 * lock, so store_tidy makes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/open.h"

/* From this size on, the journal is brought into the database; as SQLite does by itself. */
#define SYNC_JOURNAL_BYTES (4 << 20)

enum ga_status store_set_async(struct store *store)
{
    return sql_script(store, "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0");
}

static enum ga_status sync_failed(struct store *store, int error)
{
    return sql_refuse(store, GA_LOST,
                      "%s: changes do not reach the disk (%s): it fails; look at `dmesg`, and "
                      "restore a backup on another one: gpuaasctl db restore FILE",
                      store->path, strerror(error));
}

/* Nobody has locks on the journal, so it may be closed (store.h). *size: 0: there is none. */
static enum ga_status journal_sync(struct store *store, off_t *size)
{
    char path[sizeof store->path + sizeof "-wal"];
    struct stat status;
    *size = 0;
    snprintf(path, sizeof path, "%s-wal", store->path);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) {
        return errno == ENOENT ? GA_OK : sync_failed(store, errno);
    }
    int error = fdatasync(file) == 0 && fstat(file, &status) == 0 ? 0 : errno;
    close(file);
    if (error != 0) {
        return sync_failed(store, error);
    }
    *size = status.st_size;
    return GA_OK;
}

enum ga_status store_sync(const char *path, char *why, size_t why_size)
{
    off_t size;
    if (open_is_in_memory(path)) {
        return GA_OK;
    }
    struct store *store = open_begin(path);
    if (store == NULL) {
        snprintf(why, why_size, "%s: there is no memory", path);
        return GA_NO_MEMORY;
    }
    enum ga_status status = journal_sync(store, &size);
    if (status == GA_OK) {
        status = open_sync_folder(store); /* the journal may be a new one */
    }
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store->why);
    }
    store_close(store);
    return status;
}

bool store_is_untidy(const char *path)
{
    char journal[sizeof((struct store *)NULL)->path + sizeof "-wal"];
    struct stat status;
    snprintf(journal, sizeof journal, "%s-wal", path);
    return !open_is_in_memory(path) && stat(journal, &status) == 0 &&
           status.st_size >= SYNC_JOURNAL_BYTES;
}

/* The first change of a journal that begins anew waits for the disk with the lock: rather ours than
 * one of the loop. */
static enum ga_status journal_empty(struct store *store)
{
    GA_TRY(open_look(store));
    GA_TRY(open_connect(store, SQLITE_OPEN_READWRITE));
    GA_TRY(sql_script(store, "PRAGMA wal_checkpoint(PASSIVE); PRAGMA journal_size_limit = 0"));
    GA_TRY(sql_begin(store));
    return sql_end(
        store, sql_run(store, NULL, "UPDATE counter SET value = value WHERE name = 'changes'", ""));
}

void store_tidy(const char *path)
{
    struct store *store = open_begin(path);
    if (store != NULL) {
        enum ga_status status = journal_empty(store);
        (void)status; /* who changes something next is told; the journal only grows */
        store_close(store);
    }
}
