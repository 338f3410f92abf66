/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials: what is known of tokens and certificates. The secrets themselves are nowhere. */
#include <ctype.h>
#include <string.h>

#include "store/name.h"

#define CREDENTIAL_HOUR 3600
#define CREDENTIAL_WEEK INT64_C(604800)

#define CREDENTIAL_COLUMNS                                                                         \
    "c.id, c.kind, c.scope, coalesce(t.name, ''), coalesce(c.tenant, 0), c.user, c.name, c.hash, " \
    "c.created, c.expires, c.used, c.revoked"
#define CREDENTIAL_TABLES "credential c LEFT JOIN tenant t ON t.number = c.tenant"

static const char *const kinds[] = {
    [STORE_TOKEN] = "token",
    [STORE_CERTIFICATE] = "certificate",
};
static const char *const scopes[] = {
    [STORE_OF_TENANT] = "tenant",
    [STORE_OF_ADMIN] = "admin",
    [STORE_OF_SERVER] = "server",
};

/* The number of the word in column `column`; the tables have no other words. */
static unsigned word(sqlite3_stmt *row, int column, const char *const *words, unsigned count)
{
    char text[16];
    unsigned i = 0;
    sql_text(row, column, text, sizeof text);
    while (i + 1 < count && strcmp(words[i], text) != 0) {
        i++;
    }
    return i;
}

static enum ga_status credential_read(struct store *store, sqlite3_stmt *row,
                                      struct store_credential *out)
{
    memset(out, 0, sizeof *out);
    sql_text(row, 0, out->id, sizeof out->id);
    out->kind = (enum store_kind)word(row, 1, kinds, 2);
    out->scope = (enum store_scope)word(row, 2, scopes, 3);
    sql_text(row, 3, out->tenant, sizeof out->tenant);
    out->tenant_number = (uint64_t)sqlite3_column_int64(row, 4);
    sql_text(row, 5, out->user, sizeof out->user);
    sql_text(row, 6, out->name, sizeof out->name);
    const void *hash = sqlite3_column_blob(row, 7);
    if (hash == NULL || sqlite3_column_bytes(row, 7) != (int)sizeof out->hash) {
        store->failed = true;
        return sql_refuse(store, GA_LOST,
                          "%s is damaged: credential %s has no hash. Restore a backup: gpuaasctl "
                          "db restore FILE",
                          store->path, out->id);
    }
    memcpy(out->hash, hash, sizeof out->hash);
    out->created = sqlite3_column_int64(row, 8);
    out->expires = sqlite3_column_int64(row, 9);
    out->used = sqlite3_column_int64(row, 10);
    out->revoked = sqlite3_column_int64(row, 11);
    return GA_OK;
}

static enum ga_status id_check(struct store *store, const char *id)
{
    size_t length = 0;
    while (isalnum((unsigned char)id[length])) {
        length++;
    }
    if (length == 0 || length > STORE_ID_MAX || id[length] != 0) {
        return sql_refuse(store, GA_INVALID,
                          "'%.40s' is not the id of a credential: 1 to %u letters and digits", id,
                          STORE_ID_MAX);
    }
    return GA_OK;
}

static enum ga_status credential_missing(struct store *store, const char *id)
{
    return sql_refuse(store, GA_NOT_FOUND,
                      "there is no credential '%.40s'; `gpuaasctl token list` and `gpuaasctl cert "
                      "list` show them",
                      id);
}

enum ga_status store_credential_get(struct store *store, const char *id,
                                    struct store_credential *out)
{
    sqlite3_stmt *statement;
    bool has;
    struct store_credential found;
    GA_TRY(sql_query(store, &statement,
                     "SELECT " CREDENTIAL_COLUMNS " FROM " CREDENTIAL_TABLES " WHERE c.id = ?1",
                     "t", id));
    GA_TRY(sql_row(store, statement, &has));
    if (!has) {
        return credential_missing(store, id);
    }
    enum ga_status status = credential_read(store, statement, &found);
    sqlite3_reset(statement);
    if (status == GA_OK) {
        *out = found;
    }
    return status;
}

