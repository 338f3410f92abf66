/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitoring/metrics.h"

#include <dirent.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/disk.h"
#include "server/access/audit.h"
#include "server/monitoring/metrics_format.h"
#include "server/monitoring/monitoring.h"
#include "server/monitoring/readiness.h"
#include "server/monitoring/status.h"
#include "server/tenants/tenant.h"
#include "server/turns/scheduler.h"

/* ---- GPUs */

static const char *state_of(const struct monitoring *monitoring, const struct device *device)
{
    const struct drain *node = &monitoring->applications->drains.node, *own = &device->drain;
    const struct drain *drain = own->state != DRAIN_NONE ? own : node;
    return device->health.failed        ? "failed"
           : drain->state == DRAIN_NONE ? "ready"
           : drain->state == DRAIN_DONE ? "drained"
                                        : "draining";
}

static void gpu_bytes_add(void *user, const struct status_application *application)
{
    metrics_gpu_bytes_add(user, application);
}

static void metrics_memory_write(const struct monitoring *monitoring, FILE *out)
{
    uint64_t bytes[CONF_GPUS_MAX] = {0};
    const struct status_sink sink = {.user = bytes, .application = gpu_bytes_add};
    status_collect(monitoring, &sink);
    metrics_family(out, "gpuaas_gpu_memory_used_bytes", "gauge",
                   "Memory of the GPU that programs have, as their backend processes count it.");
    for (uint32_t i = 0; i < monitoring->processes->devices.visible_count; i++) {
        metrics_gpu_line(out, "gpuaas_gpu_memory_used_bytes", monitoring,
                         devices_visible(&monitoring->processes->devices, i));
        fprintf(out, "} %" PRIu64 "\n", bytes[i]);
    }
}

static void metrics_gpus_write(const struct monitoring *monitoring, FILE *out)
{
    const struct devices *devices = &monitoring->processes->devices;
    metrics_family(out, "gpuaas_gpu_state", "gauge", "1 for the state that the GPU is in.");
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        metrics_gpu_line(out, "gpuaas_gpu_state", monitoring, device);
        fprintf(out, ",state=\"%s\"} 1\n", state_of(monitoring, device));
    }
    metrics_family(out, "gpuaas_gpu_memory_total_bytes", "gauge", "Memory of the GPU.");
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        metrics_gpu_line(out, "gpuaas_gpu_memory_total_bytes", monitoring, device);
        fprintf(out, "} %" PRIu64 "\n", device->facts.memory_bytes);
    }
    metrics_family(out, "gpuaas_gpu_errors_total", "counter", "Failures of the GPU: checks.");
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        metrics_gpu_line(out, "gpuaas_gpu_errors_total", monitoring, device);
        fprintf(out, ",kind=\"check\"} %" PRIu64 "\n", device->health.failures);
    }
    uint32_t lost = 0;
    for (uint32_t i = 0; i < devices->count; i++) {
        lost += !devices->all[i].known;
    }
    metrics_family(out, "gpuaas_gpus_left_out", "gauge",
                   "GPUs of the configuration that their driver does not show.");
    fprintf(out, "gpuaas_gpus_left_out %u\n", monitoring->processes->serving ? lost : 0);
}

static void metrics_scheduling_write(const struct monitoring *monitoring, FILE *out)
{
    const struct devices *devices = &monitoring->processes->devices;
    struct scheduler *scheduler = monitoring->processes->scheduler;
    metrics_family(out, "gpuaas_gpu_policy", "gauge", "1 for the scheduling policy of the GPU.");
    for (uint32_t i = 0; i < devices->visible_count; i++) {
        const struct device *device = devices_visible(devices, i);
        metrics_gpu_line(out, "gpuaas_gpu_policy", monitoring, device);
        fprintf(out, ",policy=\"%s\"} 1\n", sched_policy_name(device->gpu->scheduling.policy));
    }
    metrics_family(out, "gpuaas_gpu_decisions_total", "counter",
                   "Decisions of the scheduler, since a GPU has had a policy.");
    for (uint32_t i = 0; i < devices->visible_count && scheduler != NULL; i++) {
        metrics_gpu_line(out, "gpuaas_gpu_decisions_total", monitoring,
                         devices_visible(devices, i));
        fprintf(out, "} %" PRIu64 "\n", scheduler_decisions(scheduler, i));
    }
}

/* ---- the node and the process */

