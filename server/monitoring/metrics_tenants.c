/* SPDX-License-Identifier: Apache-2.0 */
/* Note: gauges are of the programs that are here now, counters of all since gpuaasd has begun
 * (totals.h). A tenant that has had a program keeps its series; a gauge of it is 0 then. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/monitoring/metrics_format.h"
#include "server/monitoring/monitoring.h"
#include "server/monitoring/status.h"
#include "server/turns/scheduler.h"
#include "server/usage/accounting.h"

/* ---- gauges */

enum tenant_family {
    TENANT_SESSIONS,
    TENANT_SESSIONS_LIMIT,
    TENANT_MEMORY,
    TENANT_MEMORY_LIMIT,
    TENANT_TURNS,
    TENANT_FAMILIES
};

static const struct {
    const char *name, *help;
} tenant_families[TENANT_FAMILIES] = {
    [TENANT_SESSIONS] = {"gpuaas_tenant_sessions",
                         "Programs of the tenant that have opened a device."},
    [TENANT_SESSIONS_LIMIT] = {"gpuaas_tenant_sessions_limit",
                               "As many as it may have, while it has programs."},
    [TENANT_MEMORY] = {"gpuaas_tenant_memory_bytes",
                       "Device memory of its programs, as their backend processes count it."},
    [TENANT_MEMORY_LIMIT] = {"gpuaas_tenant_memory_limit_bytes",
                             "As much as it may have, while it has programs."},
    [TENANT_TURNS] = {"gpuaas_tenant_turns_wanted", "Turns on GPUs that its programs wait for."},
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
        metrics_gpu_bytes_add(sums->gpu_bytes, application);
    }
}

static void metrics_sums_turns(void *user, const struct status_application *application,
                               const struct status_gpu *gpu)
{
    struct tenant_sums *sums = metrics_sums_of(user, application->tenant);
    if (gpu->turns != NULL && sums != NULL) {
        sums->of[TENANT_TURNS] += gpu->turns->waits;
    }
}

/* Labels are names: one that was removed while its programs still end, and the next of its name,
 * are one to a reader. */
static struct tenant_sums *metrics_sums_begin(struct tenants_sums *all, const char *name)
{
    struct tenant_sums *sums = metrics_sums_of(all, name);
    if (sums == NULL) {
        sums = &all->each[all->count++];
        sums->name = name;
        sums->of[TENANT_SESSIONS_LIMIT] = LIMIT_NONE;
        sums->of[TENANT_MEMORY_LIMIT] = LIMIT_NONE;
    }
    return sums;
}

/* None if there is no memory: the families then have no lines. */
static struct tenants_sums tenants_sum(const struct monitoring *monitoring)
{
    struct tenants_sums all = {.count = 0};
    const struct status_sink sink = {
        .user = &all, .application = metrics_sums_add, .gpu = metrics_sums_turns};
    uint32_t most = monitoring->usage->totals.count;
    ga_list_each (at, next, &monitoring->applications->tenants.all) {
        most++;
    }
    all.each = calloc((size_t)most + 1, sizeof *all.each);
    if (all.each == NULL) {
        return all;
    }
    ga_list_each (at, next, &monitoring->applications->tenants.all) {
        const struct tenant *tenant = ga_container(at, struct tenant, link);
        if (metrics_sums_of(&all, tenant->terms.name) == NULL) {
            struct tenant_sums *sums = metrics_sums_begin(&all, tenant->terms.name);
            sums->of[TENANT_SESSIONS_LIMIT] = tenant->terms.limits.of[LIMIT_SESSIONS];
            sums->of[TENANT_MEMORY_LIMIT] = tenant->terms.limits.of[LIMIT_GPU_MEM];
        }
    }
    for (uint32_t i = 1; i < monitoring->usage->totals.count; i++) { /* behind the others' */
        (void)metrics_sums_begin(&all, monitoring->usage->totals.each[i].name);
    }
    status_collect(monitoring, &sink);
    return all;
}

