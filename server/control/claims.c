/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/claims.h"

#include <stdlib.h>

#include "base/failpoint.h"
#include "server/control/application.h"
#include "server/control/control.h"
#include "server/control/seat.h"
#include "server/control/tenant_applications.h"
#include "server/processes/backend_process.h"
#include "server/tenants/refusal.h"
#include "server/tenants/tenant.h"

#define ANSWER_NS (2 * GA_NS_PER_S)  /* a process answers at once, or is in trouble */
#define LINE_NS   (20 * GA_NS_PER_S) /* clients wait for 30 s */

enum ga_status claims_room(struct seat *seat)
{
    if (seat->claims == NULL) {
        const struct devices *devices = &seat->application->control->processes.devices;
        seat->claims = calloc(devices->visible_count, sizeof *seat->claims);
    }
    return seat->claims != NULL ? GA_OK : GA_NO_MEMORY;
}

void claims_made(struct seat *seat, uint32_t gpu)
{
    if (!gpu_set_has(seat->gpus, gpu)) {
        gpu_set_add(seat->claimed, gpu);
        seat->claims[gpu] = (struct claim){.made_ns = ga_clock_ns(), .ticket = seat->tickets_sent};
    }
}

void claims_bound(struct seat *seat, uint32_t gpu)
{
    gpu_set_add(seat->gpus, gpu);
    gpu_set_remove(seat->claimed, gpu);
}

/* ---- taking back */

/* One question for each GPU at a time. */
static void claim_void(struct seat *seat, uint32_t gpu, uint64_t now)
{
    const struct channel_claim packet = {
        .kind = CHANNEL_VOID, .seat = seat->number, .gpu = gpu, .tickets = seat->tickets_sent};
    (void)GA_FAILPOINT("gpuaasd: before a claim is taken back");
    struct claim *claim = &seat->claims[gpu];
    claim->asked_ns = claim->asked_ns != 0 ? claim->asked_ns : now;
    if (!gpu_set_has(seat->voided, gpu) && seat_tell(seat, &packet, sizeof packet) == GA_OK) {
        gpu_set_add(seat->voided, gpu);
    }
}

/* The claims in the way; `silent`: a process has been asked in vain. */
struct in_way {
    bool any, silent;
};

/* Claims of a seat that its application has given up go with it, soon. */
static void claims_void(struct seat *seat, uint32_t only, uint64_t now, struct in_way *found)
{
    for (uint32_t gpu = 0; gpu < seat->application->control->processes.devices.visible_count;
         gpu++) {
        if (!gpu_set_has(seat->claimed, gpu) || (only != UINT32_MAX && only != gpu)) {
            continue;
        }
        const struct claim *claim = &seat->claims[gpu];
        found->any = true;
        if (seat->left || now - claim->made_ns >= CLAIMS_SAFE_NS) {
            claim_void(seat, gpu, now);
            found->silent = found->silent || now - claim->asked_ns > ANSWER_NS;
        }
    }
}

static bool keeps_away(const struct tenant *tenant, const struct tenant *other)
{
    return tenant != other && (tenant->terms.isolation == ISOLATION_EXCLUSIVE ||
                               other->terms.isolation == ISOLATION_EXCLUSIVE);
}

/* Others' claims that are in the way of this application; they are taken back. */
static struct in_way claims_in_the_way(const struct control_application *application, uint32_t gpu,
                                       bool limited, uint64_t now)
{
    const struct tenant *tenant = application->tenant;
    struct in_way found = {.any = false};
    ga_list_each (at, next, &application->control->processes.processes) {
        struct backend_process *process = ga_container(at, struct backend_process, link);
        for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
            struct seat *seat = seat_in(process, i);
            const struct control_application *other = seat != NULL ? seat->application : NULL;
            if (other == NULL || other == application || !gpu_set_any(seat->claimed)) {
                continue;
            }
            if (other->tenant == tenant && limited) {
                claims_void(seat, UINT32_MAX, now, &found);
            } else if (keeps_away(tenant, other->tenant)) {
                claims_void(seat, gpu, now, &found);
            }
        }
    }
    return found;
}

