/* SPDX-License-Identifier: Apache-2.0 */
/* Note: since when a program has been idle, only its backend process knows: it says when the
 * program was last busy. A process that hangs says nothing new, so its program counts as idle; one
 * that was taken over may say what it likes, and is ended by wall-time alone. */
#include "server/applications/time_limits.h"

#include <stdio.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/applications/terminate.h"
#include "server/seats/seat.h"
#include "server/tenants/member.h"

/* The process, which looks every second, has had its time to say why and to end. */
#define TIME_LIMITS_GRACE_NS (6 * GA_NS_PER_S)

/* When the program was last busy on a seat; `now` where it does not count. */
static uint64_t busy_at(const struct seat *seat, uint64_t now)
{
    if (seat == NULL || seat->served_ns == 0) {
        return now;
    }
    uint64_t busy_ns = atomic_load_explicit(&seat->usage.figures->busy_at_ns, memory_order_relaxed);
    busy_ns = busy_ns > seat->usage.taken_ns ? busy_ns : seat->usage.taken_ns;
    return busy_ns < now ? busy_ns : now;
}

static bool time_is_over(const struct limits *limits, enum limit limit, uint64_t since,
                         uint64_t now)
{
    uint64_t most_ms = limits->of[limit];
    return most_ms != LIMIT_NONE && (now - since) / GA_NS_PER_MS >= most_ms;
}

static void limit_end(struct control_application *application, enum limit limit)
{
    const struct tenant *tenant = application->tenant;
    const struct member *member =
        member_has_own(tenant, application->member, limit) ? application->member : NULL;
    char allowed[LIMITS_TEXT_MAX], whose[2 * TENANT_NAME_MAX + 20], why[WIRE_NOTICE_MAX + 1];
    limits_value_write(limit, member_limits(tenant, application->member)->of[limit], allowed);
    member_write(tenant, member, whose, sizeof whose);
    snprintf(why, sizeof why,
             "limit %s of %s: %s allowed, and its backend process has not ended it",
             limits_table[limit].key, whose, allowed);
    terminate_application(application, APPLICATION_SPENT, CUDA_ERROR_LAUNCH_FAILED, why);
}

/* The limit that it is over; LIMIT_COUNT: none. */
static enum limit limit_over(struct control_application *application, const struct limits *limits,
                             uint64_t now)
{
    uint64_t began = control_application_began(application, now);
    if (began != 0 && time_is_over(limits, LIMIT_WALL_TIME, began, now)) {
        return LIMIT_WALL_TIME;
    }
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (time_is_over(limits, LIMIT_IDLE_TIMEOUT, busy_at(application->seats[i], now), now)) {
            return LIMIT_IDLE_TIMEOUT;
        }
    }
    return LIMIT_COUNT;
}

static bool application_turn(struct control_application *application, uint64_t now)
{
    const struct limits *limits = member_limits(application->tenant, application->member);
    uint64_t awake = timers_awake(application->room->timers);
    enum limit limit = limit_over(application, limits, now);
    if (limit == LIMIT_COUNT) {
        application->over_ns = 0;
    } else if (application->over_ns == 0) {
        application->over_ns = awake;
    } else if (awake - application->over_ns > TIME_LIMITS_GRACE_NS) {
        limit_end(application, limit);
    }
    return limits->of[LIMIT_IDLE_TIMEOUT] != LIMIT_NONE ||
           limits->of[LIMIT_WALL_TIME] != LIMIT_NONE;
}

bool time_limits_turn(struct tenant *tenant, uint64_t now_ns)
{
    bool any = false;
    ga_list_each (at, next, &tenant->applications) {
        any = application_turn(ga_container(at, struct control_application, fellow), now_ns) || any;
    }
    return any;
}
