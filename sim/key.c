/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys, and the reader of single values. */
#include "sim/key.h"

#include <stdlib.h>
#include <string.h>

#include "base/amount.h"

#define KEY_MEMBER_RUN(member)    offsetof(struct sim_run_keys, member)
#define KEY_MEMBER_POLICY(member) offsetof(struct sched_settings, member)
#define KEY_MEMBER_NODE(member)   offsetof(struct sim_node_keys, member)
#define KEY_MEMBER_GPU(member)    offsetof(struct sim_gpu_keys, member)
#define KEY_MEMBER_APP(member)    offsetof(struct sim_app_keys, member)
#define KEY_MEMBER_STREAM(member) offsetof(struct sim_stream_keys, member)

#define SIM_KEY(section_, name_, type_, member_, standard_, least_, most_, allowed_, help_)        \
    {.section = SIM_SECTION_##section_,                                                            \
     .name = name_,                                                                                \
     .type = SIM_TYPE_##type_,                                                                     \
     .offset = KEY_MEMBER_##section_(member_),                                                     \
     .standard = standard_,                                                                        \
     .least = (double)(least_),                                                                    \
     .most = (double)(most_),                                                                      \
     .allowed = allowed_,                                                                          \
     .help = help_},

/* A setting of gpuaasd alone has no place here: nothing is simulated that it would change. */
#define KEY_OF_POLICY(...) SIM_KEY(__VA_ARGS__)
#define KEY_OF_ALWAYS(...) SIM_KEY(__VA_ARGS__)
#define KEY_OF_SERVER(...)
#define SCHED_SETTING(id_, name_, of_, kind_, member_, standard_, least_, most_, allowed_, help_)  \
    KEY_OF_##of_(POLICY, name_, kind_, member_, standard_, least_, most_, allowed_, help_)

#define SOFT_KEY(name_, type_, member_, standard_, least_, most_, allowed_, help_)                 \
    SIM_KEY(GPU, name_, SOFT, device.member_, "", 0, 0, allowed_, help_)

const struct sim_key sim_keys[] = {
#include "sim/keys.def"

#include "sched/settings.def"

#include "api/soft_keys.def"
};
const size_t sim_key_count = sizeof sim_keys / sizeof sim_keys[0];
_Static_assert(sizeof sim_keys / sizeof sim_keys[0] <= SIM_KEYS_MAX, "make room for them");

static bool key_number_read(const struct sim_key *key, const char *text, uint32_t *into)
{
    const char *end;
    uint64_t number;
    if (!ga_digits_read(text, &end, &number) || *end != 0 || (double)number < key->least ||
        (double)number > key->most) {
        return false;
    }
    *into = (uint32_t)number;
    return true;
}

static bool key_time_read(const struct sim_key *key, const char *text, uint64_t *into)
{
    uint64_t ns = 0;
    bool none = key->least <= 0 && strcmp(text, "none") == 0;
    if ((!none && !ga_time_read(text, &ns)) || (double)ns < key->least || (double)ns > key->most) {
        return false;
    }
    *into = ns;
    return true;
}

static bool key_real_read(const struct sim_key *key, const char *text, double *into)
{
    char *end;
    if (strspn(text, "0123456789.e-") != strlen(text)) { /* neither hexadecimal, inf nor nan */
        return false;
    }
    double number = strtod(text, &end);
    if (end == text || *end != 0 || !(number >= key->least && number <= key->most)) {
        return false;
    }
    *into = number;
    return true;
}

static bool key_text_read(const char *text, size_t room, char *into)
{
    size_t length = strlen(text);
    if (length >= room) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || strchr("\"\\", text[i]) != NULL) {
            return false; /* names go into JSON as they are */
        }
    }
    memcpy(into, text, length + 1);
    return true;
}

static bool key_word_read(const struct sim_key *key, const char *text, uint32_t *into)
{
    uint32_t place = 0;
    for (const char *at = key->allowed; *at != 0; place++) {
        size_t length = strcspn(at, ",");
        if (strlen(text) == length && memcmp(at, text, length) == 0) {
            *into = place;
            return true;
        }
        at += length;
        at += strspn(at, ", ");
    }
    return false;
}