enum ga_status store_credential_each(struct store *store, const char *tenant,
                                     void (*each)(void *user,
                                                  const struct store_credential *credential),
                                     void *user)
{
    sqlite3_stmt *statement;
    int64_t number = -1;
    if (tenant != NULL) {
        GA_TRY(name_tenant(store, tenant, &number));
    }
    GA_TRY(sql_query_own(store, &statement,
                         "SELECT " CREDENTIAL_COLUMNS " FROM " CREDENTIAL_TABLES
                         " WHERE ?1 IS NULL OR c.tenant = ?1 ORDER BY c.created, c.id",
                         "n", number));
    bool has = true;
    enum ga_status status = GA_OK;
    while (status == GA_OK && has) {
        struct store_credential credential;
        status = sql_row(store, statement, &has);
        if (status == GA_OK && has) {
            status = credential_read(store, statement, &credential);
        }
        if (status == GA_OK && has) {
            each(user, &credential);
        }
    }
    sqlite3_finalize(statement);
    return status;
}

enum ga_status store_credential_valid(struct store *store, uint64_t tenant_number, int64_t now,
                                      uint64_t *count)
{
    int64_t valid = 0;
    GA_TRY(sql_number(store, &valid,
                      "SELECT count(*) FROM credential WHERE tenant = ?1 AND revoked = 0 "
                      "AND expires > ?2",
                      "ii", (int64_t)tenant_number, now));
    *count = (uint64_t)valid;
    return GA_OK;
}

/* Refuses a third valid token. */
static enum ga_status few_live(struct store *store, const struct store_credential *credential,
                               int64_t number)
{
    int64_t live;
    if (credential->kind != STORE_TOKEN || credential->scope != STORE_OF_TENANT) {
        return GA_OK;
    }
    GA_TRY(sql_number(store, &live,
                      "SELECT count(*) FROM credential WHERE tenant = ?1 AND user = ?2 "
                      "AND kind = 'token' AND revoked = 0 AND expires > ?3",
                      "iti", number, credential->user, credential->created));
    if (live < (int64_t)STORE_LIVE_MAX) {
        return GA_OK;
    }
    return sql_refuse(store, GA_CONFLICT,
                      "%s%s%s has %u valid tokens already, which is as many as a rotation needs: "
                      "revoke one first (`gpuaasctl token list %s`)",
                      credential->tenant, *credential->user != 0 ? "/" : "", credential->user,
                      STORE_LIVE_MAX, credential->tenant);
}

/* Whether its owner may have one more. */
static enum ga_status credential_owner(struct store *store,
                                       const struct store_credential *credential, int64_t *number)
{
    *number = -1;
    GA_TRY(name_check_text(store, "name", credential->name));
    if (credential->scope != STORE_OF_TENANT) {
        return *credential->tenant == 0 && *credential->user == 0
                   ? GA_OK
                   : sql_refuse(store, GA_INVALID,
                                "a credential of an administrator or a server has no tenant");
    }
    GA_TRY(name_tenant(store, credential->tenant, number));
    GA_TRY(name_user(store, *number, credential->tenant, credential->user));
    return few_live(store, credential, *number);
}

static enum ga_status credential_write(struct store *store,
                                       const struct store_credential *credential)
{
    int64_t number, one;
    int changed;
    enum ga_status status =
        sql_number(store, &one, "SELECT 1 FROM credential WHERE id = ?1", "t", credential->id);
    if (status != GA_NOT_FOUND) {
        GA_TRY(status);
        return sql_refuse(store, GA_CONFLICT, "there is a credential '%s' already", credential->id);
    }
    GA_TRY(credential_owner(store, credential, &number));
    GA_TRY(sql_run(store, &changed,
                   "INSERT INTO credential VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0)",
                   "tttntthii", credential->id, kinds[credential->kind], scopes[credential->scope],
                   number, credential->user, credential->name, credential->hash,
                   credential->created, credential->expires));
    return changed == 1
               ? GA_OK
               : sql_refuse(store, GA_LOST, "%s: a credential was not written", store->path);
}