static void node_write(void *user, const struct node_status *node)
{
    FILE *out = user;
    metrics_family(out, "gpuaas_connections", "gauge",
                   "Control connections, by what they have said.");
    fprintf(out, "gpuaas_connections{stage=\"preauth\"} %u\n", node->pending_count);
    fprintf(out, "gpuaas_connections{stage=\"idle\"} %u\n", node->idle_count);
    fprintf(out, "gpuaas_connections{stage=\"active\"} %u\n",
            node->client_count > node->idle_count ? node->client_count - node->idle_count : 0);
    metrics_family(out, "gpuaas_sessions", "gauge", "Programs that have opened a device.");
    fprintf(out, "gpuaas_sessions %u\n", node->session_count);
    metrics_family(out, "gpuaas_backend_processes", "gauge", "Backend processes, by their state.");
    fprintf(out, "gpuaas_backend_processes{state=\"serving\"} %u\n", node->process_count);
    fprintf(out, "gpuaas_backend_processes{state=\"spare\"} %u\n", node->spare_count);
    metrics_family(out, "gpuaas_image_store_bytes", "gauge", "Device code that is kept.");
    fprintf(out, "gpuaas_image_store_bytes %" PRIu64 "\n", node->image_bytes);
}

/* Labels of whose it is. */
static void credential_label(FILE *out, const struct store_credential_end *end)
{
    static const char *const scopes[] = {
        [STORE_OF_TENANT] = "tenant", [STORE_OF_ADMIN] = "admin", [STORE_OF_SERVER] = "server"};
    fprintf(out, "{kind=\"%s\",scope=\"%s\",tenant=\"",
            end->kind == STORE_TOKEN ? "token" : "certificate", scopes[end->scope]);
    metrics_label(out, end->tenant);
    fputs("\",user=\"", out);
    metrics_label(out, end->scope == STORE_OF_TENANT ? end->user : end->name);
    fputs("\"}", out);
}

static void credentials_write(const struct monitoring *monitoring, FILE *out)
{
    static const char *const names[] = {"gpuaas_credential_created_timestamp_seconds",
                                        "gpuaas_credential_expiry_timestamp_seconds"};
    static const char *const helps[] = {
        "When the youngest credential of a holder was made.",
        "When the last credential of a holder ends, of those that end first."};
    const struct credential_ends *ends = &monitoring->access->credential_ends;
    for (unsigned i = 0; i < 2; i++) {
        metrics_family(out, names[i], "gauge", helps[i]);
        for (size_t at = 0; at < ends->count; at++) {
            fputs(names[i], out);
            credential_label(out, &ends->rows[at]);
            fprintf(out, " %" PRId64 "\n",
                    i == 0 ? ends->rows[at].created : ends->rows[at].expires);
        }
    }
}

static void room_line(FILE *out, const char *of, const char *path)
{
    uint64_t room = UINT64_MAX;
    if (path[0] != 0) {
        (void)ga_disk_look(path, 0, &room);
    }
    if (room != UINT64_MAX) {
        fprintf(out, "gpuaas_disk_free_bytes{of=\"%s\"} %" PRIu64 "\n", of, room);
    }
}

static void disks_write(const struct monitoring *monitoring, FILE *out)
{
    metrics_family(out, "gpuaas_disk_free_bytes", "gauge",
                   "Room on the disk of the database, and of the audit log.");
    room_line(out, "store", monitoring->conf->server.store);
    room_line(out, "audit", monitoring->conf->server.audit_log);
    metrics_family(out, "gpuaas_disk_write_seconds", "gauge",
                   "How long the last write to that disk has taken, or takes so far.");
    for (unsigned disk = 0; disk < FLUSH_DISKS; disk++) {
        uint64_t took_ns =
            flush_took_ns(&monitoring->access->storage->flush, (enum flush_disk)disk);
        if (took_ns != 0) {
            fprintf(out, "gpuaas_disk_write_seconds{of=\"%s\"} %.6f\n",
                    disk == FLUSH_STORE ? "store" : "audit", (double)took_ns / 1e9);
        }
    }
}

static void certificates_write(const struct monitoring *monitoring, FILE *out)
{
    static const char *const names[] = {"gpuaas_certificate_begin_timestamp_seconds",
                                        "gpuaas_certificate_expiry_timestamp_seconds"};
    static const char *const helps[] = {"Since when a certificate of gpuaasd is valid.",
                                        "When a certificate of gpuaasd ends."};
    for (unsigned i = 0; i < 2; i++) {
        metrics_family(out, names[i], "gauge", helps[i]);
        for (unsigned kind = 0; kind < CERTIFICATE_KINDS; kind++) {
            const struct transport_validity *of = &monitoring->access->certificates.of[kind];
            if (of->until != 0) {
                fprintf(out, "%s{certificate=\"%s\"} %" PRId64 "\n", names[i],
                        certificates_word((enum certificates_kind)kind),
                        i == 0 ? of->from : of->until);
            }
        }
    }
}

