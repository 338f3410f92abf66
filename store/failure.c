/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of SQLite in words for people, with the cure. */
#include <errno.h>
#include <string.h>

#include "store/sql.h"

#define FAILURE_RESTORE                                                                            \
    "stop gpuaasd, look with `gpuaasctl db check`, restore the last backup with `gpuaasctl db "    \
    "restore FILE`"

static enum ga_status failure_full(struct store *store)
{
    return sql_refuse(store, GA_NO_MEMORY,
                      "%s: its disk is full; nothing has been changed. Make room there; until "
                      "then nothing can be changed, and usage waits in gpuaasd's memory",
                      store->path);
}

static enum ga_status failure_damaged(struct store *store)
{
    store->failed = true;
    return sql_refuse(store, GA_LOST, "%s is damaged (%s): " FAILURE_RESTORE, store->path,
                      sqlite3_errmsg(store->db));
}

static enum ga_status io_error(struct store *store, int code)
{
    int error = sqlite3_system_errno(store->db);
    if (error == ENOSPC || error == EDQUOT) {
        return failure_full(store);
    }
    if (code == SQLITE_IOERR_NOMEM) {
        return sql_refuse(store, GA_NO_MEMORY, "%s: there is no memory", store->path);
    }
    /* After a failed fsync the kernel may have dropped what it could not write, and say that all
     * is well when asked again: only opening it anew tells what is on the disk. */
    store->failed = true;
    return sql_refuse(store, GA_LOST,
                      "%s: the disk fails (%s, SQLite code %d): see dmesg; if the file is lost, "
                      "restore the last backup with `gpuaasctl db restore FILE`",
                      store->path, error != 0 ? strerror(error) : "unknown error", code);
}

enum ga_status sql_failure(struct store *store)
{
    int code = sqlite3_extended_errcode(store->db);
    int error = sqlite3_system_errno(store->db);
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return sql_refuse(store, GA_AGAIN,
                          "%s: another program has kept the database locked for %u ms. Try again; "
                          "`fuser %s` names the program",
                          store->path, store->patience_ms, store->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
        return failure_damaged(store);
    case SQLITE_FULL:
        return failure_full(store);
    case SQLITE_IOERR:
        return io_error(store, code);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        if (error == ENOSPC || error == EDQUOT) {
            return failure_full(store);
        }
        return sql_refuse(store, GA_DENIED,
                          "%s: the database cannot be written (%s): is the disk mounted read-only, "
                          "may this user write the file and its folder?",
                          store->path, error != 0 ? strerror(error) : sqlite3_errmsg(store->db));
    case SQLITE_NOMEM:
        return sql_refuse(store, GA_NO_MEMORY, "%s: there is no memory", store->path);
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
        return sql_refuse(store, GA_INVALID, "%s: a value is not allowed: %s", store->path,
                          sqlite3_errmsg(store->db));
    case SQLITE_ERROR: /* a table or column is missing, or a sum does not fit */
        return failure_damaged(store);
    default:
        return sql_refuse(store, GA_LOST, "%s: %s (SQLite code %d)", store->path,
                          sqlite3_errmsg(store->db), code);
    }
}
