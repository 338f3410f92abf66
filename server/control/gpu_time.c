/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/gpu_time.h"

#include <stdio.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/control/accounting.h"
#include "server/control/application.h"
#include "server/control/control.h"
#include "server/control/dismiss.h"
#include "server/control/scheduling.h"
#include "server/control/tenant.h"

#define LOOK_NS GA_NS_PER_S

static const struct {
    enum limit limit;
    enum store_period period;
} periods[] = {{LIMIT_GPU_TIME_DAY, STORE_DAY}, {LIMIT_GPU_TIME_MONTH, STORE_MONTH}};

/* A store that fails has other consequences; here it limits nothing. */
static uint64_t used_ms(struct control *control, const struct tenant_terms *terms,
                        enum store_period period)
{
    return accounting_gpu_ns(control, terms->number, NULL, period) / GA_NS_PER_MS;
}

static bool gpu_time_left(struct control *control, const struct tenant_terms *terms, char *why,
                          size_t why_size)
{
    for (unsigned i = 0; i < sizeof periods / sizeof *periods; i++) {
        enum limit limit = periods[i].limit;
        uint64_t most = terms->limits.of[limit];
        uint64_t used = most != LIMIT_NONE ? used_ms(control, terms, periods[i].period) : 0;
        if (most != LIMIT_NONE && used >= most) {
            char allowed_text[LIMITS_TEXT_MAX], used_text[LIMITS_TEXT_MAX];
            limits_value_write(limit, most, allowed_text);
            limits_value_write(limit, used, used_text);
            snprintf(why, why_size,
                     "limit %s of tenant %s: %s allowed, %s used; wait for the next "
                     "%s (UTC), or ask for a higher limit",
                     limits_table[limit].key, terms->name, allowed_text, used_text,
                     periods[i].period == STORE_DAY ? "day" : "month");
            return false;
        }
    }
    return true;
}

bool gpu_time_admits(struct control *control, const struct tenant_terms *terms, char *why,
                     size_t why_size)
{
    return terms->limits.of[LIMIT_THROTTLE] != LIMIT_NONE ||
           gpu_time_left(control, terms, why, why_size);
}

/* What is written about used-up time is told once, and with the day or month it is over. */
static void throttle_set(struct tenant *tenant, bool throttled, const char *why)
{
    if (throttled == tenant->throttled) {
        return;
    }
    tenant->throttled = throttled;
    if (throttled) {
        ga_info("%s; its programs go on with %llu %% of each GPU", why,
                (unsigned long long)tenant->terms.limits.of[LIMIT_THROTTLE]);
    } else {
        ga_info("tenant %s: its programs are not throttled any more", tenant->terms.name);
    }
    scheduling_tenant_changed(tenant);
}

bool gpu_time_turn(struct tenant *tenant, uint64_t now)
{
    const struct limits *limits = &tenant->terms.limits;
    char why[WIRE_NOTICE_MAX + 1];
    bool limited = limits->of[LIMIT_GPU_TIME_DAY] != LIMIT_NONE ||
                   limits->of[LIMIT_GPU_TIME_MONTH] != LIMIT_NONE;
    bool throttles = limited && limits->of[LIMIT_THROTTLE] != LIMIT_NONE;
    if (!throttles) {
        throttle_set(tenant, false, "");
    }
    if (!limited || (!throttles && tenant->terms.exhausted != EXHAUSTED_SUSPEND) ||
        tenant->application_count == 0) {
        return false;
    }
    if (now - tenant->gpu_time_ns < LOOK_NS) {
        return true;
    }
    tenant->gpu_time_ns = now;
    bool left = gpu_time_left(tenant->control, &tenant->terms, why, sizeof why);
    if (throttles) {
        throttle_set(tenant, !left, why);
    } else if (!left) {
        ga_list_each (at, next, &tenant->applications) {
            dismiss_application(ga_container(at, struct control_application, fellow),
                                CUDA_ERROR_NOT_PERMITTED, why);
        }
    }
    return true;
}
