/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/metrics.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/control/audit.h"
#include "server/control/control.h"
#include "server/control/readiness.h"
#include "server/control/scheduler.h"
#include "server/control/status.h"
#include "server/control/tenant.h"

/* ---- writing */

static void family(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* As the value of a label: names may come from a configuration. */
static void label_write(FILE *out, const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '\n') {
            fputs("\\n", out);
        } else {
            fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
        }
    }
}

/* The label of a GPU; the others and "}" come next. */
static void gpu_label(FILE *out, const struct device *device)
{
    char uuid[DEVICES_UUID_BYTES];
    devices_uuid_write(device->facts.uuid, uuid);
    fprintf(out, ",gpu=\"%s\"", uuid);
}

/* Begins a line about a GPU; its other labels and "}" come next. */
static void gpu_line_begin(FILE *out, const char *name, const struct control *control,
                           const struct device *device)
{
    fprintf(out, "%s{node=\"", name);
    label_write(out, control->conf->server.node);
    fputc('"', out);
    gpu_label(out, device);
}

/* ---- GPUs */

static const char *state_of(const struct control *control, const struct device *device)
{
    const struct drain *node = &control->drain, *own = &device->drain;
    const struct drain *drain = own->state != DRAIN_NONE ? own : node;
    return device->health.failed        ? "failed"
           : drain->state == DRAIN_NONE ? "ready"
           : drain->state == DRAIN_DONE ? "drained"
                                        : "draining";
}

static void gpu_bytes_add(void *user, const struct status_application *application)
{
    uint64_t *bytes = user;
    for (unsigned i = 0; i < CONF_GPUS_MAX; i++) {
        bytes[i] += application->gpu_bytes[i];
    }
}

static void metrics_memory_write(const struct control *control, FILE *out)
{
    uint64_t bytes[CONF_GPUS_MAX] = {0};
    const struct status_sink sink = {.user = bytes, .application = gpu_bytes_add};
    status_collect(control, &sink);
    family(out, "gpuaas_gpu_memory_used_bytes", "gauge",
           "Memory of the GPU that programs have, as their backend processes count it.");
    for (uint32_t i = 0; i < control->devices.visible_count; i++) {
        gpu_line_begin(out, "gpuaas_gpu_memory_used_bytes", control,
                       devices_visible(&control->devices, i));
        fprintf(out, "} %" PRIu64 "\n", bytes[i]);
    }
}

static void metrics_gpus_write(const struct control *control, FILE *out)
{
    const struct devices *devices = &control->devices;
    family(out, "gpuaas_gpu_state", "gauge", "1 for the state that the GPU is in.");
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        gpu_line_begin(out, "gpuaas_gpu_state", control, device);
        fprintf(out, ",state=\"%s\"} 1\n", state_of(control, device));
    }
    family(out, "gpuaas_gpu_memory_total_bytes", "gauge", "Memory of the GPU.");
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        gpu_line_begin(out, "gpuaas_gpu_memory_total_bytes", control, device);
        fprintf(out, "} %" PRIu64 "\n", device->facts.memory_bytes);
    }
    family(out, "gpuaas_gpu_errors_total", "counter", "Failures of the GPU: checks.");
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        gpu_line_begin(out, "gpuaas_gpu_errors_total", control, device);
        fprintf(out, ",kind=\"check\"} %" PRIu64 "\n", device->health.failures);
    }
    uint32_t lost = 0;
    for (uint32_t i = 0; i < devices->count; i++) {
        lost += !devices->all[i].known;
    }
    family(out, "gpuaas_gpus_left_out", "gauge",
           "GPUs of the configuration that their driver does not show.");
    fprintf(out, "gpuaas_gpus_left_out %u\n", control->serving ? lost : 0);
}

