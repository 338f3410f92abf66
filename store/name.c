/* SPDX-License-Identifier: Apache-2.0 */
#include "store/name.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

bool store_name_is_valid(const char *name)
{
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) ||
           (length > 0 && name[length] != 0 && strchr("._-", name[length]) != NULL)) {
        length++;
    }
    return length >= 1 && length <= STORE_NAME_MAX && name[length] == 0;
}

enum ga_status name_check(struct store *store, const char *noun, const char *name)
{
    if (!store_name_is_valid(name)) {
        return sql_refuse(store, GA_INVALID,
                          "'%.70s' is not a name of a %s: 1 to %u letters, digits, '.', '_' or "
                          "'-', a letter or digit first",
                          name, noun, STORE_NAME_MAX);
    }
    return GA_OK;
}

enum ga_status name_check_text(struct store *store, const char *noun, const char *text)
{
    size_t length = strlen(text);
    bool fine = length <= STORE_TEXT_MAX;
    for (size_t i = 0; i < length && fine; i++) {
        fine = (unsigned char)text[i] >= ' ' && text[i] != 0x7f;
    }
    if (!fine) {
        return sql_refuse(store, GA_INVALID,
                          "%s: a text has one line of at most %u bytes, without control characters",
                          noun, STORE_TEXT_MAX);
    }
    return GA_OK;
}

enum ga_status name_tenant(struct store *store, const char *tenant, int64_t *number)
{
    enum ga_status status = sql_number(
        store, number, "SELECT number FROM tenant WHERE name = ?1 AND removed = 0", "t", tenant);
    if (status == GA_NOT_FOUND) {
        return sql_refuse(store, GA_NOT_FOUND,
                          "there is no tenant '%.70s'; `gpuaasctl tenant list` shows them", tenant);
    }
    return status;
}

enum ga_status name_user(struct store *store, int64_t number, const char *tenant, const char *user)
{
    int64_t one;
    if (*user == 0) {
        return GA_OK;
    }
    enum ga_status status = sql_number(
        store, &one, "SELECT 1 FROM user WHERE tenant = ?1 AND name = ?2", "it", number, user);
    if (status == GA_NOT_FOUND) {
        return sql_refuse(store, GA_NOT_FOUND,
                          "tenant %s has no user '%.70s'; `gpuaasctl user list` shows them", tenant,
                          user);
    }
    return status;
}

enum ga_status name_generation(struct store *store, const char *noun, const char *name,
                               uint64_t wanted, uint64_t found)
{
    if (wanted == found || wanted == STORE_ANY_GENERATION) {
        return GA_OK;
    }
    if (wanted == STORE_NEW) {
        return sql_refuse(store, GA_CONFLICT, "there is a %s '%s' already", noun, name);
    }
    if (found == 0) {
        return sql_refuse(store, GA_NOT_FOUND, "there is no %s '%s' (any more)", noun, name);
    }
    return sql_refuse(store, GA_CONFLICT,
                      "%s '%s' has been changed meanwhile: its generation is %" PRIu64
                      ", not %" PRIu64 "; look at it again, then repeat",
                      noun, name, found, wanted);
}

enum ga_status name_limits_put(struct store *store, int64_t number, const char *user,
                               const struct limits *limits)
{
    if (user == NULL) {
        GA_TRY(sql_run(store, NULL, "DELETE FROM tenant_limit WHERE tenant = ?1", "i", number));
    } else {
        GA_TRY(sql_run(store, NULL, "DELETE FROM user_limit WHERE tenant = ?1 AND user = ?2", "it",
                       number, user));
    }
    for (int i = 0; i < LIMIT_COUNT; i++) {
        const char *key = limits_table[i].key;
        GA_TRY(limits_value_check((enum limit)i, limits->of[i], store->why, sizeof store->why));
        if (limits->of[i] == LIMIT_NONE) {
            continue;
        }
        int64_t value = (int64_t)limits->of[i];
        if (user == NULL) {
            GA_TRY(sql_run(store, NULL, "INSERT INTO tenant_limit VALUES (?1, ?2, ?3)", "iti",
                           number, key, value));
        } else {
            GA_TRY(sql_run(store, NULL, "INSERT INTO user_limit VALUES (?1, ?2, ?3, ?4)", "itti",
                           number, user, key, value));
        }
    }
    return GA_OK;
}
