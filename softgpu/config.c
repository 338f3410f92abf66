/* Reads SOFTGPU_DEVICES. Names may hold anything but ',' and ';'. */
#include "softgpu/config.h"

#include <ctype.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "softgpu/physical.h"

#define ALLOWED                                                                                    \
    "allowed: name=TEXT, memory=NUMBER[KiB|MiB|GiB], sms=1..1024, "                                \
    "capability=7.5|8.0|8.6|8.9|9.0, vmm=yes|no, uuid=32 hexadecimal digits, separated by ',', "   \
    "devices by ';'"

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 32;
}

static uint32_t machine_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
    return 1;
}

static void config_default(struct sg_device_config *device)
{
    *device = (struct sg_device_config){.sms = machine_cores(), .capability = 75, .vmm = true};
    snprintf(device->name, sizeof device->name, "gpuaas software GPU");
    uint64_t half = machine_memory() / 2;
    device->memory = half < ((uint64_t)4 << 30) ? half : (uint64_t)4 << 30;
    device->memory -= device->memory % SG_CHUNK_BYTES;
}

/* The same device on the same node has the same uuid in every process; nothing random in it. */
static void config_uuid(struct sg_device_config *device, unsigned ordinal)
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

static bool read_memory(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *unit;
        unsigned shift;
    } units[] = {{"", 0},     {"B", 0},   {"K", 10},   {"KB", 10}, {"KiB", 10},
                 {"M", 20},   {"MB", 20}, {"MiB", 20}, {"G", 30},  {"GB", 30},
                 {"GiB", 30}, {"T", 40},  {"TiB", 40}};
    char *end = NULL;
    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    unsigned long long number = strtoull(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcasecmp(end, units[i].unit) == 0) {
            uint64_t value = (uint64_t)number << units[i].shift;
            if (value >> units[i].shift != number || value < SG_CHUNK_BYTES ||
                value > (uint64_t)1 << 44) {
                return false;
            }
            *bytes = value - value % SG_CHUNK_BYTES;
            return true;
        }
    }
    return false;
}

static bool read_sms(const char *text, uint32_t *sms)
{
    char *end = NULL;
    unsigned long number = isdigit((unsigned char)text[0]) ? strtoul(text, &end, 10) : 0;
    if (number < 1 || number > 1024 || *end != 0) {
        return false;
    }
    *sms = (uint32_t)number;
    return true;
}

static bool read_capability(const char *text, unsigned *capability)
{
    static const struct {
        const char *name;
        unsigned number;
    } known[] = {{"7.5", 75}, {"8.0", 80}, {"8.6", 86}, {"8.9", 89}, {"9.0", 90}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(text, known[i].name) == 0) {
            *capability = known[i].number;
            return true;
        }
    }
    return false;
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

static bool read_name(const char *text, char name[SG_NAME_BYTES])
{
    if (text[0] == 0 || strlen(text) >= SG_NAME_BYTES) {
        return false;
    }
    memcpy(name, text, strlen(text) + 1);
    return true;
}

/* One "key=value"; `uuid_given` tells that no uuid need be made. */
static enum ga_status read_pair(char *pair, struct sg_device_config *device, bool *uuid_given,
                                char *why, size_t why_bytes)
{
    char *value = strchr(pair, '=');
    if (value == NULL) {
        snprintf(why, why_bytes, "'%s' is no key=value; " ALLOWED, pair);
        return GA_INVALID;
    }
    *value++ = 0;
    bool right;
    if (strcmp(pair, "name") == 0) {
        right = read_name(value, device->name);
    } else if (strcmp(pair, "memory") == 0) {
        right = read_memory(value, &device->memory);
    } else if (strcmp(pair, "sms") == 0) {
        right = read_sms(value, &device->sms);
    } else if (strcmp(pair, "capability") == 0) {
        right = read_capability(value, &device->capability);
    } else if (strcmp(pair, "vmm") == 0) {
        device->vmm = strcmp(value, "yes") == 0;
        right = device->vmm || strcmp(value, "no") == 0;
    } else if (strcmp(pair, "uuid") == 0) {
        right = read_uuid(value, device->uuid);
        *uuid_given = true;
    } else {
        snprintf(why, why_bytes, "unknown key '%s'; " ALLOWED, pair);
        return GA_INVALID;
    }
    if (!right) {
        snprintf(why, why_bytes, "'%s' is no value for %s; " ALLOWED, value, pair);
        return GA_INVALID;
    }
    return GA_OK;
}

static char *trim(char *text)
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
    struct sg_device_config *device = &config->devices[config->count];
    config_default(device);
    bool uuid_given = false;
    char *rest;
    for (char *pair = strtok_r(text, ",", &rest); pair; pair = strtok_r(NULL, ",", &rest)) {
        GA_TRY(read_pair(trim(pair), device, &uuid_given, why, why_bytes));
    }
    if (!uuid_given) {
        config_uuid(device, config->count);
    }
    config->count++;
    return GA_OK;
}

enum ga_status sg_config_read(const char *text, struct sg_config *config, char *why,
                              size_t why_bytes)
{
    struct sg_config *read = calloc(1, sizeof *read); /* too large for a stack of the program's */
    char *copy = strdup(text != NULL ? text : "");
    if (copy == NULL || read == NULL) {
        free(copy);
        free(read);
        snprintf(why, why_bytes, "out of memory");
        return GA_NO_MEMORY;
    }
    enum ga_status status = GA_OK;
    char *rest;
    for (char *device = strtok_r(copy, ";", &rest); device && status == GA_OK;
         device = strtok_r(NULL, ";", &rest)) {
        char *trimmed = trim(device);
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
