/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys, and the parser of single values. */
#include "conf/key.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"

#define CONF_MEMBER_SERVER(member) offsetof(struct conf_server, member)
#define CONF_MEMBER_GPU(member)    offsetof(struct conf_gpu, member)

#define CONF_KEY(section_, name_, type_, member_, standard_, least_, most_, drivers_, change_,     \
                 allowed_, help_)                                                                  \
    {.section = CONF_SECTION_##section_,                                                           \
     .name = name_,                                                                                \
     .type = CONF_TYPE_##type_,                                                                    \
     .offset = CONF_MEMBER_##section_(member_),                                                    \
     .standard = standard_,                                                                        \
     .least = least_,                                                                              \
     .most = most_,                                                                                \
     .drivers = CONF_DRIVERS_##drivers_,                                                           \
     .change = CONF_CHANGE_##change_,                                                              \
     .allowed = allowed_,                                                                          \
     .help = help_},

#define SCHED_SETTING(id_, name_, of_, kind_, member_, standard_, least_, most_, allowed_, help_)  \
    CONF_KEY(GPU, name_, kind_, scheduling.settings.member_, standard_, least_, most_, ALL,        \
             RELOAD, allowed_, help_)

#define SOFT_KEY(name_, type_, member_, standard_, least_, most_, allowed_, help_)                 \
    CONF_KEY(GPU, name_, SOFT, soft.member_, standard_, least_, most_, SOFT, RESTART, allowed_,    \
             help_)

const struct conf_key conf_keys[] = {
#include "conf/keys.def"

#include "sched/settings.def"

#include "api/soft_keys.def"
};
const size_t conf_key_count = sizeof conf_keys / sizeof conf_keys[0];
_Static_assert(sizeof conf_keys / sizeof conf_keys[0] <= CONF_KEYS_MAX, "readers count so far");

static bool ports_read(const char *text, struct conf_ports *ports)
{
    const char *end;
    uint64_t first, last;
    if (!ga_digits_read(text, &end, &first)) {
        return false;
    }
    last = first;
    while (*end == ' ') {
        end++;
    }
    if (*end == '-') {
        end++;
        while (*end == ' ') {
            end++;
        }
        if (!ga_digits_read(end, &end, &last) || first == 0) {
            return false;
        }
    }
    if (*end != 0 || last > 65535 || first > last) {
        return false;
    }
    *ports = (struct conf_ports){.first = (uint16_t)first, .last = (uint16_t)last};
    return true;
}

static bool listen_read(const char *text, unsigned line, struct conf_server *server)
{
    struct conf_server changed = *server;
    while (*text != 0) {
        size_t length = strcspn(text, ",");
        const char *next = text[length] == ',' ? text + length + 1 : text + length;
        while (length > 0 && isspace((unsigned char)*text)) {
            text++;
            length--;
        }
        while (length > 0 && isspace((unsigned char)text[length - 1])) {
            length--;
        }
        if (length == 0 || length >= CONF_TEXT_MAX || changed.listen_count == CONF_LISTENS_MAX) {
            return false;
        }
        struct conf_listen *listen = &changed.listen[changed.listen_count++];
        memcpy(listen->url, text, length);
        listen->url[length] = 0;
        listen->line = line;
        text = next;
    }
    bool some = changed.listen_count > server->listen_count;
    *server = changed;
    return some;
}

static bool text_is_allowed(const struct conf_key *key, const char *text)
{
    if (strcmp(key->name, "driver_path") == 0 || strncmp(key->name, "tls_", 4) == 0 ||
        strcmp(key->name, "admin_socket") == 0 || strcmp(key->name, "store") == 0 ||
        strcmp(key->name, "audit_log") == 0) {
        return *text == '/';
    }
    bool is_list = strcmp(key->name, "backend_groups") == 0;
    bool is_name = key->section == CONF_SECTION_GPU; /* of a software GPU: for people */
    for (const char *at = text; *at != 0; at++) {
        bool word = isalnum((unsigned char)*at) || strchr(".-_", *at) != NULL;
        bool fine = is_name ? isprint((unsigned char)*at) && strchr(",;=", *at) == NULL
                            : word || (*at == ':' && strcmp(key->name, "advertise_address") == 0) ||
                                  (strchr(":[]", *at) != NULL && strcmp(key->name, "http") == 0) ||
                                  (strchr(", ", *at) != NULL && is_list);
        if (!fine) {
            return false;
        }
    }
    return true;
}

static bool key_text_read(const struct conf_key *key, const char *text, char *into)
{
    size_t length = strlen(text);
    if (length > key->most || (length != 0 && !text_is_allowed(key, text))) {
        return false;
    }
    memcpy(into, text, length + 1);
    return true;
}

static bool driver_read(const char *text, enum conf_driver *driver)
{
    if (strcmp(text, "soft") == 0) {
        *driver = CONF_DRIVER_SOFT;
        return true;
    }
    if (strcmp(text, "nvidia") == 0) {
        *driver = CONF_DRIVER_NVIDIA;
        return true;
    }
    return false;
}

static bool key_flag_read(const char *text, const char *yes, const char *no, bool *flag)
{
    bool is_yes = strcmp(text, yes) == 0;
    if (!is_yes && strcmp(text, no) != 0) {
        return false;
    }
    *flag = is_yes;
    return true;
}

static bool soft_read(const struct conf_key *key, const char *text, unsigned line,
                      struct conf_gpu *gpu)
{
    size_t at = soft_key_find(key->name);
    if (!soft_key_read(&soft_keys[at], text, &gpu->soft)) {
        return false;
    }
    gpu->soft_given |= line != 0 ? UINT64_C(1) << at : 0;
    return true;
}