/* Begins a line about a tenant; its other labels and "}" come next. */
static void tenant_line_begin(FILE *out, const char *name, const char *tenant)
{
    fprintf(out, "%s{tenant=\"", name);
    metrics_label(out, tenant);
    fputc('"', out);
}

static void tenant_family_write(FILE *out, const struct tenants_sums *all, enum tenant_family which)
{
    const char *name = tenant_families[which].name;
    metrics_family(out, name, "gauge", tenant_families[which].help);
    for (uint32_t i = 0; i < all->count; i++) {
        uint64_t value = all->each[i].of[which];
        if (value != LIMIT_NONE) {
            tenant_line_begin(out, name, all->each[i].name);
            fprintf(out, "} %" PRIu64 "\n", value);
        }
    }
}

/* A line for each GPU that the tenant has memory of. */
static void tenant_gpus_write(FILE *out, const struct monitoring *monitoring,
                              const struct tenant_sums *sums)
{
    for (uint32_t i = 0; i < monitoring->processes->devices.visible_count; i++) {
        if (sums->gpu_bytes[i] != 0) {
            tenant_line_begin(out, "gpuaas_tenant_gpu_memory_bytes", sums->name);
            metrics_gpu_label(out, devices_visible(&monitoring->processes->devices, i));
            fprintf(out, "} %" PRIu64 "\n", sums->gpu_bytes[i]);
        }
    }
}

/* The format wants all lines of a family together, so the tenants are summed up before. */
static void gauges_write(const struct monitoring *monitoring, FILE *out)
{
    struct tenants_sums all = tenants_sum(monitoring);
    for (enum tenant_family i = 0; i < TENANT_FAMILIES; i++) {
        tenant_family_write(out, &all, i);
    }
    metrics_family(out, "gpuaas_tenant_gpu_memory_bytes", "gauge",
                   "Device memory of its programs on each GPU of which they have any.");
    for (uint32_t i = 0; i < all.count; i++) {
        tenant_gpus_write(out, monitoring, &all.each[i]);
    }
    free(all.each);
}

/* ---- counters of work */

static const struct work_family {
    const char *gpu, *tenant; /* the names of the two families */
    const char *help;
    struct {
        const char *engine; /* NULL: no such label */
        enum totals_figure figure;
    } of[3];
    unsigned count;
    bool seconds;
} work_families[] = {
    {"gpuaas_gpu_busy_seconds_total",
     "gpuaas_tenant_gpu_seconds_total",
     "GPU time: time in which any engine of the GPU has worked; where several have work for it at "
     "a time, each has a part.",
     {{NULL, TOTALS_GPU_NS}},
     1,
     true},
    {"gpuaas_gpu_engine_seconds_total",
     "gpuaas_tenant_engine_seconds_total",
     "Time in which an engine of the GPU has worked.",
     {{"compute", TOTALS_COMPUTE_NS}, {"h2d", TOTALS_H2D_NS}, {"d2h", TOTALS_D2H_NS}},
     3,
     true},
    {"gpuaas_gpu_received_bytes_total",
     "gpuaas_tenant_received_bytes_total",
     "Bytes from programs to the node.",
     {{NULL, TOTALS_BYTES_IN}},
     1,
     false},
    {"gpuaas_gpu_sent_bytes_total",
     "gpuaas_tenant_sent_bytes_total",
     "Bytes from the node to programs.",
     {{NULL, TOTALS_BYTES_OUT}},
     1,
     false},
    {"gpuaas_gpu_launches_total",
     "gpuaas_tenant_launches_total",
     "Kernels and graphs that were launched, and other works.",
     {{NULL, TOTALS_LAUNCHES}},
     1,
     false},
    {"gpuaas_gpu_turn_wait_seconds_total",
     "gpuaas_tenant_turn_wait_seconds_total",
     "Time for which programs have waited for turns on the GPU.",
     {{NULL, TOTALS_WAITED_NS}},
     1,
     true},
};

