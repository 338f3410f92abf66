/* SPDX-License-Identifier: Apache-2.0 */
/* The store: tenants, users, credentials, usage; an SQLite database (WAL, synchronous FULL).
 *
 * A change is one transaction: after a crash it is there wholly or not at all, and it is on the
 * disk when the function returns (but see store_set_async). Functions of one `struct store` belong
 * to one thread; each thread opens its own. A failure leaves a line for people in store_why, with
 * what to do about it:
 *
 *   GA_AGAIN        another program keeps the database locked; try again later
 *   GA_NOT_FOUND    there is no tenant (user, credential, ...) of that name
 *   GA_CONFLICT     it is there already, or its generation is another one: read it again
 *   GA_INVALID      a value is wrong
 *   GA_DENIED       the database cannot be written, or others than its owner can read it
 *   GA_NO_MEMORY    the disk is full, or there is no memory; nothing has changed
 *   GA_LOST         the database is damaged or the disk fails. Close the store, and open it again
 *                   before it is used further
 *   GA_UNSUPPORTED  a newer gpuaas has written it
 *
 * Times are seconds since 1970 (UTC), 0: never. Texts are UTF-8 and end with 0.
 *
 * Note: never open, or even close, the file of a database with anything but these functions in a
 * process that has a store: POSIX takes away all locks of the process when it closes one. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "base/status.h"
#include "store/check.h"   /* IWYU pragma: export */
#include "store/journal.h" /* IWYU pragma: export */
#include "store/lock.h"    /* IWYU pragma: export */
#include "store/usage.h"   /* IWYU pragma: export */

#define STORE_HASH_BYTES 32u
#define STORE_ID_MAX     32u /* characters of the id of a credential */
#define STORE_LIVE_MAX   2u  /* tokens of a tenant, or of a user of it, that are valid at a time */

#define STORE_ANY_GENERATION UINT64_MAX
#define STORE_NEW            UINT64_C(0) /* as a generation: it must not be there yet */

/* The tenant of applications that say nothing of themselves where that is allowed (auth = off). It
 * is always there: it cannot be renamed or removed. */
#define STORE_DEFAULT_TENANT "default"

/* ---- opening */

/* Makes the database if there is none (mode 0600), and brings one of an older version up to date.
 * ":memory:": one in memory, for this store alone; ":memory:NAME": for all stores of this process
 * that name it, until the last one is closed. */
GA_CHECKED enum ga_status store_open(const char *path, struct store **out, char *why,
                                     size_t why_size);
/* As store_open, for a store that has been opened before: if it is missing now, no empty one takes
 * its place (GA_LOST). */
GA_CHECKED enum ga_status store_open_again(const char *path, struct store **out, char *why,
                                           size_t why_size);
/* For store_backup: nothing of it is changed, and none is made. */
GA_CHECKED enum ga_status store_open_to_copy(const char *path, struct store **out, char *why,
                                             size_t why_size);
/* Only for reading, of one that is open elsewhere in this process, so it is not checked anew: a
 * moment. GA_UNSUPPORTED: it is of another version. */
GA_CHECKED enum ga_status store_open_to_read(const char *path, struct store **out, char *why,
                                             size_t why_size);
void store_close(struct store *store);
/* The reason of the last failure, until the next call; one line. */
const char *store_why(const struct store *store);
/* How long to wait for a lock of another program; 2000 ms at first. */
void store_set_patience(struct store *store, unsigned milliseconds);
/* From now on functions that change something do not wait for the disk: store_sync does. Nor do
 * they bring into the database what the journal has: store_tidy does. */
GA_CHECKED enum ga_status store_set_async(struct store *store);
/* Changes that have been made so far, by whichever connection, are on the disk when this returns.
 * Any thread. GA_OK also for a database in memory. GA_LOST: it is not known what is on the disk. */
GA_CHECKED enum ga_status store_sync(const char *path, char *why, size_t why_size);
/* Whether the journal is long, and it is time for store_tidy: any thread; it waits for the disk
 * with the lock for changes. */
bool store_is_untidy(const char *path);
void store_tidy(const char *path);
/* Whether a change could begin now: the lock for it can be had at once. Writes nothing. */
GA_CHECKED enum ga_status store_may_write(struct store *store);
/* A number that grows with each change of tenants, users, groups, credentials and local users, by
 * whomever. A point query of microseconds. */
GA_CHECKED enum ga_status store_changes(struct store *store, uint64_t *number);
/* A name of a tenant, user, group: 1 to 64 letters, digits, '.', '_', '-'; the first one a letter
 * or digit. */
bool store_name_is_valid(const char *name);

/* ---- lists: rows of one query, read one by one, all of the moment when the first one is read;
 * the store can be used meanwhile. As long as it has not ended, the journal of the database grows
 * with every change. */

