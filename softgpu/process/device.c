/* SPDX-License-Identifier: Apache-2.0 */
/* Making and ending devices. */
#include "softgpu/process/device.h"

#include <string.h>

#include "softgpu/engine/permission_map.h"

/* Kernels of different streams that run side by side, at most. */
#define COMPUTE_LANES 4
/* With the timing model, as many as on GPUs; the model says how fast each runs. */
#define COMPUTE_LANES_TIMED 32

static unsigned device_engine_lanes(const struct soft_device *config, unsigned engine)
{
    if (engine != GPU_COMPUTE || !config->concurrent_kernels) {
        return 1;
    }
    return config->timing ? COMPUTE_LANES_TIMED : COMPUTE_LANES;
}

/* Processes share a device only if they describe it in the same way. */
static enum ga_status shared_open(struct sg_device *device)
{
    struct sg_node_key key = {.chunks = device->config.memory / SG_CHUNK_BYTES,
                              .sms = device->config.sms};
    memcpy(key.uuid, device->config.uuid, sizeof key.uuid);
    return sg_node_device_open(&key, &device->node);
}

enum ga_status sg_device_init(struct sg_device *device, unsigned ordinal,
                              const struct soft_device *config)
{
    *device = (struct sg_device){.ordinal = ordinal, .config = *config};
    GA_TRY(shared_open(device));
    enum ga_status status = sg_physical_open(&device->memory, device->node, config->memory);
    if (status != GA_OK) {
        sg_node_device_close(device->node);
        return status;
    }
    device->map = sg_map_create();
    if (device->map == NULL) {
        sg_physical_close(&device->memory);
        sg_node_device_close(device->node);
        return GA_NO_MEMORY;
    }
    ga_list_init(&device->slabs);
    for (unsigned i = 0; i < SG_ENGINES; i++) {
        ga_list_init(&device->engines[i].queue);
        device->engines[i].turn = i < GPU_ENGINES ? &device->node->engines[i] : NULL;
        device->engines[i].lanes = device_engine_lanes(config, i);
        device->threads_max += device->engines[i].lanes;
    }
    pthread_cond_init(&device->work, NULL);
    return GA_OK;
}

void sg_device_fini(struct sg_device *device)
{
    sg_physical_close(&device->memory);
    sg_node_device_close(device->node);
    sg_map_destroy(device->map);
    pthread_cond_destroy(&device->work);
    memset(device, 0, sizeof *device);
}
