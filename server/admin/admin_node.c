/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about the node: health, GPUs, the configuration. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/admin/admin_verb.h"
#include "server/applications/drain.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/monitoring/readiness.h"
#include "server/monitoring/status.h"

static void health_node(void *user, const struct node_status *node)
{
    json_t *result = user;
    admin_set_number(result, "sessions", node->session_count);
    admin_set_number(result, "clients", node->client_count);
    admin_set_number(result, "idle_clients", node->idle_count);
    admin_set_number(result, "pending_connections", node->pending_count);
    admin_set_number(result, "pending_sources", node->pending_sources);
    admin_set_number(result, "backend_processes", node->process_count);
    admin_set_number(result, "spare_backends", node->spare_count);
    admin_set_number(result, "image_bytes", node->image_bytes);
}

static void health_condition(void *user, const struct condition *condition)
{
    char text[800];
    if (!condition->holds) {
        snprintf(text, sizeof text, "%s: %s", condition->name, condition->why);
        (void)json_array_append_new(user, json_string(text));
    }
}

enum admin_code admin_verb_health(struct admin_call *call)
{
    const struct gpuaasd *gpuaasd = call->gpuaasd;
    const struct status_sink sink = {.user = call->result, .node = health_node};
    json_t *listeners = json_array(), *problems = json_array();
    unsigned unknown = 0, failed = 0;
    for (uint32_t i = 0; i < gpuaasd->processes.devices.count; i++) {
        unknown += !gpuaasd->processes.devices.all[i].known;
        failed += gpuaasd->processes.devices.all[i].health.failed;
    }
    for (unsigned i = 0; i < gpuaasd->listener_count; i++) {
        (void)json_array_append_new(listeners, json_string(gpuaasd->listeners[i].url));
    }
    admin_set_drain(call->result, gpuaasd, DRAIN_NODE);
    if (gpuaasd->applications.stopping || !gpuaasd->processes.serving) {
        admin_set_text(call->result, "state",
                       gpuaasd->applications.stopping ? "stopping" : "starting");
    } else if (drain_of(&gpuaasd->applications, DRAIN_NODE)->state == DRAIN_NONE) {
        admin_set_text(call->result, "state", "serving");
    }
    admin_set_flag(call->result, "ready",
                   readiness_look(&gpuaasd->monitoring, health_condition, problems));
    char slow[800];
    if (flush_is_slow(&gpuaasd->storage.flush, slow, sizeof slow)) { /* programs do not notice */
        (void)json_array_append_new(problems, json_sprintf("disk: %s", slow));
    }
    admin_set(call->result, "problems", problems);
    admin_set_text(call->result, "version", GPUAAS_VERSION);
    admin_set_text(call->result, "node", gpuaasd->conf->server.node);
    admin_set_text(call->result, "pool", gpuaasd->conf->server.pool);
    admin_set_number(call->result, "pid", (uint64_t)getpid());
    admin_set(call->result, "listeners", listeners);
    admin_set_number(call->result, "gpus", gpuaasd->processes.devices.visible_count);
    admin_set_number(call->result, "gpus_left_out", gpuaasd->processes.serving ? unknown : 0);
    admin_set_number(call->result, "gpus_failed", failed);
    status_collect(&gpuaasd->monitoring, &sink);
    return ADMIN_OK;
}

/* ---- GPUs */

struct gpu_use {
    const struct gpuaasd *gpuaasd;
    unsigned sessions[CONF_GPUS_MAX], tenants[CONF_GPUS_MAX];
    uint64_t bytes[CONF_GPUS_MAX];
    const char *tenant; /* whose sessions are looked at */
    bool seen[CONF_GPUS_MAX];
};

static void gpu_use_add(void *user, const struct status_application *application)
{
    struct gpu_use *use = user;
    for (unsigned i = 0; i < CONF_GPUS_MAX; i++) {
        use->sessions[i] += (application->gpus[i / 64] >> (i % 64) & 1) != 0;
        use->bytes[i] += application->gpu_bytes[i];
    }
}

static void gpu_use_see(void *user, const struct status_application *application)
{
    struct gpu_use *use = user;
    for (unsigned i = 0; i < CONF_GPUS_MAX && strcmp(application->tenant, use->tenant) == 0; i++) {
        use->seen[i] = use->seen[i] || (application->gpus[i / 64] >> (i % 64) & 1) != 0;
    }
}

