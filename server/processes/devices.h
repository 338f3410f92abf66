/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of this node as gpuaasd knows them: from the configuration, and from the facts that a
 * probe process reports. gpuaasd itself never opens a driver. */
#ifndef SERVER_PROCESSES_DEVICES_H
#define SERVER_PROCESSES_DEVICES_H

#include <stdbool.h>

#include "server/channel.h"
#include "server/processes/drain_state.h"
#include "server/processes/health.h"

#define DEVICES_DRIVERS 2u /* values of enum conf_driver */

struct device {
    const struct conf_gpu *gpu;
    uint64_t policy_generation; /* rises with each change of its scheduling */
    uint32_t ordinal;           /* in its driver */
    bool known;                 /* `facts` are there */
    struct drain drain;
    struct health health;
    struct channel_facts facts;
};

struct devices {
    struct device *all; /* in the order of the configuration; live as long as gpuaasd */
    uint32_t count;
    uint32_t *visible; /* the list that clients see: indexes into `all` */
    uint32_t visible_count;
    uint64_t soft_node; /* name of the node of this gpuaasd's software GPUs; unique */
};

/* `conf` is borrowed for as long as the devices are used. */
GA_CHECKED enum ga_status devices_init(struct devices *devices, const struct conf *conf);

/* Whether any GPU has this driver. */
bool devices_have(const struct devices *devices, enum conf_driver driver);
/* Whether any GPU that clients see has it. */
bool devices_seen(const struct devices *devices, enum conf_driver driver);
/* A UUID as people and NVIDIA's tools write it: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6". */
#define DEVICES_UUID_BYTES 41u
void devices_uuid_write(const uint8_t uuid[16], char text[DEVICES_UUID_BYTES]);
/* A GPU of a client's list. The index must be below visible_count. */
const struct device *devices_visible(const struct devices *devices, uint32_t index);

/* Fills in the devices and the driver of SETUP for a backend process of that driver: with `probe`
 * all devices of the configuration, otherwise those that clients see. */
void devices_setup(const struct devices *devices, enum conf_driver driver, enum channel_probe probe,
                   struct channel_setup *setup);
/* The environment of a backend process of that driver, ended by NULL; free with devices_env_free.
 * NULL: no memory. */
char **devices_env(const struct devices *devices, const struct conf *conf, enum conf_driver driver);
void devices_env_free(char **env);

/* Takes the facts of a probe. False: they name no device of the configuration. */
bool devices_learn(struct devices *devices, const struct channel_facts *facts);
/* Call after the probes: makes the list that clients see, of the devices with facts. */
void devices_publish(struct devices *devices);

/* Writes a WELCOME's devices: those of the list that clients see which `gpus` names. */
void devices_welcome(const struct devices *devices, const uint32_t *gpus, uint32_t count,
                     struct handshake_device *room);

#endif
