/* A device's parts. */
#include "softgpu/device.h"

#include <string.h>

/* Kernels of different streams run side by side, this many at once. */
#define COMPUTE_LANES 4

enum ga_status sg_device_init(struct sg_device *device, unsigned ordinal,
                              const struct sg_device_config *config)
{
    *device = (struct sg_device){.ordinal = ordinal, .config = *config};
    GA_TRY(sg_physical_open(&device->memory, config->memory));
    device->map = sg_map_create();
    if (device->map == NULL) {
        sg_physical_close(&device->memory);
        return GA_NO_MEMORY;
    }
    ga_list_init(&device->slabs);
    for (unsigned i = 0; i < SG_ENGINES; i++) {
        ga_list_init(&device->engines[i].queue);
        device->engines[i].lanes = i == SG_ENGINE_COMPUTE ? COMPUTE_LANES : 1;
        device->threads_max += device->engines[i].lanes;
    }
    pthread_cond_init(&device->work, NULL);
    return GA_OK;
}

void sg_device_fini(struct sg_device *device)
{
    sg_physical_close(&device->memory);
    sg_map_destroy(device->map);
    pthread_cond_destroy(&device->work);
    memset(device, 0, sizeof *device);
}