static void audit_write(const struct monitoring *monitoring, FILE *out)
{
    metrics_family(out, "gpuaas_audit_writable", "gauge",
                   "1 if lines of the audit log can be written.");
    if (monitoring->access->audit.log != NULL) {
        fprintf(out, "gpuaas_audit_writable %d\n", audit_wrong(&monitoring->access->audit) == NULL);
    }
    metrics_family(out, "gpuaas_audit_lost_lines_total", "counter",
                   "Lines of the audit log that could not be written.");
    if (monitoring->access->audit.log != NULL) {
        fprintf(out, "gpuaas_audit_lost_lines_total %" PRIu64 "\n",
                auth_audit_lost(monitoring->access->audit.log));
    }
}

static void endings_write(const struct monitoring *monitoring, FILE *out)
{
    static const char *const reasons[] = {
#define CLOSE(name, label) label,
        APPLICATION_CLOSE_REASONS(CLOSE)
#undef CLOSE
    };
    metrics_family(out, "gpuaas_sessions_closed_total", "counter",
                   "Programs that are not connected any more, by the reason.");
    for (unsigned i = 0; i < APPLICATION_CLOSES; i++) {
        fprintf(out, "gpuaas_sessions_closed_total{reason=\"%s\"} %" PRIu64 "\n", reasons[i],
                monitoring->applications->closed[i]);
    }
    metrics_family(out, "gpuaas_refusals_total", "counter",
                   "Refusals of authenticated programs, by reason.");
    for (unsigned i = 0; i < REFUSAL_COUNT; i++) {
        fprintf(out, "gpuaas_refusals_total{reason=\"%s\"} %" PRIu64 "\n",
                refusal_word((enum refusal_reason)i), monitoring->applications->refused[i]);
    }
    metrics_family(out, "gpuaas_admin_refusals_total", "counter",
                   "Refused attempts to administer.");
    fprintf(out, "gpuaas_admin_refusals_total %" PRIu64 "\n",
            monitoring->access->audit.admins_refused);
    metrics_family(out, "gpuaas_auth_failures_total", "counter",
                   "Refused credentials, by the reason.");
    for (unsigned i = 0; i < AUTH_REASON_COUNT; i++) {
        fprintf(out, "gpuaas_auth_failures_total{reason=\"%s\"} %" PRIu64 "\n",
                auth_reason_name((enum auth_reason)i), monitoring->access->refusals[i]);
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
    metrics_family(out, "process_cpu_seconds_total", "counter",
                   "Time of processors that gpuaasd has used.");
    fprintf(out, "process_cpu_seconds_total %.6f\n",
            (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    if (file != NULL && fscanf(file, "%*u %lu", &pages) == 1) {
        metrics_family(out, "process_resident_memory_bytes", "gauge",
                       "Memory that gpuaasd occupies.");
        fprintf(out, "process_resident_memory_bytes %lu\n",
                pages * (unsigned long)sysconf(_SC_PAGESIZE));
    }
    if (file != NULL) {
        fclose(file);
    }
    metrics_family(out, "process_open_fds", "gauge", "Descriptors that gpuaasd has open.");
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

static void ready_metrics_write(const struct monitoring *monitoring, FILE *out)
{
    metrics_family(out, "gpuaas_ready", "gauge", "1 if /readyz says so: all conditions hold.");
    fprintf(out, "gpuaas_ready %d\n", readiness_look(monitoring, NULL, NULL));
    metrics_family(out, "gpuaas_condition", "gauge", "1 for a condition of /readyz that holds.");
    (void)readiness_look(monitoring, condition_write, out);
}

void metrics_write(struct monitoring *monitoring, FILE *out)
{
    const struct status_sink sink = {.user = out, .node = node_write};
    metrics_family(out, "gpuaas_build_info", "gauge", "The version.");
    fputs("gpuaas_build_info{version=\"" GPUAAS_VERSION "\"} 1\n", out);
    metrics_family(out, "gpuaas_up", "gauge", "1 once the drivers are known.");
    fprintf(out, "gpuaas_up %d\n", monitoring->processes->serving);
    ready_metrics_write(monitoring, out);
    metrics_gpus_write(monitoring, out);
    metrics_memory_write(monitoring, out);
    metrics_scheduling_write(monitoring, out);
    status_collect(monitoring, &sink);
    metrics_tenants_write(monitoring, out);
    endings_write(monitoring, out);
    audit_write(monitoring, out);
    certificates_write(monitoring, out);
    credentials_write(monitoring, out);
    disks_write(monitoring, out);
    process_write(out);
}

/* ---- ready */

static void ready_write(void *user, const struct condition *condition)
{
    FILE *out = user;
    fprintf(out, "%s %s%s%s\n", condition->holds ? "ok" : "not", condition->name,
            condition->holds ? "" : ": ", condition->why);
}

bool metrics_ready(const struct monitoring *monitoring, FILE *out)
{
    return readiness_look(monitoring, ready_write, out);
}