struct store_list;
void store_list_end(struct store_list *list); /* NULL: nothing */

/* ---- tenants */

struct store_tenant {
    char name[STORE_NAME_MAX + 1];
    char description[STORE_TEXT_MAX + 1];
    uint64_t number;     /* for ever the same, also under another name; the store sets it */
    uint64_t generation; /* grows with each change; the store sets it */
    bool suspended;
    char reason[STORE_TEXT_MAX + 1]; /* of being suspended */
    struct limits limits;
    char gpu_types[LIMITS_TYPES_MAX];
    enum isolation isolation;
    enum exhausted exhausted;
    int64_t created, changed; /* the store sets them */
};

/* A tenant without limits. */
void store_tenant_init(struct store_tenant *tenant, const char *name);
/* Sets what "key=value" says: a limit (api/limits.h), gpu-types, isolation, on-exhausted. Statuses
 * and `why` as limits_read has them. Touches no database. */
GA_CHECKED enum ga_status store_tenant_set(struct store_tenant *tenant, const char *text, char *why,
                                           size_t why_size);
/* Makes or changes the tenant of this name; sets the members that the store sets. */
GA_CHECKED enum ga_status store_tenant_put(struct store *store, struct store_tenant *tenant,
                                           uint64_t if_generation);
GA_CHECKED enum ga_status store_tenant_get(struct store *store, const char *name,
                                           struct store_tenant *out);
GA_CHECKED enum ga_status store_tenant_get_number(struct store *store, uint64_t number,
                                                  struct store_tenant *out);
/* By name, ascending. `each` may use the store. */
GA_CHECKED enum ga_status
store_tenant_each(struct store *store, void (*each)(void *user, const struct store_tenant *tenant),
                  void *user);
/* A tenant, with what it uses. */
struct store_tenant_use {
    struct store_tenant tenant;
    uint64_t gpu_ns_day, gpu_ns_month; /* of the day and month of `now` */
    uint64_t credentials;              /* that are valid at `now` */
};
/* A list of all behind the name `after`, by name, ascending: to be read by store_tenant_next, and
 * ended by store_list_end. */
GA_CHECKED enum ga_status store_tenant_list(struct store *store, const char *after, int64_t now,
                                            struct store_list **out);
GA_CHECKED enum ga_status store_tenant_next(struct store_list *list, struct store_tenant_use *out,
                                            bool *has);
/* Its users, local users and places in groups go, its credentials are revoked; its usage stays. */
GA_CHECKED enum ga_status store_tenant_remove(struct store *store, const char *name,
                                              uint64_t if_generation);
/* Its credentials stay valid. */
GA_CHECKED enum ga_status store_tenant_rename(struct store *store, const char *name,
                                              const char *new_name, uint64_t if_generation);

/* ---- users of a tenant. Limits that a user does not have are those of the tenant. */

struct store_user {
    char tenant[STORE_NAME_MAX + 1];
    char name[STORE_NAME_MAX + 1];
    char description[STORE_TEXT_MAX + 1];
    uint64_t generation;
    bool suspended;
    char reason[STORE_TEXT_MAX + 1];
    struct limits limits;
    int64_t created, changed;
};

/* GA_INVALID: a limit is above the tenant's. (A tenant's limits may be lowered below its users';
 * the stricter one counts.) */
GA_CHECKED enum ga_status store_user_put(struct store *store, struct store_user *user,
                                         uint64_t if_generation);
GA_CHECKED enum ga_status store_user_get(struct store *store, const char *tenant, const char *name,
                                         struct store_user *out);
/* `tenant` NULL: of all. */
GA_CHECKED enum ga_status store_user_each(struct store *store, const char *tenant,
                                          void (*each)(void *user, const struct store_user *found),
                                          void *user);
/* The user's credentials are revoked, its local users are removed. */
GA_CHECKED enum ga_status store_user_remove(struct store *store, const char *tenant,
                                            const char *name, uint64_t if_generation);

/* ---- trust groups: tenants that trust each other. They are kept; nothing uses them. */

struct store_group {
    char name[STORE_NAME_MAX + 1];
    char description[STORE_TEXT_MAX + 1];
    uint64_t generation;
    unsigned members; /* number of tenants; the store sets it */
};

GA_CHECKED enum ga_status store_group_put(struct store *store, struct store_group *group,
                                          uint64_t if_generation);
GA_CHECKED enum ga_status store_group_get(struct store *store, const char *name,
                                          struct store_group *out);
GA_CHECKED enum ga_status
store_group_each(struct store *store, void (*each)(void *user, const struct store_group *group),
                 void *user);
GA_CHECKED enum ga_status store_group_remove(struct store *store, const char *name,
                                             uint64_t if_generation);
