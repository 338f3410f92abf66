/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of what applications have and use. */
#include "base/clock.h"
#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/applications/status_sink.h"
#include "server/processes/backend_process.h"
#include "server/seats/seat.h"
#include "server/seats/seat_turns.h"
#include "server/turns/scheduler.h"
#include "server/usage/seat_use.h"

static void seat_status(const struct seat *seat, struct status_application *status, uint64_t *gpus,
                        uint64_t *bytes)
{
    if (seat != NULL) {
        status->processes++;
        for (unsigned i = 0; i < sizeof seat->gpus / sizeof *seat->gpus; i++) {
            gpus[i] |= seat->gpus[i];
        }
        const struct figures_page *page = seat->process->figures;
        for (unsigned i = 0; i < CONF_GPUS_MAX; i++) {
            bytes[i] +=
                atomic_load_explicit(&page->memory[seat->number][i].bytes, memory_order_relaxed) +
                lender_taken_bytes(&seat->lender, i);
        }
        for (unsigned i = 0; i < FIGURE_COUNT; i++) {
            status->figures[i] +=
                atomic_load_explicit(&seat->usage.figures->of[i], memory_order_relaxed);
        }
        status->figures[FIGURE_DEVICE_BYTES] += lender_taken_bytes(&seat->lender, UINT32_MAX);
        status->figures[FIGURE_HOST_BYTES] +=
            atomic_load_explicit(&seat->usage.figures->driver_bytes, memory_order_relaxed);
    }
}

static void seat_status_gpus(const struct seat *seat, const struct status_application *status,
                             const struct status_sink *sink)
{
    struct seat_use use;
    for (uint32_t row = 0; seat != NULL && seat_use_read(&seat->usage, row, &use); row++) {
        struct scheduler_session turns;
        const struct status_gpu gpu = {.uuid = use.device->facts.uuid,
                                       .use = &use,
                                       .turns =
                                           seat_turns_look(seat, use.gpu, &turns) ? &turns : NULL};
        sink->gpu(sink->user, status, &gpu);
    }
}

void control_application_status(const struct applications *room, const struct status_sink *sink)
{
    ga_list_each (at, next, &room->all) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (application->observer) {
            continue;
        }
        uint64_t now = timers_now(room->timers),
                 began = control_application_began(application, now);
        uint64_t gpus[(CONF_GPUS_MAX + 63) / 64] = {0}, bytes[CONF_GPUS_MAX] = {0};
        struct status_application status = {.id = application->id,
                                            .address = application->address,
                                            .label = application->label,
                                            .tenant = application->tenant->terms.name,
                                            .user = application->user,
                                            .tenant_number = application->tenant->terms.number,
                                            .age_ns = now - application->since_ns,
                                            .wall_ns = began != 0 ? now - began : 0,
                                            .session = application->session,
                                            .way = application->way,
                                            .ending = application->terminated_ns != 0,
                                            .gpus = gpus,
                                            .gpu_bytes = bytes};
        ga_list_each (client, after, &application->clients) {
            status.connections++;
        }
        for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
            seat_status(application->seats[i], &status, gpus, bytes);
        }
        sink->application(sink->user, &status);
        for (unsigned i = 0; i < DEVICES_DRIVERS && sink->gpu != NULL; i++) {
            seat_status_gpus(application->seats[i], &status, sink);
        }
    }
}