bool claims_any(const struct control_application *application)
{
    bool any = false;
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        const struct seat *seat = application->seats[i];
        any = any || (seat != NULL && gpu_set_any(seat->claimed));
    }
    return any;
}

void claims_take_back(const struct control_application *application)
{
    const uint32_t gpus = application->control->processes.devices.visible_count;
    uint64_t now = ga_clock_ns();
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        struct seat *seat = application->seats[i];
        for (uint32_t gpu = 0; seat != NULL && gpu < gpus; gpu++) {
            if (gpu_set_has(seat->claimed, gpu)) {
                claim_void(seat, gpu, now);
            }
        }
    }
}

bool claims_doubted(const struct seat *seat)
{
    uint64_t ticket_ns = seat->application->control->conf->server.ticket_s * GA_NS_PER_S;
    return seat->bound_ns == 0 && ga_clock_ns() - seat->usage.taken_ns > ticket_ns;
}

/* A ticket that was given since is a claim of its own. */
void claims_answered(struct seat *seat, const struct channel_claim *packet)
{
    if (packet->gpu >= CONF_GPUS_MAX || !gpu_set_has(seat->voided, packet->gpu)) {
        return;
    }
    (void)GA_FAILPOINT("gpuaasd: claim taken back");
    struct claim *claim = &seat->claims[packet->gpu];
    gpu_set_remove(seat->voided, packet->gpu);
    claim->asked_ns = 0;
    if (packet->used != 0) {
        claims_bound(seat, packet->gpu);
    } else if ((int32_t)(packet->tickets - claim->ticket) >= 0 && !claims_doubted(seat)) {
        gpu_set_remove(seat->claimed, packet->gpu);
    }
}

/* ---- the line */

/* Whether a claim of this application would be in the way of the one that stands there. */
static bool place_minds(const struct claims_place *place,
                        const struct control_application *application, uint32_t gpu)
{
    const struct tenant *tenant = place->application->tenant;
    return place->application != application &&
           (tenant == application->tenant
                ? place->limited
                : place->gpu == gpu && keeps_away(tenant, application->tenant));
}

/* Anybody before this place; who has none comes last. */
static bool anybody_minds(const struct control_application *application, uint32_t gpu,
                          const struct claims_place *own)
{
    bool minds = false;
    ga_list_each (at, next, &application->control->claims_line) {
        const struct claims_place *place = ga_container(at, struct claims_place, link);
        if (place == own || minds) {
            break;
        }
        minds = place_minds(place, application, gpu);
    }
    return minds;
}

void claims_leave(struct claims_place *place)
{
    if (place->application != NULL) {
        ga_list_remove(&place->link);
        place->application = NULL;
    }
}

enum ga_status claims_ask(const struct control_application *application, uint32_t gpu,
                          struct claims_place *place)
{
    struct refusal unused;
    struct control *control = application->control;
    uint64_t now = ga_clock_ns();
    bool mine = place->application != NULL && place->gpu == gpu;
    bool limited = !tenant_may_open(application, gpu, true, &unused);
    bool behind = anybody_minds(application, gpu, mine ? place : NULL);
    struct in_way found = {.any = false};
    if (!behind) {
        found = claims_in_the_way(application, gpu, limited, now);
    }
    if (!behind && !found.any) {
        return GA_OK;
    }
    if (place->application == NULL) {
        *place = (struct claims_place){
            .application = application, .gpu = gpu, .until_ns = now + LINE_NS};
        ga_list_append(&control->claims_line, &place->link);
        mine = true;
    }
    if (mine) {
        place->limited = limited;
        if (found.silent || now > place->until_ns) {
            claims_leave(place);
            return GA_DENIED;
        }
    }
    tenant_wait(application->tenant);
    return GA_AGAIN;
}
