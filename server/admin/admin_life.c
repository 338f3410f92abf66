/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about the life of the node: draining, and reading the configuration anew. */
#include <stdio.h>

#include "base/clock.h"
#include "server/admin/admin_store.h"
#include "server/applications/drain.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/gpuaasd/reload.h"

static const char *drain_word(const struct drain *drain)
{
    return drain->state == DRAIN_NONE    ? "ready"
           : drain->state == DRAIN_GOING ? "draining"
                                         : "drained";
}

void admin_set_drain(json_t *object, const struct gpuaasd *gpuaasd, uint32_t gpu)
{
    const struct drain *drain = drain_of(&gpuaasd->applications, gpu);
    uint64_t now = timers_now(gpuaasd->applications.timers);
    bool limited = drain->state == DRAIN_GOING && drain->deadline_ns != 0;
    admin_set_text(object, "state", drain_word(drain));
    admin_set_text(object, "reason", drain->state != DRAIN_NONE ? drain->reason : NULL);
    admin_set(object, "deadline_ms",
              limited ? json_integer((json_int_t)(drain->deadline_ns > now
                                                      ? (drain->deadline_ns - now) / GA_NS_PER_MS
                                                      : 0))
                      : json_null());
}

static json_t *drain_record(const struct gpuaasd *gpuaasd, uint32_t gpu)
{
    json_t *record = json_object();
    admin_set(record, "gpu", gpu != DRAIN_NODE ? json_integer(gpu) : json_null());
    admin_set_drain(record, gpuaasd, gpu);
    return record;
}

/* The GPU of the request, or the node. */
static enum admin_code drain_place(struct admin_call *call, uint32_t *gpu)
{
    uint64_t number = admin_number(call, "gpu", DRAIN_NODE);
    *gpu = (uint32_t)number;
    if (!call->gpuaasd->processes.serving) {
        return admin_fail(call, ADMIN_ERROR, "gpuaasd is still starting: try again in a moment");
    }
    if (number != DRAIN_NODE && number >= call->gpuaasd->processes.devices.visible_count) {
        return admin_fail(call, ADMIN_NOT_FOUND, "the node has no GPU %llu",
                          (unsigned long long)number);
    }
    return ADMIN_OK;
}

enum admin_code admin_verb_drain(struct admin_call *call)
{
    char why[ADMIN_WHY_MAX] = "";
    const char *reason = admin_text(call, "reason");
    uint64_t deadline_s = admin_number(call, "deadline_s", 0);
    uint32_t gpu;
    enum admin_code code = drain_place(call, &gpu);
    if (code != ADMIN_OK) {
        return code;
    }
    json_t *before = drain_record(call->gpuaasd, gpu);
    if (reason[0] == 0 || deadline_s > UINT32_MAX) {
        code =
            admin_fail(call, ADMIN_USAGE,
                       reason[0] == 0 ? "a reason must be given" : "the deadline is too far away");
    } else if (!call->dry_run) {
        code = admin_status_code(
            call,
            drain_begin(&call->gpuaasd->applications, gpu, reason, deadline_s, why, sizeof why),
            why);
    }
    json_t *after = drain_record(call->gpuaasd, gpu);
    if (call->dry_run) {
        admin_set_text(after, "state", "draining");
        admin_set_text(after, "reason", reason);
        admin_set(after, "deadline_ms",
                  deadline_s != 0 ? json_integer((json_int_t)deadline_s * 1000) : json_null());
    }
    admin_set_change(call, before, after);
    return code;
}

enum admin_code admin_verb_undrain(struct admin_call *call)
{
    char why[ADMIN_WHY_MAX] = "";
    uint32_t gpu;
    enum admin_code code = drain_place(call, &gpu);
    if (code != ADMIN_OK) {
        return code;
    }
    json_t *before = drain_record(call->gpuaasd, gpu);
    if (!call->dry_run && drain_of(&call->gpuaasd->applications, gpu)->state != DRAIN_NONE) {
        code = admin_status_code(
            call, drain_end(&call->gpuaasd->applications, gpu, why, sizeof why), why);
    }
    json_t *after = drain_record(call->gpuaasd, gpu);
    if (call->dry_run) {
        admin_set_text(after, "state", "ready");
        admin_set(after, "reason", json_null());
        admin_set(after, "deadline_ms", json_null());
    }
    admin_set_change(call, before, after);
    return code;
}

enum admin_code admin_verb_reload(struct admin_call *call)
{
    char note[ADMIN_WHY_MAX] = "";
    enum ga_status status = reload(call->gpuaasd, call->dry_run, note, sizeof note);
    if (status == GA_INVALID) {
        return admin_fail(call, ADMIN_ERROR, "nothing %s: %s (the log of gpuaasd has all)",
                          call->dry_run ? "would change" : "has changed", note);
    }
    admin_set_text(call->result, "restart_needed", note[0] != 0 ? note : NULL);
    return admin_status_code(call, status, note);
}
