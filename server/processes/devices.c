/* SPDX-License-Identifier: Apache-2.0 */
/* The node's GPUs: configuration, facts, and the environment that makes a driver show them. */
#include "server/processes/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ENV_MAX 20u

/* Variables that a backend process inherits: the trace file of software GPUs, and the options of
 * sanitizers, in builds with one. */
static const char *const env_inherited[] = {
    "SOFTGPU_TRACE",     "ASAN_OPTIONS",        "UBSAN_OPTIONS", "TSAN_OPTIONS",
#if GPUAAS_FAULT
    "GPUAAS_TEST_FAULT",
#endif
#ifdef GPUAAS_FAILPOINTS
    "GPUAAS_FAILPOINT",  "GPUAAS_TEST_REBUILD",
#endif
#ifdef MUTANT_H /* scripts/mutate/rewrite.py */
    "MUTANT_NUMBER",     "MUTANT_REACHED",      "MUTANT_RUN",
#endif
    "LSAN_OPTIONS"};

enum ga_status devices_init(struct devices *devices, const struct conf *conf)
{
    *devices = (struct devices){.count = conf->gpu_count};
    devices->all = calloc(conf->gpu_count, sizeof *devices->all);
    devices->visible = calloc(conf->gpu_count, sizeof *devices->visible);
    if (devices->all == NULL || devices->visible == NULL ||
        getrandom(&devices->soft_node, sizeof devices->soft_node, 0) !=
            (ssize_t)sizeof devices->soft_node) {
        return GA_NO_MEMORY;
    }
    uint32_t soft = 0;
    for (uint32_t i = 0; i < conf->gpu_count; i++) {
        const struct conf_gpu *gpu = &conf->gpus[i];
        devices->all[i].gpu = gpu;
        devices->all[i].policy_generation = 1;
        devices->all[i].ordinal = gpu->driver == CONF_DRIVER_SOFT ? soft++ : gpu->device;
    }
    return GA_OK;
}

bool devices_have(const struct devices *devices, enum conf_driver driver)
{
    for (uint32_t i = 0; i < devices->count; i++) {
        if (devices->all[i].gpu->driver == driver) {
            return true;
        }
    }
    return false;
}

bool devices_seen(const struct devices *devices, enum conf_driver driver)
{
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        if (devices_visible(devices, i)->gpu->driver == driver) {
            return true;
        }
    }
    return false;
}

void devices_uuid_write(const uint8_t uuid[16], char text[DEVICES_UUID_BYTES])
{
    size_t at = (size_t)snprintf(text, DEVICES_UUID_BYTES, "GPU-");
    for (unsigned i = 0; i < 16; i++) {
        at += (size_t)snprintf(text + at, DEVICES_UUID_BYTES - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    }
}

const struct device *devices_visible(const struct devices *devices, uint32_t index)
{
    return &devices->all[devices->visible[index]];
}

void devices_setup(const struct devices *devices, enum conf_driver driver, enum channel_probe probe,
                   struct channel_setup *setup)
{
    setup->driver = driver;
    setup->probe = probe;
    setup->device_count = 0;
    bool all = probe != CHANNEL_SERVES;
    uint32_t count = all ? devices->count : devices->visible_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct device *device = &devices->all[all ? i : devices->visible[i]];
        if (device->gpu->driver != driver) {
            continue;
        }
        memcpy(setup->driver_path, device->gpu->driver_path, sizeof setup->driver_path);
        setup->devices[setup->device_count].device = i;
        setup->devices[setup->device_count].ordinal = device->ordinal;
        setup->devices[setup->device_count].context_bytes = device->facts.context_bytes;
        setup->device_count++;
    }
}

/* A GPU of a node keeps its uuid; two gpuaasd on one machine do not share any. */
static void uuid_write(FILE *out, const struct conf *conf, unsigned number)
{
    char seed[2 * CONF_TEXT_MAX + 32];
    int length = snprintf(seed, sizeof seed, "%s/%s/%u", conf->server.node,
                          conf->server.listen[0].url, number);
    for (unsigned half = 0; half < 2; half++) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325) + half;
        for (int i = 0; i < length; i++) {
            hash = (hash ^ (unsigned char)seed[i]) * UINT64_C(0x100000001b3);
        }
        fprintf(out, "%016llx", (unsigned long long)hash);
    }
}

