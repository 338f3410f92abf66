/* SPDX-License-Identifier: Apache-2.0 */
/* The servers that have answered, and the devices that they give. All of them are different ones,
 * also two of one pool: a server refuses a program that it knows already. */
#include "client/session/server_devices.h"

#include "client/session/device_attributes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/driver_open.h"
#include "api/visible_devices.h"
#include "base/log.h"
#include "client/process/environment.h"

#define DEVICES_OF_OWNER "GPUAAS_DEVICES"

struct client_device *client_devices[CLIENT_DEVICES_MAX];
int client_device_count;
struct client_server *client_servers;

static void add_device(struct client_server *server, uint32_t index,
                       const struct handshake_device *facts)
{
    struct client_device *device = calloc(1, sizeof *device);
    if (device == NULL || client_device_count == CLIENT_DEVICES_MAX) {
        free(device);
        return;
    }
    device->server = server;
    device->index = index;
    snprintf(device->name, sizeof device->name, "%s", facts->name);
    memcpy(device->uuid, facts->uuid, sizeof device->uuid);
    device->memory_bytes = facts->memory_bytes;
    device->granularity_bytes = facts->granularity_bytes;
    device->priority_least = facts->priority_least;
    device->priority_greatest = facts->priority_greatest;
    device->traits = facts->traits;
    device->peers = facts->peers;
    client_attributes_apply(device->attributes, facts->attributes,
                            facts->attribute_count < CLIENT_ATTRIBUTES ? facts->attribute_count
                                                                       : CLIENT_ATTRIBUTES);
    pthread_mutex_init(&device->open_lock, NULL);
    client_devices[client_device_count++] = device;
}

/* Nodes of one pool shall differ. UUIDs of software GPUs are made of the node's name and its
 * address, and these may have been copied with a configuration; or two servers have one GPU. */
static void warn_of_mirrors(const struct client_server *server,
                            const struct handshake_welcome *welcome)
{
    for (int i = 0; i < client_device_count; i++) {
        const struct client_device *device = client_devices[i];
        bool same_pool = strcmp(device->server->pool, welcome->pool) == 0;
        for (uint32_t n = 0; same_pool && n < welcome->device_count; n++) {
            if (memcmp(device->uuid, welcome->devices[n].uuid, sizeof device->uuid) == 0) {
                ga_warn("%s and %s have GPUs with the same UUIDs, so none can be chosen by it: do "
                        "both name the node %.64s?",
                        device->server->address, server->address, welcome->node);
                return;
            }
        }
    }
}

void client_servers_add(struct client_server *server, const struct handshake_welcome *welcome)
{
    struct client_server **last = &client_servers;
    warn_of_mirrors(server, welcome);
    snprintf(server->pool, sizeof server->pool, "%s", welcome->pool);
    snprintf(server->node, sizeof server->node, "%s", welcome->node);
    snprintf(server->build, sizeof server->build, "%s", welcome->build);
    server->driver_version = welcome->driver_version;
    for (uint32_t i = 0; i < welcome->device_count; i++) {
        add_device(server, i, &welcome->devices[i]);
    }
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = server;
}

bool client_servers_same(const struct client_server *server,
                         const struct handshake_welcome *welcome)
{
    bool same = strcmp(server->node, welcome->node) == 0 &&
                server->driver_version == welcome->driver_version;
    for (int i = 0; i < client_device_count; i++) {
        const struct client_device *device = client_devices[i];
        same = same && (device->server != server ||
                        (device->index < welcome->device_count &&
                         memcmp(device->uuid, welcome->devices[device->index].uuid,
                                sizeof device->uuid) == 0));
    }
    return same;
}

bool client_servers_choose_device(void)
{
    return getenv(DEVICES_OF_OWNER) != NULL || getenv(API_VISIBLE_DEVICES) != NULL;
}

static const uint8_t *uuid_of_client(const void *device)
{
    return (*(const struct client_device *const *)device)->uuid;
}

static void devices_choose(const char *variable)
{
    client_device_count =
        api_visible_choose(variable, getenv(variable), client_devices, sizeof client_devices[0],
                           client_device_count, uuid_of_client);
}

/* First the owner's choice, then, among those, the program's user's. */
void client_servers_choose(void)
{
    devices_choose(DEVICES_OF_OWNER);
    devices_choose(API_VISIBLE_DEVICES);
    for (int i = 0; i < client_device_count; i++) {
        client_devices[i]->ordinal = i;
    }
}

CUresult client_device_find(CUdevice ordinal, struct client_device **device)
{
    if (ordinal < 0 || ordinal >= client_device_count) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = client_devices[ordinal];
    return CUDA_SUCCESS;
}