enum ga_status store_credential_put(struct store *store, const struct store_credential *credential)
{
    GA_TRY(id_check(store, credential->id));
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, credential_write(store, credential));
}

enum ga_status store_credential_may_put(struct store *store,
                                        const struct store_credential *credential)
{
    int64_t number;
    return credential_owner(store, credential, &number);
}

enum ga_status
store_credential_ends(struct store *store, int64_t now, unsigned most,
                      void (*each)(void *user, const struct store_credential_end *end), void *user)
{
    sqlite3_stmt *row;
    bool has;
    GA_TRY(sql_query(store, &row,
                     "SELECT c.kind, c.scope, coalesce(t.name, ''), c.user, "
                     "CASE c.scope WHEN 'tenant' THEN '' ELSE c.name END AS named, "
                     "max(c.created), max(c.expires) AS ends FROM " CREDENTIAL_TABLES
                     " WHERE c.revoked = 0 GROUP BY c.scope, c.tenant, c.user, named, c.kind "
                     "HAVING ends > ?1 ORDER BY ends, 3, 4, 5 LIMIT ?2",
                     "ii", now - CREDENTIAL_WEEK, (int64_t)most));
    for (;;) {
        struct store_credential_end end;
        GA_TRY(sql_row(store, row, &has));
        if (!has) {
            return GA_OK;
        }
        end.kind = (enum store_kind)word(row, 0, kinds, 2);
        end.scope = (enum store_scope)word(row, 1, scopes, 3);
        sql_text(row, 2, end.tenant, sizeof end.tenant);
        sql_text(row, 3, end.user, sizeof end.user);
        sql_text(row, 4, end.name, sizeof end.name);
        end.created = sqlite3_column_int64(row, 5);
        end.expires = sqlite3_column_int64(row, 6);
        each(user, &end);
    }
}

static enum ga_status credential_shorten(struct store *store, const char *id, int64_t at)
{
    struct store_credential found;
    GA_TRY(store_credential_get(store, id, &found));
    return sql_run(store, NULL, "UPDATE credential SET expires = ?2 WHERE id = ?1 AND expires > ?2",
                   "ti", id, at);
}

enum ga_status store_credential_shorten(struct store *store, const char *id, int64_t at)
{
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, credential_shorten(store, id, at));
}

static enum ga_status credential_revoke(struct store *store, const char *id, int64_t now)
{
    struct store_credential found;
    GA_TRY(store_credential_get(store, id, &found));
    return sql_run(store, NULL, "UPDATE credential SET revoked = ?2 WHERE id = ?1 AND revoked = 0",
                   "ti", id, now > 0 ? now : 1);
}

enum ga_status store_credential_revoke(struct store *store, const char *id, int64_t now)
{
    GA_TRY(sql_begin(store));
    return sql_end_counted(store, credential_revoke(store, id, now));
}

enum ga_status store_credential_used(struct store *store, const char *id, int64_t now)
{
    int64_t used;
    enum ga_status status =
        sql_number(store, &used, "SELECT used FROM credential WHERE id = ?1", "t", id);
    if (status == GA_NOT_FOUND) {
        return credential_missing(store, id);
    }
    GA_TRY(status);
    if (now - used < CREDENTIAL_HOUR) {
        return GA_OK;
    }
    unsigned patience = store->patience_ms;
    store_set_patience(store, 0);
    status = sql_run(store, NULL, "UPDATE credential SET used = ?2 WHERE id = ?1", "ti", id, now);
    store_set_patience(store, patience);
    return status;
}