static bool key_switch_read(const char *text, bool *into)
{
    bool yes = strcmp(text, "yes") == 0;
    if (!yes && strcmp(text, "no") != 0) {
        return false;
    }
    *into = yes;
    return true;
}

static bool key_soft_read(const struct sim_key *key, const char *text, bool given,
                          struct sim_gpu_keys *gpu)
{
    size_t at = soft_key_find(key->name);
    if (!soft_key_read(&soft_keys[at], text, &gpu->device)) {
        return false;
    }
    gpu->given |= given ? UINT64_C(1) << at : 0;
    return true;
}

bool sim_key_read(const struct sim_key *key, const char *text, bool given, void *into)
{
    void *member = (char *)into + key->offset;
    switch (key->type) {
    case SIM_TYPE_NUMBER:
        return key_number_read(key, text, member);
    case SIM_TYPE_TIME:
        return key_time_read(key, text, member);
    case SIM_TYPE_REAL:
        return key_real_read(key, text, member);
    case SIM_TYPE_FLAG:
        return key_switch_read(text, member);
    case SIM_TYPE_NAME:
        return key_text_read(text, SIM_NAME_BYTES, member);
    case SIM_TYPE_PATH:
        return key_text_read(text, SIM_PATH_BYTES, member);
    case SIM_TYPE_WORD:
        return key_word_read(key, text, member);
    case SIM_TYPE_SOFT:
        return key_soft_read(key, text, given, into);
    }
    return false;
}

static const char *const section_forms[] = {"run",   "policy",   "node.N",
                                            "gpu.N", "app.NAME", "stream.NAME"};

/* The value of a c2050, which is the model of a GPU that names none. */
static void soft_standard(const char *name, char text[GA_AMOUNT_BYTES])
{
    const struct soft_key *key = &soft_keys[soft_key_find(name)];
    struct soft_device device = {.model = 0};
    (void)soft_key_read(&soft_keys[soft_key_find("model")], "c2050", &device);
    soft_device_complete(&device, 0);
    const void *member = (const char *)&device + key->offset;
    switch (key->type) {
    case SOFT_TYPE_NUMBER:
        snprintf(text, GA_AMOUNT_BYTES, "%u", *(const uint32_t *)member);
        break;
    case SOFT_TYPE_CAPABILITY:
        snprintf(text, GA_AMOUNT_BYTES, "%u.%u", *(const uint32_t *)member / 10,
                 *(const uint32_t *)member % 10);
        break;
    case SOFT_TYPE_BYTES:
        ga_bytes_write(*(const uint64_t *)member, text);
        break;
    case SOFT_TYPE_TIME:
        ga_time_write(*(const uint64_t *)member, text);
        break;
    case SOFT_TYPE_FLAG:
        snprintf(text, GA_AMOUNT_BYTES, "%s", *(const bool *)member ? "yes" : "no");
        break;
    case SOFT_TYPE_MODEL:
        snprintf(text, GA_AMOUNT_BYTES, "c2050");
        break;
    }
}

static const char *key_standard(const struct sim_key *key, char text[GA_AMOUNT_BYTES])
{
    if (key->type == SIM_TYPE_SOFT) {
        soft_standard(key->name, text);
        return text;
    }
    return key->standard == NULL ? "must be given" : key->standard;
}

void sim_keys_write(FILE *out)
{
    char text[GA_AMOUNT_BYTES];
    for (int section = 0; section < SIM_SECTIONS; section++) {
        fprintf(out, "[%s]\n", section_forms[section]);
        for (size_t i = 0; i < sim_key_count; i++) {
            const struct sim_key *key = &sim_keys[i];
            if (key->section == (enum sim_section)section) {
                fprintf(out, "  %-22s %-13s %s\n    %s\n", key->name, key_standard(key, text),
                        key->allowed, key->help);
            }
        }
    }
}
