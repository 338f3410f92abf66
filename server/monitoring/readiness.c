/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitoring/readiness.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/access/audit.h"
#include "server/control/control.h"

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

static bool condition_serving(const struct control *control, struct condition *condition)
{
    if (control->stopping || !control->processes.serving) {
        condition_fail(condition, "%s",
                       control->stopping ? "it is ending" : "the drivers are being opened");
    }
    return true;
}

static bool condition_taking(const struct control *control, struct condition *condition)
{
    if (control->applications.drains.node.state != DRAIN_NONE) {
        condition_fail(condition, "drained: %s", control->applications.drains.node.reason);
    }
    return true;
}

static bool condition_gpu(const struct control *control, struct condition *condition)
{
    unsigned usable = 0;
    for (uint32_t i = 0; i < control->processes.devices.visible_count; i++) {
        const struct device *device = devices_visible(&control->processes.devices, i);
        usable += device->drain.state == DRAIN_NONE && !device->health.failed;
    }
    if (usable == 0) {
        condition_fail(condition, "there is none that takes programs");
    }
    return true;
}

static bool condition_store(const struct control *control, struct condition *condition)
{
    const char *why = storage_wrong(&control->storage);
    if (why != NULL) {
        condition_fail(condition, "%s", why);
    }
    return true;
}

/* With audit_full = drop programs come in without it: a metric says that lines are lost. */
static bool condition_audit(const struct control *control, struct condition *condition)
{
    const char *why = audit_wrong(&control->access.audit);
    if (why != NULL && control->conf->server.audit_full) {
        condition_fail(condition, "%s", why);
    }
    return control->access.audit.log != NULL;
}

static bool condition_certificate(const struct control *control, struct condition *condition)
{
    char why[600];
    if (certificates_wrong(&control->access.certificates, &control->conf->server, why,
                           sizeof why)) {
        condition_fail(condition, "%s", why);
    }
    return control->access.certificates.of[CERTIFICATE_SERVER].until != 0;
}

static const struct {
    const char *name;
    bool (*look)(const struct control *control, struct condition *condition);
} conditions[] = {
    {"serving", condition_serving}, {"taking programs", condition_taking},
    {"gpu", condition_gpu},         {"store", condition_store},
    {"audit", condition_audit},     {"certificate", condition_certificate},
};

bool readiness_look(const struct control *control,
                    void (*each)(void *user, const struct condition *condition), void *user)
{
    bool ready = true;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        struct condition condition = {.name = conditions[i].name, .holds = true};
        bool concerns = conditions[i].look(control, &condition);
        ready = ready && (!concerns || condition.holds);
        if (concerns && each != NULL) {
            each(user, &condition);
        }
    }
    return ready;
}