static void metrics_scheduling_write(const struct control *control, FILE *out)
{
    const struct devices *devices = &control->devices;
    struct scheduler *scheduler = control->processes.scheduler;
    family(out, "gpuaas_gpu_policy", "gauge", "1 for the policy that says who may use the GPU.");
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        gpu_line_begin(out, "gpuaas_gpu_policy", control, device);
        fprintf(out, ",policy=\"%s\"} 1\n", sched_policy_name(device->gpu->scheduling.policy));
    }
    family(out, "gpuaas_gpu_decisions_total", "counter",
           "Decisions of the scheduler, since a GPU has had a policy.");
    for (uint32_t i = 0; i < devices->visible_count && scheduler != NULL; i++) {
        gpu_line_begin(out, "gpuaas_gpu_decisions_total", control, devices_visible(devices, i));
        fprintf(out, "} %" PRIu64 "\n", scheduler_decisions(scheduler, i));
    }
}

/* ---- tenants */

/* The families about a tenant alone. */
enum tenant_family {
    TENANT_SESSIONS,
    TENANT_SESSIONS_LIMIT,
    TENANT_MEMORY,
    TENANT_MEMORY_LIMIT,
    TENANT_TURNS,
    TENANT_TURN_WAIT, /* until it is written: in nanoseconds */
    TENANT_FAMILIES
};

static const struct {
    const char *name, *help;
} tenant_families[TENANT_FAMILIES] = {
    [TENANT_SESSIONS] = {"gpuaas_tenant_sessions",
                         "Programs of the tenant that have opened a device."},
    [TENANT_SESSIONS_LIMIT] = {"gpuaas_tenant_sessions_limit", "As many as it may have."},
    [TENANT_MEMORY] = {"gpuaas_tenant_memory_bytes",
                       "Device memory of its programs, as their backend processes count it."},
    [TENANT_MEMORY_LIMIT] = {"gpuaas_tenant_memory_limit_bytes", "As much as it may have."},
    [TENANT_TURNS] = {"gpuaas_tenant_turns_wanted", "Turns on GPUs that its programs wait for."},
    [TENANT_TURN_WAIT] = {"gpuaas_tenant_turn_wait_seconds",
                          "Time for which its programs that are connected have waited for turns."},
};

/* Sums over the live applications of a tenant. */
struct tenant_sums {
    const char *name;
    uint64_t of[TENANT_FAMILIES]; /* LIMIT_NONE: no line */
    uint64_t gpu_bytes[CONF_GPUS_MAX];
};

struct tenants_sums {
    struct tenant_sums *each;
    uint32_t count;
};

/* Labels are names: one that was removed while its programs still end, and the next of its name,
 * are one to who reads them. */
static bool is_first_of_its_name(const struct control *control, const struct tenant *tenant)
{
    return tenant_known(control, 0, tenant->terms.name) == tenant;
}

/* NULL: it has come without memory for its sums. */
static struct tenant_sums *metrics_sums_of(const struct tenants_sums *all, const char *tenant)
{
    struct tenant_sums *found = NULL;
    for (uint32_t i = 0; i < all->count && found == NULL; i++) {
        found = strcmp(all->each[i].name, tenant) == 0 ? &all->each[i] : NULL;
    }
    return found;
}

static void metrics_sums_add(void *user, const struct status_application *application)
{
    struct tenant_sums *sums = metrics_sums_of(user, application->tenant);
    if (sums != NULL) {
        sums->of[TENANT_SESSIONS] += application->session;
        sums->of[TENANT_MEMORY] += application->figures[FIGURE_DEVICE_BYTES];
        gpu_bytes_add(sums->gpu_bytes, application);
    }
}

static void metrics_sums_turns(void *user, const struct status_application *application,
                               const struct status_gpu *gpu)
{
    struct tenant_sums *sums = metrics_sums_of(user, application->tenant);
    if (gpu->turns != NULL && sums != NULL) {
        sums->of[TENANT_TURNS] += gpu->turns->waits;
        sums->of[TENANT_TURN_WAIT] += gpu->turns->account.waited_ns;
    }
}