static char *softgpu_devices(const struct devices *devices, const struct conf *conf)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return NULL;
    }
    const char *separator = "SOFTGPU_DEVICES=";
    for (uint32_t i = 0; i < devices->count; i++) {
        const struct conf_gpu *gpu = devices->all[i].gpu;
        if (gpu->driver != CONF_DRIVER_SOFT) {
            continue;
        }
        fputs(separator, out);
        soft_device_write(out, &gpu->soft, gpu->soft_given);
        fputs(",uuid=", out);
        uuid_write(out, conf, gpu->number);
        if (gpu->name[0] != 0) {
            fprintf(out, ",name=%s", gpu->name);
        }
        separator = ";";
    }
    return fclose(out) == 0 ? text : NULL;
}

char **devices_env(const struct devices *devices, const struct conf *conf, enum conf_driver driver)
{
    char **env = calloc(ENV_MAX, sizeof *env);
    size_t used = 0;
    if (env == NULL) {
        return NULL;
    }
    env[used] = driver == CONF_DRIVER_SOFT ? softgpu_devices(devices, conf)
                                           : strdup("CUDA_DEVICE_ORDER=PCI_BUS_ID");
    bool complete = env[used++] != NULL;
    if (complete && driver == CONF_DRIVER_SOFT) { /* all its processes share these GPUs */
        complete = asprintf(&env[used], "SOFTGPU_NODE=gpuaasd-%016llx",
                            (unsigned long long)devices->soft_node) >= 0;
        used += complete;
        complete = complete &&
                   asprintf(&env[used], "SOFTGPU_HOST_MEMORY=%llu",
                            (unsigned long long)conf->server.backend.application_host_memory) >= 0;
        used += complete;
    }
    const char *logs[] = {"GPUAAS_LOG", ga_log_level_name(conf->server.log_level),
                          "GPUAAS_LOG_FORMAT", GA_LOG_RECORD_WORD};
    for (size_t i = 0; i < 4 && complete; i += 2) { /* of the process, and of our drivers in it */
        complete = asprintf(&env[used], "%s=%s", logs[i], logs[i + 1]) >= 0;
        used += complete;
    }
    for (size_t i = 0; i < sizeof env_inherited / sizeof *env_inherited; i++) {
        const char *value = getenv(env_inherited[i]);
        if (value != NULL && complete) {
            complete = asprintf(&env[used], "%s=%s", env_inherited[i], value) >= 0;
            used += complete;
        }
    }
    if (!complete) {
        devices_env_free(env);
        return NULL;
    }
    return env;
}

void devices_env_free(char **env)
{
    for (char **at = env; at != NULL && *at != NULL; at++) {
        free(*at);
    }
    free(env);
}

bool devices_learn(struct devices *devices, const struct channel_facts *facts)
{
    if (facts->device >= devices->count) {
        return false;
    }
    devices->all[facts->device].facts = *facts;
    devices->all[facts->device].known = true;
    return true;
}

void devices_publish(struct devices *devices)
{
    devices->visible_count = 0;
    for (uint32_t i = 0; i < devices->count; i++) {
        if (devices->all[i].known) {
            devices->visible[devices->visible_count++] = i;
        }
    }
}

/* The driver's numbers are those of all devices; peers count those that the client sees. */
static uint64_t peers_seen(const struct devices *devices, const uint32_t *gpus, uint32_t count,
                           uint64_t peers)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < count && i < 64; i++) {
        uint32_t number = devices->visible[gpus[i]];
        seen |= (uint64_t)(number < 64 && (peers >> number & 1) != 0) << i;
    }
    return seen;
}

void devices_welcome(const struct devices *devices, const uint32_t *gpus, uint32_t count,
                     struct handshake_device *room)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct channel_facts *facts = &devices_visible(devices, gpus[i])->facts;
        room[i] = (struct handshake_device){
            .name = facts->name,
            .memory_bytes = facts->memory_bytes,
            .granularity_bytes = facts->granularity_bytes,
            .priority_least = facts->priority_least,
            .priority_greatest = facts->priority_greatest,
            .attribute_count = facts->attribute_count,
            .attributes = facts->attributes,
            .traits = facts->traits,
            .peers = peers_seen(devices, gpus, count, facts->peers),
        };
        memcpy(room[i].uuid, facts->uuid, sizeof facts->uuid);
    }
}