static void work_value(FILE *out, const struct work_family *family, unsigned at, uint64_t value)
{
    if (family->of[at].engine != NULL) {
        fprintf(out, ",engine=\"%s\"", family->of[at].engine);
    }
    if (family->seconds) {
        metrics_seconds(out, value);
    } else {
        fprintf(out, "} %" PRIu64 "\n", value);
    }
}

static void work_gpus_write(const struct monitoring *monitoring, const struct work_family *family,
                            FILE *out)
{
    metrics_family(out, family->gpu, "counter", family->help);
    for (uint32_t gpu = 0; gpu < monitoring->processes->devices.visible_count; gpu++) {
        for (unsigned at = 0; at < family->count; at++) {
            uint64_t sum = 0;
            for (uint32_t i = 0; i < monitoring->usage->totals.count; i++) {
                const struct totals_tenant *of = &monitoring->usage->totals.each[i];
                sum += of->gpus != NULL ? of->gpus[gpu][family->of[at].figure] : 0;
            }
            metrics_gpu_line(out, family->gpu, monitoring,
                             devices_visible(&monitoring->processes->devices, gpu));
            work_value(out, family, at, sum);
        }
    }
}

static bool totals_any(const uint64_t figures[TOTALS_FIGURES])
{
    bool any = false;
    for (unsigned i = 0; i < TOTALS_FIGURES; i++) {
        any = any || figures[i] != 0;
    }
    return any;
}

/* For the GPUs that the tenant has used. */
static void work_tenants_write(const struct monitoring *monitoring,
                               const struct work_family *family, FILE *out)
{
    metrics_family(out, family->tenant, "counter", family->help);
    for (uint32_t i = 0; i < monitoring->usage->totals.count; i++) {
        const struct totals_tenant *of = &monitoring->usage->totals.each[i];
        for (uint32_t gpu = 0;
             of->gpus != NULL && gpu < monitoring->processes->devices.visible_count; gpu++) {
            for (unsigned at = 0; at < family->count && totals_any(of->gpus[gpu]); at++) {
                tenant_line_begin(out, family->tenant, of->name);
                metrics_gpu_label(out, devices_visible(&monitoring->processes->devices, gpu));
                work_value(out, family, at, of->gpus[gpu][family->of[at].figure]);
            }
        }
    }
}

/* ---- counters of sessions and refusals */

static void tenants_counts_write(const struct monitoring *monitoring, FILE *out)
{
    const struct totals *totals = &monitoring->usage->totals;
    metrics_family(out, "gpuaas_tenant_sessions_begun_total", "counter",
                   "Programs of the tenant that have opened a device, ever.");
    for (uint32_t i = 1; i < totals->count; i++) {
        tenant_line_begin(out, "gpuaas_tenant_sessions_begun_total", totals->each[i].name);
        fprintf(out, "} %" PRIu64 "\n", totals->each[i].sessions);
    }
    metrics_family(out, "gpuaas_tenant_refusals_total", "counter",
                   "Programs and allocations that a limit of the tenant, or of its user, refused.");
    for (uint32_t i = 0; i < totals->count; i++) {
        for (unsigned limit = 0; limit < LIMIT_COUNT; limit++) {
            if (totals->each[i].refused[limit] != 0) {
                tenant_line_begin(out, "gpuaas_tenant_refusals_total", totals->each[i].name);
                fprintf(out, ",limit=\"%s\"} %" PRIu64 "\n", limits_table[limit].key,
                        totals->each[i].refused[limit]);
            }
        }
    }
}

void metrics_tenants_write(struct monitoring *monitoring, FILE *out)
{
    accounting_refresh(monitoring->usage);
    gauges_write(monitoring, out);
    for (size_t i = 0; i < sizeof work_families / sizeof *work_families; i++) {
        work_gpus_write(monitoring, &work_families[i], out);
        work_tenants_write(monitoring, &work_families[i], out);
    }
    tenants_counts_write(monitoring, out);
}
