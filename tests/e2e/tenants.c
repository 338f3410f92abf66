// SPDX-License-Identifier: Apache-2.0
// tenants STORE COMMAND...: changes the store of a gpuaasd that runs, as another program may.
//   add NAME [KEY=VALUE...] | remove NAME | rename NAME NEW | suspend NAME REASON | resume NAME
//   token NAME [USER]: prints one | old_token NAME: that has expired | revoke ID
//   certificate NAME ID SHA256 | local uid|gid NUMBER NAME | no_local uid|gid NUMBER | user NAME
//   USER
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auth/auth.h"

#define DAY_S 86400

static struct store *store;

static int fail(const char *why)
{
    fprintf(stderr, "tenants: %s\n", why);
    return 1;
}

static int done(enum ga_status status)
{
    return status == GA_OK ? 0 : fail(store_why(store));
}

static int add(int count, char **words)
{
    struct store_tenant tenant;
    char why[300];
    store_tenant_init(&tenant, words[0]);
    for (int i = 1; i < count; i++) {
        if (store_tenant_set(&tenant, words[i], why, sizeof why) != GA_OK) {
            return fail(why);
        }
    }
    return done(store_tenant_put(store, &tenant, STORE_ANY_GENERATION));
}

static int suspend(const char *name, bool suspended, const char *reason)
{
    struct store_tenant tenant;
    if (store_tenant_get(store, name, &tenant) != GA_OK) {
        return fail(store_why(store));
    }
    tenant.suspended = suspended;
    snprintf(tenant.reason, sizeof tenant.reason, "%s", reason);
    return done(store_tenant_put(store, &tenant, STORE_ANY_GENERATION));
}

static int token(const char *name, const char *user, time_t from, int64_t ttl_s)
{
    char text[AUTH_TOKEN_BYTES], why[300];
    struct store_credential credential;
    if (auth_token_issue(store, name, user, "a test", ttl_s, from, text, &credential, why,
                         sizeof why) != GA_OK) {
        return fail(why);
    }
    printf("%s %s\n", credential.id, text);
    return 0;
}

static int certificate(char **words)
{
    struct store_credential credential = {
        .kind = STORE_CERTIFICATE, .created = time(NULL), .expires = time(NULL) + DAY_S};
    snprintf(credential.tenant, sizeof credential.tenant, "%s", words[0]);
    snprintf(credential.id, sizeof credential.id, "%s", words[1]);
    for (unsigned i = 0; i < sizeof credential.hash; i++) {
        unsigned byte;
        if (sscanf(words[2] + 2 * i, "%2x", &byte) != 1) {
            return fail("no SHA-256");
        }
        credential.hash[i] = (uint8_t)byte;
    }
    return done(store_credential_put(store, &credential));
}

static int local(char **words)
{
    struct store_local local = {.kind = strcmp(words[0], "uid") == 0 ? STORE_UID : STORE_GID,
                                .number = (uint32_t)strtoul(words[1], NULL, 10)};
    snprintf(local.tenant, sizeof local.tenant, "%s", words[2]);
    return done(store_local_put(store, &local));
}

static int user(char **words)
{
    struct store_user made = {0};
    snprintf(made.tenant, sizeof made.tenant, "%s", words[0]);
    snprintf(made.name, sizeof made.name, "%s", words[1]);
    limits_clear(&made.limits);
    return done(store_user_put(store, &made, STORE_ANY_GENERATION));
}

static int run(const char *command, int count, char **words)
{
    time_t now = time(NULL);
    if (strcmp(command, "add") == 0 && count >= 1) {
        return add(count, words);
    } else if (strcmp(command, "remove") == 0 && count == 1) {
        return done(store_tenant_remove(store, words[0], STORE_ANY_GENERATION));
    } else if (strcmp(command, "rename") == 0 && count == 2) {
        return done(store_tenant_rename(store, words[0], words[1], STORE_ANY_GENERATION));
    } else if (strcmp(command, "suspend") == 0 && count == 2) {
        return suspend(words[0], true, words[1]);
    } else if (strcmp(command, "resume") == 0 && count == 1) {
        return suspend(words[0], false, "");
    } else if (strcmp(command, "token") == 0 && count >= 1) {
        return token(words[0], count > 1 ? words[1] : "", now, DAY_S);
    } else if (strcmp(command, "old_token") == 0 && count == 1) {
        return token(words[0], "", now - DAY_S, 60);
    } else if (strcmp(command, "revoke") == 0 && count == 1) {
        return done(store_credential_revoke(store, words[0], now));
    } else if (strcmp(command, "certificate") == 0 && count == 3) {
        return certificate(words);
    } else if (strcmp(command, "local") == 0 && count == 3) {
        return local(words);
    } else if (strcmp(command, "no_local") == 0 && count == 2) {
        return done(store_local_remove(store, strcmp(words[0], "uid") == 0 ? STORE_UID : STORE_GID,
                                       (uint32_t)strtoul(words[1], NULL, 10)));
    } else if (strcmp(command, "user") == 0 && count == 2) {
        return user(words);
    }
    return fail("there is no such command");
}

int main(int argc, char **argv)
{
    char why[400];
    if (argc < 3) {
        return fail("STORE COMMAND...");
    }
    if (store_open(argv[1], &store, why, sizeof why) != GA_OK) {
        return fail(why);
    }
    int status = run(argv[2], argc - 3, argv + 3);
    store_close(store);
    return status;
}