static bool key_policy_read(const char *text, const struct sched_policy **policy)
{
    const struct sched_policy *found = sched_policy_find(text);
    *policy = found != NULL ? found : *policy;
    return found != NULL;
}

static bool key_time_read(const struct conf_key *key, const char *text, uint64_t *ns)
{
    uint64_t read = 0;
    bool none = key->least == 0 && strcmp(text, "none") == 0;
    if (!none && (!ga_time_read(text, &read) || read < key->least || read > key->most)) {
        return false;
    }
    *ns = read;
    return true;
}

const char *conf_key_allowed(const struct conf_key *key)
{
    static char policies[300];
    if (key->type != CONF_TYPE_POLICY) {
        return key->allowed;
    }
    policies[0] = 0;
    const struct sched_policy *policy;
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        size_t used = strlen(policies);
        snprintf(policies + used, sizeof policies - used, "%s%s",
                 i == 0                           ? ""
                 : sched_policy_at(i + 1) == NULL ? " or "
                                                  : ", ",
                 sched_policy_name(policy));
    }
    return policies;
}

/* Adds what the policies say of themselves, and which of them use a key. */
static void help_of_policies(const struct conf_key *key, char *text, size_t size)
{
    char users[300];
    const struct sched_policy *policy;
    for (size_t i = 0; key->type == CONF_TYPE_POLICY && (policy = sched_policy_at(i)) != NULL;
         i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s (%s)%s", i == 0 ? " " : ", ",
                 sched_policy_name(policy), sched_policy_summary(policy),
                 sched_policy_at(i + 1) == NULL ? "." : "");
    }
    if (conf_key_schedules(key) && !sched_policy_uses(sched_policy_at(0), key->name)) {
        size_t used = strlen(text);
        sched_policies_using(key->name, users, sizeof users);
        snprintf(text + used, size - used, " It has an effect with policy %s.", users);
    }
}

const char *conf_key_help(const struct conf_key *key)
{
    static char text[2000];
    snprintf(text, sizeof text, "%s", key->help);
    help_of_policies(key, text, sizeof text);
    return text;
}

bool conf_key_schedules(const struct conf_key *key)
{
    return key->section == CONF_SECTION_GPU && key->change == CONF_CHANGE_RELOAD;
}

size_t conf_key_bytes(const struct conf_key *key)
{
    switch (key->type) {
    case CONF_TYPE_TEXT:
        return CONF_TEXT_MAX;
    case CONF_TYPE_NUMBER:
        return sizeof(uint32_t);
    case CONF_TYPE_BYTES:
    case CONF_TYPE_TIME:
        return sizeof(uint64_t);
    case CONF_TYPE_POLICY:
        return sizeof(const struct sched_policy *);
    case CONF_TYPE_PORTS:
        return sizeof(struct conf_ports);
    case CONF_TYPE_FLAG:
    case CONF_TYPE_AUTO:
    case CONF_TYPE_SWITCH:
    case CONF_TYPE_FULL:
        return sizeof(bool);
    case CONF_TYPE_LEVEL:
        return sizeof(enum ga_log_level);
    case CONF_TYPE_FORMAT:
        return sizeof(enum ga_log_format);
    case CONF_TYPE_DRIVER:
        return sizeof(enum conf_driver);
    case CONF_TYPE_LISTEN:
    case CONF_TYPE_SOFT:
        break;
    }
    return 0;
}

static bool listens_same(const struct conf_server *one, const struct conf_server *other)
{
    bool same = one->listen_count == other->listen_count;
    for (unsigned i = 0; same && i < one->listen_count; i++) {
        same = strcmp(one->listen[i].url, other->listen[i].url) == 0;
    }
    return same;
}

bool conf_key_same(const struct conf_key *key, const void *one, const void *other)
{
    const char *a = (const char *)one + key->offset, *b = (const char *)other + key->offset;
    return key->type == CONF_TYPE_LISTEN ? listens_same(one, other)
           : key->type == CONF_TYPE_TEXT ? strcmp(a, b) == 0
                                         : memcmp(a, b, conf_key_bytes(key)) == 0;
}

bool conf_key_read(const struct conf_key *key, const char *text, unsigned line, void *into)
{
    void *member = (char *)into + key->offset;
    uint64_t number;
    const char *end;
    switch (key->type) {
    case CONF_TYPE_TEXT:
        return key_text_read(key, text, member);
    case CONF_TYPE_NUMBER:
        if (!ga_digits_read(text, &end, &number) || *end != 0 || number < key->least ||
            number > key->most) {
            return false;
        }
        *(uint32_t *)member = (uint32_t)number;
        return true;
    case CONF_TYPE_BYTES:
        if (!ga_bytes_read(text, &number) || number < key->least || number > key->most) {
            return false;
        }
        *(uint64_t *)member = number;
        return true;
    case CONF_TYPE_TIME:
        return key_time_read(key, text, member);
    case CONF_TYPE_POLICY:
        return key_policy_read(text, member);
    case CONF_TYPE_PORTS:
        return ports_read(text, member);
    case CONF_TYPE_FLAG:
        return key_flag_read(text, "yes", "no", member);
    case CONF_TYPE_AUTO:
        return key_flag_read(text, "auto", "off", member);
    case CONF_TYPE_SWITCH:
        return key_flag_read(text, "on", "off", member);
    case CONF_TYPE_FULL:
        return key_flag_read(text, "deny", "drop", member);
    case CONF_TYPE_LEVEL:
        return ga_log_level_parse(text, member);
    case CONF_TYPE_FORMAT:
        return ga_log_format_parse(text, member);
    case CONF_TYPE_DRIVER:
        return driver_read(text, member);
    case CONF_TYPE_LISTEN:
        return listen_read(text, line, into);
    case CONF_TYPE_SOFT:
        return soft_read(key, text, line, into);
    }
    return false;
}
