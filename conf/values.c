/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration as texts, as it was read: the other direction of conf/key.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "conf/key.h"

struct telling {
    conf_value *tell;
    void *user;
    char section[16];
};

static void value_ports_write(const struct conf_ports *ports, char *text, size_t size)
{
    if (ports->first == ports->last) {
        snprintf(text, size, "%u", ports->first);
    } else {
        snprintf(text, size, "%u-%u", ports->first, ports->last);
    }
}

/* False: the key has no text of its own. */
static bool value_write(const struct conf_key *key, const void *from, char *text, size_t size)
{
    const void *member = (const char *)from + key->offset;
    switch (key->type) {
    case CONF_TYPE_TEXT:
        snprintf(text, size, "%s", (const char *)member);
        return true;
    case CONF_TYPE_NUMBER:
        snprintf(text, size, "%" PRIu32, *(const uint32_t *)member);
        return true;
    case CONF_TYPE_BYTES:
        ga_bytes_write(*(const uint64_t *)member, text);
        return true;
    case CONF_TYPE_TIME:
        ga_time_write(*(const uint64_t *)member, text);
        return true;
    case CONF_TYPE_POLICY:
        snprintf(text, size, "%s", sched_policy_name(*(const struct sched_policy *const *)member));
        return true;
    case CONF_TYPE_PORTS:
        value_ports_write(member, text, size);
        return true;
    case CONF_TYPE_FLAG:
        snprintf(text, size, "%s", *(const bool *)member ? "yes" : "no");
        return true;
    case CONF_TYPE_SWITCH:
        snprintf(text, size, "%s", *(const bool *)member ? "on" : "off");
        return true;
    case CONF_TYPE_FULL:
        snprintf(text, size, "%s", *(const bool *)member ? "deny" : "drop");
        return true;
    case CONF_TYPE_AUTO:
        snprintf(text, size, "%s", *(const bool *)member ? "auto" : "off");
        return true;
    case CONF_TYPE_LEVEL:
        snprintf(text, size, "%s", ga_log_level_name(*(const enum ga_log_level *)member));
        return true;
    case CONF_TYPE_FORMAT:
        snprintf(text, size, "%s", ga_log_format_name(*(const enum ga_log_format *)member));
        return true;
    case CONF_TYPE_DRIVER:
        snprintf(text, size, "%s",
                 *(const enum conf_driver *)member == CONF_DRIVER_SOFT ? "soft" : "nvidia");
        return true;
    default:
        return false;
    }
}

static void section_tell(const struct telling *telling, enum conf_section section, unsigned drivers,
                         const void *from)
{
    char text[CONF_TEXT_MAX + 16];
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        if (key->section == section && (key->drivers & drivers) != 0 &&
            value_write(key, from, text, sizeof text)) {
            telling->tell(telling->user, telling->section, key->name, text);
        }
    }
}

/* The keys of a software GPU that differ from its model's. */
static void soft_tell(const struct telling *telling, const struct conf_gpu *gpu)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out != NULL) {
        soft_device_write(out, &gpu->soft, gpu->soft_given);
        bool written = fclose(out) == 0;
        char *rest = NULL;
        for (char *pair = strtok_r(text, ",", &rest); written && pair != NULL;
             pair = strtok_r(NULL, ",", &rest)) {
            char *value = strchr(pair, '=');
            if (value != NULL) {
                *value = 0;
                telling->tell(telling->user, telling->section, pair, value + 1);
            }
        }
        free(text);
    }
}

void conf_values_tell(const struct conf *conf, conf_value *tell, void *user)
{
    struct telling telling = {.tell = tell, .user = user, .section = "server"};
    for (unsigned i = 0; i < conf->server.listen_count; i++) {
        tell(user, "server", "listen", conf->server.listen[i].url);
    }
    section_tell(&telling, CONF_SECTION_SERVER, CONF_DRIVERS_ALL, &conf->server);
    for (unsigned i = 0; i < conf->gpu_count; i++) {
        const struct conf_gpu *gpu = &conf->gpus[i];
        snprintf(telling.section, sizeof telling.section, "gpu.%u", gpu->number);
        section_tell(&telling, CONF_SECTION_GPU, 1u << gpu->driver, gpu);
        if (gpu->driver == CONF_DRIVER_SOFT) {
            soft_tell(&telling, gpu);
        }
    }
}