/* Counts the tenants that have sessions on each GPU. */
static void gpu_use_tenant(void *user, const struct status_tenant *tenant)
{
    struct gpu_use *use = user;
    const struct status_sink sink = {.user = use, .application = gpu_use_see};
    use->tenant = tenant->name;
    memset(use->seen, 0, sizeof use->seen);
    status_collect(&use->gpuaasd->monitoring, &sink);
    for (unsigned i = 0; i < CONF_GPUS_MAX; i++) {
        use->tenants[i] += use->seen[i];
    }
}

static json_t *node_gpu_of(const struct gpuaasd *gpuaasd, const struct device *device)
{
    json_t *gpu = json_object();
    char uuid[DEVICES_UUID_BYTES];
    devices_uuid_write(device->facts.uuid, uuid);
    admin_set_text(gpu, "node", gpuaasd->conf->server.node);
    admin_set_text(gpu, "driver", device->gpu->driver == CONF_DRIVER_SOFT ? "soft" : "nvidia");
    admin_set_number(gpu, "section", device->gpu->number);
    admin_set_text(gpu, "uuid", device->known ? uuid : NULL);
    admin_set_text(gpu, "model", device->known ? device->facts.name : NULL);
    admin_set_text(gpu, "state",
                   device->known                ? "ready"
                   : gpuaasd->processes.serving ? "lost"
                                                : "starting");
    admin_set_text(gpu, "health", !device->known ? NULL : device->health.failed ? "failed" : "ok");
    admin_set_text(gpu, "health_reason", device->health.reason);
    admin_set(gpu, "memory_total_bytes",
              device->known ? json_integer((json_int_t)device->facts.memory_bytes) : json_null());
    return gpu;
}

/* In the order and with the numbers that clients see, and behind them those that are not there. */
enum admin_code admin_verb_gpus(struct admin_call *call)
{
    const struct gpuaasd *gpuaasd = call->gpuaasd;
    static struct gpu_use use;
    const struct status_sink sink = {
        .user = &use, .application = gpu_use_add, .tenant = gpu_use_tenant};
    json_t *items = json_array();
    use = (struct gpu_use){.gpuaasd = gpuaasd};
    status_collect(&gpuaasd->monitoring, &sink);
    for (uint32_t i = 0; i < gpuaasd->processes.devices.visible_count; i++) {
        json_t *gpu = node_gpu_of(gpuaasd, devices_visible(&gpuaasd->processes.devices, i));
        if (gpuaasd->processes.serving) {
            admin_set_drain(gpu, gpuaasd, i);
        }
        admin_set_number(gpu, "gpu", i);
        admin_set_number(gpu, "sessions", use.sessions[i]);
        admin_set_number(gpu, "tenants", use.tenants[i]);
        admin_set_number(gpu, "memory_used_bytes", use.bytes[i]);
        (void)json_array_append_new(items, gpu);
    }
    for (uint32_t i = 0; i < gpuaasd->processes.devices.count; i++) {
        if (!gpuaasd->processes.devices.all[i].known) {
            json_t *gpu = node_gpu_of(gpuaasd, &gpuaasd->processes.devices.all[i]);
            admin_set(gpu, "gpu", json_null());
            admin_set_number(gpu, "sessions", 0);
            admin_set_number(gpu, "tenants", 0);
            admin_set_number(gpu, "memory_used_bytes", 0);
            (void)json_array_append_new(items, gpu);
        }
    }
    admin_set(call->result, "items", items);
    return ADMIN_OK;
}

/* ---- the configuration */

static void config_line(void *user, const char *section, const char *key, const char *value)
{
    json_t *sections = user;
    json_t *members = json_object_get(sections, section);
    if (members == NULL) {
        members = json_object();
        admin_set(sections, section, members);
    }
    json_t *before = json_object_get(members, key);
    if (before != NULL && !json_is_array(before)) { /* `listen` may repeat */
        json_t *all = json_array();
        (void)json_array_append(all, before);
        admin_set(members, key, all);
        before = all;
    }
    if (before != NULL) {
        (void)json_array_append_new(before, json_string(value));
    } else {
        admin_set_text(members, key, value);
    }
}

enum admin_code admin_verb_config_show(struct admin_call *call)
{
    json_t *sections = json_object();
    conf_values_tell(call->gpuaasd->conf, config_line, sections);
    admin_set(call->result, "sections", sections);
    return ADMIN_OK;
}
