/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitoring/readiness.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/access/audit.h"
#include "server/monitoring/monitoring.h"

__attribute__((format(printf, 2, 3))) static void condition_fail(struct condition *condition,
                                                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(condition->why, sizeof condition->why, format, args);
    va_end(args);
    condition->holds = false;
}

/* Each sets what is wrong; false: it does not concern this node. */

static bool condition_serving(const struct monitoring *monitoring, struct condition *condition)
{
    if (monitoring->applications->stopping || !monitoring->processes->serving) {
        condition_fail(condition, "%s",
                       monitoring->applications->stopping ? "it is ending"
                                                          : "the drivers are being opened");
    }
    return true;
}

static bool condition_taking(const struct monitoring *monitoring, struct condition *condition)
{
    if (monitoring->applications->drains.node.state != DRAIN_NONE) {
        condition_fail(condition, "drained: %s", monitoring->applications->drains.node.reason);
    }
    return true;
}

static bool condition_gpu(const struct monitoring *monitoring, struct condition *condition)
{
    unsigned usable = 0;
    for (uint32_t i = 0; i < monitoring->processes->devices.visible_count; i++) {
        const struct device *device = devices_visible(&monitoring->processes->devices, i);
        usable += device->drain.state == DRAIN_NONE && !device->health.failed;
    }
    if (usable == 0) {
        condition_fail(condition, "there is none that takes programs");
    }
    return true;
}

static bool condition_store(const struct monitoring *monitoring, struct condition *condition)
{
    const char *why = storage_wrong(monitoring->access->storage);
    if (why != NULL) {
        condition_fail(condition, "%s", why);
    }
    return true;
}

/* With audit_full = drop programs come in without it: a metric says that lines are lost. */
static bool condition_audit(const struct monitoring *monitoring, struct condition *condition)
{
    const char *why = audit_wrong(&monitoring->access->audit);
    if (why != NULL && monitoring->conf->server.audit_full) {
        condition_fail(condition, "%s", why);
    }
    return monitoring->access->audit.log != NULL;
}

static bool condition_certificate(const struct monitoring *monitoring, struct condition *condition)
{
    char why[600];
    if (certificates_wrong(&monitoring->access->certificates, &monitoring->conf->server,
                           timers_wall_s(monitoring->timers), why, sizeof why)) {
        condition_fail(condition, "%s", why);
    }
    return monitoring->access->certificates.of[CERTIFICATE_SERVER].until != 0;
}

static const struct {
    const char *name;
    bool (*look)(const struct monitoring *monitoring, struct condition *condition);
} conditions[] = {
    {"serving", condition_serving}, {"taking programs", condition_taking},
    {"gpu", condition_gpu},         {"store", condition_store},
    {"audit", condition_audit},     {"certificate", condition_certificate},
};

bool readiness_look(const struct monitoring *monitoring,
                    void (*each)(void *user, const struct condition *condition), void *user)
{
    bool ready = true;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        struct condition condition = {.name = conditions[i].name, .holds = true};
        bool concerns = conditions[i].look(monitoring, &condition);
        ready = ready && (!concerns || condition.holds);
        if (concerns && each != NULL) {
            each(user, &condition);
        }
    }
    return ready;
}
