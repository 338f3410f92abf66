/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/seat_use.h"

#include "base/clock.h"
#include "server/control/application.h"
#include "server/control/backend_process.h"
#include "server/control/control.h"
#include "server/control/seat.h"

/* NULL: the driver of the process has no such GPU that clients see. */
static const struct device *seat_use_device(const struct devices *devices, enum conf_driver driver,
                                            uint64_t ordinal)
{
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        if (device->gpu->driver == driver && device->ordinal == ordinal) {
            return device;
        }
    }
    return NULL;
}

bool seat_use_read(const struct seat *seat, uint32_t number, struct seat_use *use)
{
    if (number >= FIGURES_GPUS) {
        return false;
    }
    const struct gpu_figures *row = &seat->figures->gpus[number];
    const struct devices *devices = &seat->application->control->devices;
    uint64_t gpu = atomic_load_explicit(&row->gpu, memory_order_relaxed);
    *use = (struct seat_use){
        .device = gpu != 0 ? seat_use_device(devices, seat->process->driver, gpu - 1) : NULL};
    if (use->device == NULL) {
        return false;
    }
    uint64_t most = ga_clock_ns() - seat->taken_ns;
    uint64_t any_ns = atomic_load_explicit(&row->busy_any_ns, memory_order_relaxed);
    use->busy_any_ns = any_ns < most ? any_ns : most;
    for (unsigned i = 0; i < FIGURE_ENGINES; i++) {
        uint64_t ns = atomic_load_explicit(&row->busy_ns[i], memory_order_relaxed);
        use->busy_ns[i] = ns < most ? ns : most;
    }
    use->works = atomic_load_explicit(&row->works, memory_order_relaxed);
    return true;
}