/* None if there is no memory: the families then have no lines. */
static struct tenants_sums tenants_sum(const struct control *control)
{
    struct tenants_sums all = {.count = 0};
    const struct status_sink sink = {
        .user = &all, .application = metrics_sums_add, .gpu = metrics_sums_turns};
    uint32_t most = 0;
    ga_list_each (at, next, &control->tenants.all) {
        most++;
    }
    all.each = calloc(most, sizeof *all.each);
    ga_list_each (at, next, &control->tenants.all) {
        const struct tenant *tenant = ga_container(at, struct tenant, link);
        if (all.each != NULL && is_first_of_its_name(control, tenant)) {
            struct tenant_sums *sums = &all.each[all.count++];
            sums->name = tenant->terms.name;
            sums->of[TENANT_SESSIONS_LIMIT] = tenant->terms.limits.of[LIMIT_SESSIONS];
            sums->of[TENANT_MEMORY_LIMIT] = tenant->terms.limits.of[LIMIT_GPU_MEM];
        }
    }
    status_collect(control, &sink);
    for (uint32_t i = 0; i < all.count; i++) {
        all.each[i].of[TENANT_TURN_WAIT] /= GA_NS_PER_S;
    }
    return all;
}

/* Begins a line about a tenant; its other labels and "}" come next. */
static void tenant_line_begin(FILE *out, const char *name, const struct tenant_sums *sums)
{
    fprintf(out, "%s{tenant=\"", name);
    label_write(out, sums->name);
    fputc('"', out);
}

static void tenant_family_write(FILE *out, const struct tenants_sums *all, enum tenant_family which)
{
    const char *name = tenant_families[which].name;
    family(out, name, "gauge", tenant_families[which].help);
    for (uint32_t i = 0; i < all->count; i++) {
        uint64_t value = all->each[i].of[which];
        if (value != LIMIT_NONE) {
            tenant_line_begin(out, name, &all->each[i]);
            fprintf(out, "} %" PRIu64 "\n", value);
        }
    }
}

/* A line for each GPU that the tenant has memory of. */
static void tenant_gpus_write(FILE *out, const struct control *control,
                              const struct tenant_sums *sums)
{
    for (uint32_t i = 0; i < control->devices.visible_count; i++) {
        if (sums->gpu_bytes[i] != 0) {
            tenant_line_begin(out, "gpuaas_tenant_gpu_memory_bytes", sums);
            gpu_label(out, devices_visible(&control->devices, i));
            fprintf(out, "} %" PRIu64 "\n", sums->gpu_bytes[i]);
        }
    }
}

/* The format wants all lines of a family together, so the tenants are summed up before. */
static void metrics_tenants_write(const struct control *control, FILE *out)
{
    struct tenants_sums all = tenants_sum(control);
    for (enum tenant_family i = 0; i < TENANT_FAMILIES; i++) {
        tenant_family_write(out, &all, i);
    }
    family(out, "gpuaas_tenant_gpu_memory_bytes", "gauge",
           "Device memory of its programs on each GPU of which they have any.");
    for (uint32_t i = 0; i < all.count; i++) {
        tenant_gpus_write(out, control, &all.each[i]);
    }
    free(all.each);
}

/* ---- the node and the process */

static void node_write(void *user, const struct node_status *node)
{
    FILE *out = user;
    family(out, "gpuaas_connections", "gauge", "Control connections, by what they have said.");
    fprintf(out, "gpuaas_connections{stage=\"preauth\"} %u\n", node->pending_count);
    fprintf(out, "gpuaas_connections{stage=\"idle\"} %u\n", node->idle_count);
    fprintf(out, "gpuaas_connections{stage=\"active\"} %u\n",
            node->client_count > node->idle_count ? node->client_count - node->idle_count : 0);
    family(out, "gpuaas_sessions", "gauge", "Programs that have opened a device.");
    fprintf(out, "gpuaas_sessions %u\n", node->session_count);
    family(out, "gpuaas_backend_processes", "gauge", "Backend processes, by their state.");
    fprintf(out, "gpuaas_backend_processes{state=\"serving\"} %u\n", node->process_count);
    fprintf(out, "gpuaas_backend_processes{state=\"spare\"} %u\n", node->spare_count);
    family(out, "gpuaas_image_store_bytes", "gauge", "Device code that is kept.");
    fprintf(out, "gpuaas_image_store_bytes %" PRIu64 "\n", node->image_bytes);
}

