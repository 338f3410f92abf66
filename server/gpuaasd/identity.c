/* SPDX-License-Identifier: Apache-2.0 */
#include "server/gpuaasd/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digits.h"

/* A user by name or number. A number needs no entry; its group is then the same number. */
static bool user_find(const char *text, struct channel_identity *identity, const char **name)
{
    const char *end;
    uint64_t number = 0;
    bool numeric = ga_digits_read(text, &end, &number) && *end == 0 && number < UINT32_MAX;
    const struct passwd *user = numeric ? getpwuid((uid_t)number) : getpwnam(text);
    if (user == NULL && !numeric) {
        return false;
    }
    identity->uid = user != NULL ? user->pw_uid : (uint32_t)number;
    identity->gid = user != NULL ? user->pw_gid : (uint32_t)number;
    *name = user != NULL ? user->pw_name : NULL;
    return true;
}

/* Those of which /etc/group names the user a member. */
static bool groups_of_user(const char *name, struct channel_identity *identity)
{
    gid_t groups[CHANNEL_GROUPS_MAX];
    int count = CHANNEL_GROUPS_MAX;
    identity->group_count = 0;
    if (name == NULL) {
        return true;
    }
    if (getgrouplist(name, identity->gid, groups, &count) < 0) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        identity->groups[identity->group_count++] = groups[i];
    }
    return true;
}

static bool group_add(const char *text, struct channel_identity *identity)
{
    const char *end;
    uint64_t number = 0;
    bool numeric = ga_digits_read(text, &end, &number) && *end == 0 && number < UINT32_MAX;
    const struct group *group = numeric ? NULL : getgrnam(text);
    if ((group == NULL && !numeric) || identity->group_count == CHANNEL_GROUPS_MAX) {
        return false;
    }
    identity->groups[identity->group_count++] = group != NULL ? group->gr_gid : (uint32_t)number;
    return true;
}

/* Names or numbers, separated by commas. */
static bool groups_read(const char *text, struct channel_identity *identity, char *wrong,
                        size_t wrong_size)
{
    char copy[CONF_TEXT_MAX], *rest = copy, *word;
    snprintf(copy, sizeof copy, "%s", text);
    identity->group_count = 0;
    while ((word = strsep(&rest, ", ")) != NULL) {
        if (word[0] != 0 && !group_add(word, identity)) {
            snprintf(wrong, wrong_size, "%s", word);
            return false;
        }
    }
    return true;
}

static enum ga_status identity_own(const struct conf_server *server,
                                   const struct channel_identity *wanted, const char **key,
                                   char *why, size_t why_size)
{
    *key = server->backend_user[0] != 0 ? "backend_user" : "backend_groups";
    if ((server->backend_user[0] == 0 || wanted->uid == geteuid()) &&
        server->backend_groups[0] == 0) {
        return GA_OK;
    }
    snprintf(why, why_size,
             "only root can start processes of other users and groups, and gpuaasd runs as user %u",
             (unsigned)geteuid());
    return GA_INVALID;
}

enum ga_status identity_find(const struct conf_server *server, struct channel_identity *identity,
                             const char **key, char *why, size_t why_size)
{
    const char *text = server->backend_user, *name = NULL;
    char wrong[CONF_TEXT_MAX];
    *identity = (struct channel_identity){.uid = IDENTITY_NOBODY, .gid = IDENTITY_NOBODY};
    *key = "backend_user";
    if (!user_find(text[0] != 0 ? text : IDENTITY_STANDARD, identity, &name) && text[0] != 0) {
        snprintf(why, why_size, "this machine has no user %s", text);
        return GA_INVALID;
    }
    if (geteuid() != 0) {
        GA_TRY(identity_own(server, identity, key, why, why_size));
        *identity = (struct channel_identity){.uid = geteuid(), .gid = getegid()};
        return GA_OK;
    }
    identity->change = 1;
    if (server->backend_groups[0] == 0 && !groups_of_user(name, identity)) {
        snprintf(why, why_size, "the user has more than %u groups: give backend_groups",
                 CHANNEL_GROUPS_MAX);
        return GA_INVALID;
    }
    *key = "backend_groups";
    if (server->backend_groups[0] != 0 &&
        !groups_read(server->backend_groups, identity, wrong, sizeof wrong)) {
        snprintf(why, why_size, "this machine has no group %s, or there are more than %u", wrong,
                 CHANNEL_GROUPS_MAX);
        return GA_INVALID;
    }
    return GA_OK;
}
