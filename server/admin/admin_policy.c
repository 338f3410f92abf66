/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about the scheduling policy of a GPU, and its keys. A value that is set here holds until
 * gpuaasd reads its configuration again. */
#include <inttypes.h>

#include "server/admin/admin_store.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/turns/scheduling.h"

static void policy_value(void *user, const char *name, const char *text, uint64_t number)
{
    if (text != NULL) {
        admin_set_text(user, name, text);
    } else {
        admin_set_number(user, name, number);
    }
}

static json_t *policy_record(const struct device *device, uint32_t gpu,
                             const struct conf_scheduling *scheduling, uint64_t generation)
{
    json_t *record = json_object(), *keys = json_object();
    char uuid[DEVICES_UUID_BYTES];
    devices_uuid_write(device->facts.uuid, uuid);
    admin_set_number(record, "gpu", gpu);
    admin_set_text(record, "uuid", uuid);
    admin_set_text(record, "model", device->facts.name);
    admin_set_number(record, "generation", generation);
    conf_scheduling_tell(scheduling, policy_value, keys);
    (void)json_object_update(record, keys);
    json_decref(keys);
    return record;
}

static json_t *policy_record_of(const struct gpuaasd *gpuaasd, uint32_t gpu)
{
    const struct device *device = devices_visible(&gpuaasd->processes.devices, gpu);
    return policy_record(device, gpu, &device->gpu->scheduling, device->policy_generation);
}

enum admin_code admin_verb_policies(struct admin_call *call)
{
    const struct gpuaasd *gpuaasd = call->gpuaasd;
    json_t *items = json_array();
    for (uint32_t i = 0; i < gpuaasd->processes.devices.visible_count; i++) {
        (void)json_array_append_new(items, policy_record_of(gpuaasd, i));
    }
    admin_set(call->result, "items", items);
    return ADMIN_OK;
}

/* The policy and the texts "key=value" of the request. */
static enum admin_code policy_read(struct admin_call *call, struct conf_scheduling *scheduling)
{
    char why[ADMIN_WHY_MAX] = "", text[ADMIN_WHY_MAX];
    json_t *texts = admin_texts(call, "set"), *one;
    size_t at;
    snprintf(text, sizeof text, "policy=%.60s", admin_text(call, "policy"));
    enum ga_status status = conf_scheduling_set(text, scheduling, why, sizeof why);
    json_array_foreach(texts, at, one)
    {
        const char *set = json_string_value(one);
        if (status == GA_OK && strncmp(set, "policy=", strlen("policy=")) == 0) {
            snprintf(why, sizeof why, "policy: given twice");
            status = GA_INVALID;
        }
        status = status == GA_OK ? admin_text_check(texts, at, why, sizeof why) : status;
        status = status == GA_OK ? conf_scheduling_set(set, scheduling, why, sizeof why) : status;
    }
    return status == GA_OK ? ADMIN_OK : admin_fail(call, ADMIN_USAGE, "%s", why);
}

/* The GPU of the request, unless somebody has changed it meanwhile. */
static enum admin_code policy_gpu(struct admin_call *call, uint32_t *gpu)
{
    uint64_t number = admin_number(call, "gpu", 0);
    uint64_t wanted = admin_number(call, "generation", STORE_ANY_GENERATION);
    if (!call->gpuaasd->processes.serving) {
        return admin_fail(call, ADMIN_ERROR, "gpuaasd is still starting: try again in a moment");
    }
    if (number >= call->gpuaasd->processes.devices.visible_count) {
        return admin_fail(call, ADMIN_NOT_FOUND, "the node has no GPU %" PRIu64, number);
    }
    *gpu = (uint32_t)number;
    uint64_t generation =
        devices_visible(&call->gpuaasd->processes.devices, *gpu)->policy_generation;
    if (wanted != STORE_ANY_GENERATION && wanted != generation) {
        return admin_fail(call, ADMIN_CONFLICT,
                          "the policy of GPU %" PRIu64 " has generation %" PRIu64 ", not %" PRIu64
                          ": somebody has changed it meanwhile; read it again (gpuaasctl policy "
                          "show)",
                          number, generation, wanted);
    }
    return ADMIN_OK;
}

/* Keys that are set, and that the policy does not use. */
static void policy_warn(struct admin_call *call, const struct sched_policy *policy)
{
    json_t *one;
    size_t at;
    json_array_foreach(admin_texts(call, "set"), at, one)
    {
        char key[40], users[ADMIN_WHY_MAX];
        snprintf(key, sizeof key, "%.*s", (int)strcspn(json_string_value(one), "="),
                 json_string_value(one));
        if (!sched_policy_uses(policy, key)) {
            sched_policies_using(key, users, sizeof users);
            admin_warn(call, "%s has no effect with policy %s: it is for policy %s", key,
                       sched_policy_name(policy), users);
        }
    }
}

enum admin_code admin_verb_policy_set(struct admin_call *call)
{
    uint32_t gpu = 0;
    char why[ADMIN_WHY_MAX] = "";
    enum admin_code code = policy_gpu(call, &gpu);
    if (code != ADMIN_OK) {
        return code;
    }
    struct gpuaasd *gpuaasd = call->gpuaasd;
    const struct device *device = devices_visible(&gpuaasd->processes.devices, gpu);
    struct conf_scheduling after = device->gpu->scheduling;
    code = policy_read(call, &after);
    if (code != ADMIN_OK) {
        return code;
    }
    if (scheduling_check(device, &after, why, sizeof why) != GA_OK) {
        return admin_fail(call, ADMIN_USAGE, "%s", why);
    }
    policy_warn(call, after.policy);
    json_t *before = policy_record_of(gpuaasd, gpu);
    if (call->dry_run) {
        admin_set_change(call, before,
                         policy_record(device, gpu, &after, device->policy_generation));
        return ADMIN_OK;
    }
    enum ga_status status = scheduling_set(&gpuaasd->processes, gpuaasd->conf, gpu, &after);
    if (status != GA_OK) {
        json_decref(before);
        return admin_status_code(call, status, "no memory or descriptors for scheduling");
    }
    admin_set_change(call, before, policy_record_of(gpuaasd, gpu));
    return ADMIN_OK;
}