static void audit_write(const struct control *control, FILE *out)
{
    family(out, "gpuaas_audit_writable", "gauge", "1 if lines of the audit log can be written.");
    if (control->audit != NULL) {
        fprintf(out, "gpuaas_audit_writable %d\n", audit_wrong(control) == NULL);
    }
    family(out, "gpuaas_audit_lost_lines_total", "counter",
           "Lines of the audit log that could not be written.");
    if (control->audit != NULL) {
        fprintf(out, "gpuaas_audit_lost_lines_total %" PRIu64 "\n",
                auth_audit_lost(control->audit));
    }
}

static void endings_write(const struct control *control, FILE *out)
{
    static const char *const reasons[] = {
#define CLOSE(name, label) label,
        APPLICATION_CLOSE_REASONS(CLOSE)
#undef CLOSE
    };
    family(out, "gpuaas_sessions_closed_total", "counter",
           "Programs that are not connected any more, by the reason.");
    for (unsigned i = 0; i < APPLICATION_CLOSES; i++) {
        fprintf(out, "gpuaas_sessions_closed_total{reason=\"%s\"} %" PRIu64 "\n", reasons[i],
                control->closed[i]);
    }
    family(out, "gpuaas_auth_failures_total", "counter", "Refused programs, by the reason.");
    for (unsigned i = 0; i < AUTH_REASON_COUNT; i++) {
        fprintf(out, "gpuaas_auth_failures_total{reason=\"%s\"} %" PRIu64 "\n",
                auth_reason_name((enum auth_reason)i), control->refusals[i]);
    }
}

static unsigned descriptors_open(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (folder != NULL) {
        closedir(folder);
        count--; /* the folder's own */
    }
    return count;
}

static void process_write(FILE *out)
{
    struct rusage used;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    (void)getrusage(RUSAGE_SELF, &used);
    family(out, "process_cpu_seconds_total", "counter",
           "Time of processors that gpuaasd has used.");
    fprintf(out, "process_cpu_seconds_total %.6f\n",
            (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    if (file != NULL && fscanf(file, "%*u %lu", &pages) == 1) {
        family(out, "process_resident_memory_bytes", "gauge", "Memory that gpuaasd occupies.");
        fprintf(out, "process_resident_memory_bytes %lu\n",
                pages * (unsigned long)sysconf(_SC_PAGESIZE));
    }
    if (file != NULL) {
        fclose(file);
    }
    family(out, "process_open_fds", "gauge", "Descriptors that gpuaasd has open.");
    fprintf(out, "process_open_fds %u\n", descriptors_open());
}

static void condition_write(void *user, const struct condition *condition)
{
    FILE *out = user;
    fputs("gpuaas_condition{condition=\"", out);
    for (const char *at = condition->name; *at != 0; at++) {
        fputc(*at == ' ' ? '_' : *at, out);
    }
    fprintf(out, "\"} %d\n", condition->holds);
}

static void ready_metrics_write(const struct control *control, FILE *out)
{
    family(out, "gpuaas_ready", "gauge", "1 if /readyz says so: all conditions hold.");
    fprintf(out, "gpuaas_ready %d\n", readiness_look(control, NULL, NULL));
    family(out, "gpuaas_condition", "gauge", "1 for a condition of /readyz that holds.");
    (void)readiness_look(control, condition_write, out);
}

void metrics_write(const struct control *control, FILE *out)
{
    const struct status_sink sink = {.user = out, .node = node_write};
    family(out, "gpuaas_build_info", "gauge", "The version.");
    fputs("gpuaas_build_info{version=\"" GPUAAS_VERSION "\"} 1\n", out);
    family(out, "gpuaas_up", "gauge", "1 once the drivers are known.");
    fprintf(out, "gpuaas_up %d\n", control->serving);
    ready_metrics_write(control, out);
    metrics_gpus_write(control, out);
    metrics_memory_write(control, out);
    metrics_scheduling_write(control, out);
    status_collect(control, &sink);
    metrics_tenants_write(control, out);
    endings_write(control, out);
    audit_write(control, out);
    process_write(out);
}

/* ---- ready */

static void ready_write(void *user, const struct condition *condition)
{
    FILE *out = user;
    fprintf(out, "%s %s%s%s\n", condition->holds ? "ok" : "not", condition->name,
            condition->holds ? "" : ": ", condition->why);
}

bool metrics_ready(const struct control *control, FILE *out)
{
    return readiness_look(control, ready_write, out);
}
