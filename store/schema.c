/* SPDX-License-Identifier: Apache-2.0 */
/* The versions of the tables. A released step never changes; a change of the tables is a further
 * step. */
#include "store/schema.h"

static const char first[] =
#include "store/schema_1.def"
    ;

static const char second[] =
#include "store/schema_2.def"
    ;

static const char third[] =
#include "store/schema_3.def"
    ;

static const char fourth[] =
#include "store/schema_4.def"
    ;

const char *const schema_steps[] = {first, second, third, fourth};
const unsigned schema_version = sizeof schema_steps / sizeof *schema_steps;

enum ga_status schema_look(struct store *store, unsigned newest, unsigned *version)
{
    int64_t application, found, objects;
    GA_TRY(sql_number(store, &application, "PRAGMA application_id", ""));
    GA_TRY(sql_number(store, &found, "PRAGMA user_version", ""));
    GA_TRY(sql_number(store, &objects, "SELECT count(*) FROM sqlite_schema", ""));
    bool empty = application == 0 && found == 0 && objects == 0;
    if (!empty && application != SCHEMA_APPLICATION) {
        return sql_refuse(store, GA_LOST,
                          "%s is a database of another program; gpuaas leaves it alone. Name "
                          "another file (key store)",
                          store->path);
    }
    if (found > (int64_t)newest) {
        return sql_refuse(store, GA_UNSUPPORTED,
                          "%s has been written by a newer gpuaas (version %lld of its tables; this "
                          "program knows %u). Use that one, or restore a backup made before: "
                          "gpuaasctl db restore FILE",
                          store->path, (long long)found, newest);
    }
    if (found < 0 || (!empty && found == 0)) {
        return sql_refuse(store, GA_LOST,
                          "%s is damaged: it has no version. Restore a backup: gpuaasctl db "
                          "restore FILE",
                          store->path);
    }
    *version = (unsigned)found;
    return GA_OK;
}

/* One step, unless somebody else has just made it. */
static enum ga_status step(struct store *store, const char *const *steps, unsigned from,
                           unsigned newest)
{
    unsigned found = 0;
    GA_TRY(schema_look(store, newest, &found));
    if (found != from) {
        return GA_OK;
    }
    char *last = sqlite3_mprintf("PRAGMA user_version = %u; PRAGMA application_id = %d", from + 1,
                                 SCHEMA_APPLICATION);
    if (last == NULL) {
        return sql_refuse(store, GA_NO_MEMORY, "%s: there is no memory", store->path);
    }
    enum ga_status status = sql_script(store, steps[from]);
    if (status == GA_OK) {
        status = sql_script(store, last);
    }
    sqlite3_free(last);
    return status;
}

enum ga_status schema_update(struct store *store, const char *const *steps, unsigned newest)
{
    unsigned version = 0;
    GA_TRY(schema_look(store, newest, &version));
    for (; version < newest; version++) {
        GA_TRY(sql_begin(store));
        GA_TRY(sql_end(store, step(store, steps, version, newest)));
    }
    return GA_OK;
}
