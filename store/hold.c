/* SPDX-License-Identifier: Apache-2.0 */
#include "store/hold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file format of SQLite, 1.3: which version is needed to read it; 2 is one with a WAL. */
#define HEADER_MAGIC        "SQLite format 3"
#define HEADER_READ_VERSION 19

enum ga_status hold_open(struct store *store, struct store_hold *hold)
{
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    char full[4096];
    memset(hold, 0, sizeof *hold);
    if (access(store->path, F_OK) != 0) {
        return GA_OK;
    }
    if (realpath(store->path, full) == NULL) {
        return sql_refuse(store, GA_DENIED, "%s cannot be opened: %s", store->path,
                          strerror(errno));
    }
    hold->name = sqlite3_create_filename(full, "", "", 0, NULL);
    hold->file = sqlite3_malloc(system->szOsFile);
    if (hold->name == NULL || hold->file == NULL) {
        return sql_refuse(store, GA_NO_MEMORY, "%s: there is no memory", store->path);
    }
    memset(hold->file, 0, (size_t)system->szOsFile);
    if (system->xOpen(system, hold->name, hold->file, SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READWRITE,
                      NULL) != SQLITE_OK) {
        return sql_refuse(store, GA_DENIED, "%s cannot be written: %s", store->path,
                          strerror(errno));
    }
    return GA_OK;
}

enum ga_status hold_alone(struct store *store, struct store_hold *hold)
{
    if (hold->file == NULL) {
        return GA_OK;
    }
    int result = hold->file->pMethods->xLock(hold->file, SQLITE_LOCK_SHARED);
    if (result == SQLITE_OK) {
        result = hold->file->pMethods->xLock(hold->file, SQLITE_LOCK_EXCLUSIVE);
    }
    return result == SQLITE_OK
               ? GA_OK
               : sql_refuse(store, GA_AGAIN,
                            "%s is in use: stop gpuaasd first (`fuser %s` names who uses it)",
                            store->path, store->path);
}

void hold_end(struct store_hold *hold)
{
    if (hold->file != NULL && hold->file->pMethods != NULL) {
        hold->file->pMethods->xClose(hold->file);
    }
    sqlite3_free(hold->file);
    sqlite3_free_filename((char *)hold->name); /* as 3.40 declares it */
    memset(hold, 0, sizeof *hold);
}

bool hold_has_no_journal(const struct store_hold *hold)
{
    unsigned char header[HEADER_READ_VERSION + 1];
    return hold->file != NULL &&
           hold->file->pMethods->xRead(hold->file, header, sizeof header, 0) == SQLITE_OK &&
           memcmp(header, HEADER_MAGIC, sizeof HEADER_MAGIC) == 0 &&
           header[HEADER_READ_VERSION] == 1;
}
