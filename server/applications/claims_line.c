/* SPDX-License-Identifier: Apache-2.0 */
#include "server/applications/claims_line.h"

#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/applications/tenant_applications.h"
#include "server/processes/backend_process.h"
#include "server/seats/claims.h"
#include "server/seats/seat.h"
#include "server/tenants/refusal.h"
#include "server/tenants/tenant.h"

#define LINE_NS (20 * GA_NS_PER_S) /* clients wait for 30 s */

/* ---- taking back */

static bool keeps_away(const struct tenant *tenant, const struct tenant *other)
{
    return tenant != other && (tenant->terms.isolation == ISOLATION_EXCLUSIVE ||
                               other->terms.isolation == ISOLATION_EXCLUSIVE);
}

/* Others' claims that are in the way of this application; they are taken back. */
static struct claims_in_way claims_in_the_way(const struct control_application *application,
                                              uint32_t gpu, bool limited, uint64_t now)
{
    const struct tenant *tenant = application->tenant;
    struct claims_in_way found = {.any = false};
    ga_list_each (at, next, &application->room->processes->processes) {
        struct backend_process *process = ga_container(at, struct backend_process, link);
        for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
            struct seat *seat = seat_in(process, i);
            const struct control_application *other = seat != NULL ? seat->application : NULL;
            if (other == NULL || other == application || !gpu_set_any(seat->claimed)) {
                continue;
            }
            if (other->tenant == tenant && limited) {
                claims_clear(seat, UINT32_MAX, now, &found);
            } else if (keeps_away(tenant, other->tenant)) {
                claims_clear(seat, gpu, now, &found);
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
    uint64_t now = timers_awake(application->room->timers);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (application->seats[i] != NULL) {
            claims_void(application->seats[i], now);
        }
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
    ga_list_each (at, next, &application->room->claims_line) {
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
    struct applications *room = application->room;
    uint64_t now = timers_awake(application->room->timers);
    bool mine = place->application != NULL && place->gpu == gpu;
    bool limited = !tenant_may_open(application, gpu, true, &unused);
    bool behind = anybody_minds(application, gpu, mine ? place : NULL);
    struct claims_in_way found = {.any = false};
    if (!behind) {
        found = claims_in_the_way(application, gpu, limited, now);
    }
    if (!behind && !found.any) {
        return GA_OK;
    }
    if (place->application == NULL) {
        *place = (struct claims_place){
            .application = application, .gpu = gpu, .until_ns = now + LINE_NS};
        ga_list_append(&room->claims_line, &place->link);
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
