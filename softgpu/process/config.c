/* SPDX-License-Identifier: Apache-2.0 */
/* Reads SOFTGPU_DEVICES. Names may contain any character but ',' and ';' and, because of forgotten
 * separators, '='. */
#include "softgpu/process/config.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softgpu/node/physical.h"

/* The state of reading one device. */
struct reading {
    uint64_t given; /* one bit for each of soft_keys that the text has */
    bool name, uuid;
    char *why;
    size_t why_bytes;
};

/* A device of a node has the same uuid in every process, so nothing in it is random. */
static void config_uuid(struct soft_device *device, unsigned ordinal)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    char seed[512];
    int length = snprintf(seed, sizeof seed, "softgpu/%s/%u/%s", host, ordinal, device->name);
    for (unsigned half = 0; half < 2; half++) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325) + half;
        for (int i = 0; i < length; i++) {
            hash = (hash ^ (unsigned char)seed[i]) * UINT64_C(0x100000001b3);
        }
        memcpy(device->uuid + half * 8, &hash, 8);
    }
    /* RFC 4122: version 8 (vendor's own), variant 1. */
    device->uuid[6] = (uint8_t)((device->uuid[6] & 0x0f) | 0x80);
    device->uuid[8] = (uint8_t)((device->uuid[8] & 0x3f) | 0x80);
}

static bool read_uuid(const char *text, uint8_t uuid[16])
{
    unsigned digits = 0;
    for (; *text != 0; text++) {
        if (*text == '-') {
            continue;
        }
        const char *hex = "0123456789abcdef";
        const char *digit = strchr(hex, tolower((unsigned char)*text));
        if (digit == NULL || digits == 32) {
            return false;
        }
        unsigned value = (unsigned)(digit - hex);
        uuid[digits / 2] = (uint8_t)(digits % 2 == 0 ? value << 4 : uuid[digits / 2] | value);
        digits++;
    }
    return digits == 32;
}

static bool read_name(const char *text, char name[SOFT_NAME_BYTES])
{
    if (text[0] == 0 || strlen(text) >= SOFT_NAME_BYTES || strchr(text, '=') != NULL) {
        return false;
    }
    memcpy(name, text, strlen(text) + 1);
    return true;
}

static enum ga_status refuse_key(const struct reading *reading, const char *what)
{
    int used = snprintf(reading->why, reading->why_bytes, "%s; allowed: name, uuid", what);
    for (size_t i = 0; i < soft_key_count && used >= 0 && (size_t)used < reading->why_bytes; i++) {
        used += snprintf(reading->why + used, reading->why_bytes - (size_t)used, ", %s",
                         soft_keys[i].name);
    }
    return GA_INVALID;
}

static bool given_already(const struct reading *reading, const char *name, size_t key)
{
    return key < soft_key_count ? (reading->given >> key & 1) != 0
                                : (reading->name && strcmp(name, "name") == 0) ||
                                      (reading->uuid && strcmp(name, "uuid") == 0);
}

/* One "key=value" */
static enum ga_status config_read_pair(char *pair, struct soft_device *device,
                                       struct reading *reading)
{
    char what[128];
    char *value = strchr(pair, '=');
    if (value == NULL) {
        snprintf(what, sizeof what, "'%.80s' is no key=value", pair);
        return refuse_key(reading, what);
    }
    *value++ = 0;
    bool right;
    const char *allowed;
    size_t key = soft_key_find(pair);
    if (given_already(reading, pair, key)) {
        snprintf(reading->why, reading->why_bytes,
                 "%s is given twice for a device; allowed: once (devices are separated by ';')",
                 pair);
        return GA_INVALID;
    }
    if (strcmp(pair, "name") == 0) {
        right = reading->name = read_name(value, device->name);
        allowed = "up to 127 characters without ',', ';' and '='";
    } else if (strcmp(pair, "uuid") == 0) {
        right = reading->uuid = read_uuid(value, device->uuid);
        allowed = "32 hexadecimal digits";
    } else if (key < soft_key_count) {
        right = soft_key_read(&soft_keys[key], value, device);
        reading->given |= UINT64_C(1) << key;
        allowed = soft_keys[key].allowed;
    } else {
        snprintf(what, sizeof what, "unknown key '%.80s'", pair);
        return refuse_key(reading, what);
    }
    if (!right) {
        snprintf(reading->why, reading->why_bytes, "'%.80s' is no value for %s; allowed: %s", value,
                 pair, allowed);
        return GA_INVALID;
    }
    return GA_OK;
}

static char *config_trim(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = 0;
    }
    return text;
}

static enum ga_status read_device(char *text, struct sg_config *config, char *why, size_t why_bytes)
{
    if (config->count == SG_DEVICES_MAX) {
        snprintf(why, why_bytes, "more than %d devices", SG_DEVICES_MAX);
        return GA_INVALID;
    }
    struct soft_device *device = &config->devices[config->count];
    struct reading reading = {.why = why, .why_bytes = why_bytes};
    memset(device, 0, sizeof *device);
    char *rest;
    for (char *pair = strtok_r(text, ",", &rest); pair != NULL; pair = strtok_r(NULL, ",", &rest)) {
        GA_TRY(config_read_pair(config_trim(pair), device, &reading));
    }
    soft_device_complete(device, reading.given);
    device->memory -= device->memory % SG_CHUNK_BYTES;
    const char *wrong = soft_device_wrong(device);
    if (wrong != NULL) {
        snprintf(why, why_bytes, "%s", wrong);
        return GA_INVALID;
    }
    if (!reading.name) {
        soft_model_name(device, device->name, sizeof device->name);
    }
    if (!device->execute) {
        size_t used = strlen(device->name);
        snprintf(device->name + used, sizeof device->name - used, " (kernels not executed)");
    }
    if (!reading.uuid) {
        config_uuid(device, config->count);
    }
    config->count++;
    return GA_OK;
}

enum ga_status sg_config_read(const char *text, struct sg_config *config, char *why,
                              size_t why_bytes)
{
    struct sg_config *read = calloc(1, sizeof *read); /* too large for a thread's stack */
    char *copy = strdup(text != NULL ? text : "");
    if (copy == NULL || read == NULL) {
        free(copy);
        free(read);
        snprintf(why, why_bytes, "out of memory");
        return GA_NO_MEMORY;
    }
    enum ga_status status = GA_OK;
    char *rest;
    for (char *device = strtok_r(copy, ";", &rest); device != NULL && status == GA_OK;
         device = strtok_r(NULL, ";", &rest)) {
        char *trimmed = config_trim(device);
        if (trimmed[0] != 0) {
            status = read_device(trimmed, read, why, why_bytes);
        }
    }
    if (status == GA_OK && read->count == 0) {
        char none[1] = "";
        status = read_device(none, read, why, why_bytes);
    }
    free(copy);
    if (status == GA_OK) {
        config->count = read->count;
        memcpy(config->devices, read->devices, read->count * sizeof *read->devices);
    }
    free(read);
    return status;
}