/* Both succeed if it is so already. */
GA_CHECKED enum ga_status store_group_join(struct store *store, const char *group,
                                           const char *tenant);
GA_CHECKED enum ga_status store_group_leave(struct store *store, const char *group,
                                            const char *tenant);
GA_CHECKED enum ga_status store_group_members(struct store *store, const char *group,
                                              void (*each)(void *user, const char *tenant),
                                              void *user);

/* ---- credentials */

enum store_kind { STORE_TOKEN, STORE_CERTIFICATE };
enum store_scope {
    STORE_OF_TENANT,
    STORE_OF_ADMIN,  /* may administrate; has no tenant, `name` is the administrator */
    STORE_OF_SERVER, /* a server's certificate; admits nobody, `name` is its first name */
};

struct store_credential {
    char id[STORE_ID_MAX + 1];
    enum store_kind kind;
    enum store_scope scope;
    char tenant[STORE_NAME_MAX + 1]; /* as it is called now; "": none */
    uint64_t tenant_number;          /* the store sets it */
    char user[STORE_NAME_MAX + 1];   /* "": none */
    char name[STORE_TEXT_MAX + 1];
    uint8_t hash[STORE_HASH_BYTES]; /* SHA-256 of the secret, or of the certificate (DER) */
    int64_t created, expires;       /* `expires` is the first second in which it is not valid */
    int64_t used;                   /* last time, to the hour */
    int64_t revoked;
};

/* Enters a new one. GA_NOT_FOUND: there is no such tenant or user. GA_CONFLICT: the id is there, or
 * the tenant (the user) has STORE_LIVE_MAX valid tokens already. */
GA_CHECKED enum ga_status store_credential_put(struct store *store,
                                               const struct store_credential *credential);
/* Whether that would be refused because of its tenant, its user, its name or the number of tokens;
 * its id and its hash are of no interest. */
GA_CHECKED enum ga_status store_credential_may_put(struct store *store,
                                                   const struct store_credential *credential);
/* Also an expired or revoked one. */
GA_CHECKED enum ga_status store_credential_get(struct store *store, const char *id,
                                               struct store_credential *out);
/* `tenant` NULL: all. By age, ascending. */
GA_CHECKED enum ga_status
store_credential_each(struct store *store, const char *tenant,
                      void (*each)(void *user, const struct store_credential *credential),
                      void *user);
/* How many of a tenant are valid at `now`: by an index, so that a list of tenants may ask for each
 * of them. A number that nobody has: 0. */
GA_CHECKED enum ga_status store_credential_valid(struct store *store, uint64_t tenant_number,
                                                 int64_t now, uint64_t *count);
/* Credentials of one kind, of one holder. */
struct store_credential_end {
    enum store_kind kind;
    enum store_scope scope;
    char tenant[STORE_NAME_MAX + 1]; /* "": none */
    char user[STORE_NAME_MAX + 1];   /* "": none */
    char name[STORE_TEXT_MAX + 1];   /* of administrators and servers */
    int64_t created, expires;        /* of the youngest one, and of the one that ends last */
};
/* When holders of credentials are without one: for each that has, or has had within a week, the
 * last end of those that are not revoked. The first end first, at most `most`. */
GA_CHECKED enum ga_status
store_credential_ends(struct store *store, int64_t now, unsigned most,
                      void (*each)(void *user, const struct store_credential_end *end), void *user);
/* The credential ends at `at`, if it does not end before. */
GA_CHECKED enum ga_status store_credential_shorten(struct store *store, const char *id, int64_t at);
/* Succeeds if it is revoked already. */
GA_CHECKED enum ga_status store_credential_revoke(struct store *store, const char *id, int64_t now);
/* Notes its use, unless it has been noted within the hour. Waits for no lock. */
GA_CHECKED enum ga_status store_credential_used(struct store *store, const char *id, int64_t now);

/* ---- local users: whose the users and groups of this machine are */

enum store_local_kind { STORE_UID, STORE_GID };

struct store_local {
    enum store_local_kind kind;
    uint32_t number;
    char tenant[STORE_NAME_MAX + 1];
    uint64_t tenant_number; /* the store sets it */
    char user[STORE_NAME_MAX + 1];
};

/* Makes or replaces the line of this number. */
GA_CHECKED enum ga_status store_local_put(struct store *store, const struct store_local *local);
GA_CHECKED enum ga_status store_local_get(struct store *store, enum store_local_kind kind,
                                          uint32_t number, struct store_local *out);
GA_CHECKED enum ga_status
store_local_each(struct store *store, void (*each)(void *user, const struct store_local *local),
                 void *user);
GA_CHECKED enum ga_status store_local_remove(struct store *store, enum store_local_kind kind,
                                             uint32_t number);

#endif
