/* SPDX-License-Identifier: Apache-2.0 */
/* Phases from shares (Strings, Table I) and from traces. */
#include "sim/app.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/constants.h"

bool sim_app_model(struct soft_device *device, const char *model)
{
    *device = (struct soft_device){.model = 0};
    bool known = soft_key_read(&soft_keys[soft_key_find("model")], model, device);
    soft_device_complete(device, 0);
    return known;
}

/* In arithmetic; only the ratio of two GPUs is used. */
static double app_speed(const struct soft_device *device)
{
    return (double)device->sms * device->cores * device->clock_mhz;
}

/* A kernel that accesses memory at this part of the reference GPU's bandwidth during `ns` takes
 * longer where arithmetic or memory is slower. */
static struct model_demand kernel_demand(const struct sim_app *app, const struct sim_phase *phase,
                                         const struct soft_device *device)
{
    double arithmetic_ns = (double)phase->ns * app_speed(&app->reference) / app_speed(device);
    double memory_ns =
        (double)phase->ns * phase->bandwidth * app->reference.memory_mbs / device->memory_mbs;
    double ns = fmax(fmax(arithmetic_ns, memory_ns), 1);
    return (struct model_demand){
        .lead_ns = MODEL_LAUNCH_NS,
        .ns = (uint64_t)ns,
        .share = {[MODEL_RESOURCE_SLOTS] = phase->places,
                  [MODEL_RESOURCE_ISSUE] = phase->issue * arithmetic_ns / ns,
                  [MODEL_RESOURCE_BANDWIDTH] = fmin(memory_ns / ns, 1)},
    };
}

struct model_demand sim_app_demand(const struct sim_app *app, const struct sim_phase *phase,
                                   const struct soft_device *device, bool pinned)
{
    if (phase->kind == GPU_PHASE_KL) {
        return kernel_demand(app, phase, device);
    }
    return model_timing_copy(device, phase->kind == GPU_PHASE_H2D ? GPU_H2D : GPU_D2H, phase->bytes,
                             !pinned && !phase->pinned);
}

/* ---- shares */

/* A copy that takes so long on the reference GPU from or to pageable memory. */
static struct sim_phase app_copy_of(const struct sim_app *app, enum gpu_phase kind, double ns)
{
    const enum gpu_engine way = kind == GPU_PHASE_H2D ? GPU_H2D : GPU_D2H;
    const uint64_t probe = UINT64_C(1) << 30;
    struct model_demand none = model_timing_copy(&app->reference, way, 0, true);
    struct model_demand some = model_timing_copy(&app->reference, way, probe, true);
    double latency = (double)(none.lead_ns + none.ns);
    double per_byte = ((double)(some.lead_ns + some.ns) - latency) / (double)probe;
    double bytes = (ns - latency) / per_byte;
    return (struct sim_phase){
        .kind = kind, .ns = (uint64_t)ns, .bytes = bytes > 1 ? (uint64_t)bytes : 1};
}

/* A request of run time R does `rounds` times: [CPU (1-g) R/m] [H2D h d g R/m] [KL (1-d) g R/m]
 * [D2H (1-h) d g R/m]; its kernels access b g R bytes in all. They cannot access more than the
 * reference GPU's bandwidth. */
static void shares_take(struct sim_app *app, const struct sim_app_keys *keys,
                        struct sim_template *template)
{
    const double round_ns = (double)keys->runtime_ns / keys->rounds;
    const double gpu_ns = keys->gpu_share * round_ns;
    const double copies_ns = keys->transfer_share * gpu_ns, kernel_ns = gpu_ns - copies_ns;
    const double rate = /* MB/s while a kernel runs */
        kernel_ns > 0 ? keys->bandwidth_mbs * gpu_ns / kernel_ns : 0;
    uint32_t count = 0;
    app->own[count++] =
        (struct sim_phase){.kind = GPU_PHASE_DFL, .ns = (uint64_t)(round_ns - gpu_ns)};
    if (copies_ns * keys->h2d_part >= 1) {
        app->own[count++] = app_copy_of(app, GPU_PHASE_H2D, copies_ns * keys->h2d_part);
    }
    if (kernel_ns >= 1) {
        app->own[count++] =
            (struct sim_phase){.kind = GPU_PHASE_KL,
                               .ns = (uint64_t)kernel_ns,
                               .places = keys->places,
                               .issue = keys->places,
                               .bandwidth = fmin(rate / app->reference.memory_mbs, 1)};
    }
    if (copies_ns * (1 - keys->h2d_part) >= 1) {
        app->own[count++] = app_copy_of(app, GPU_PHASE_D2H, copies_ns * (1 - keys->h2d_part));
    }
    *template =
        (struct sim_template){.phases = app->own, .phase_count = count, .rounds = keys->rounds};
}

/* ---- traces */

static enum ga_status trace_load(struct sim_app *app, const struct sim_app_keys *keys,
                                 const char *scenario_path, char *why, size_t why_room)
{
    char path[2 * SIM_PATH_BYTES];
    const char *slash = strrchr(scenario_path, '/');
    int folder = *keys->trace == '/' || slash == NULL ? 0 : (int)(slash - scenario_path) + 1;
    snprintf(path, sizeof path, "%.*s%s", folder, scenario_path, keys->trace);
    GA_TRY(sim_trace_read_file(path, &app->trace, why, why_room));
    struct soft_device known = {.model = 0};
    if (!soft_key_read(&soft_keys[soft_key_find("model")], app->trace.gpu, &known) ||
        known.model == 0) {
        snprintf(why, why_room,
                 "%s: gpu %s: there is no such model; allowed: one of " SOFT_MODELS " but generic",
                 path, app->trace.gpu);
        return GA_INVALID;
    }
    (void)sim_app_model(&app->reference, app->trace.gpu);
    uint32_t stream = 0;
    while (stream < app->trace.stream_count && *keys->trace_stream != 0 &&
           strcmp(app->trace.streams[stream], keys->trace_stream) != 0) {
        stream++;
    }
    if (stream == app->trace.stream_count ||
        (*keys->trace_stream == 0 && app->trace.stream_count != 1)) {
        snprintf(why, why_room,
                 "[app.%s] trace_stream: \"%s\": name one of the %u streams of %s (the first is "
                 "%s)",
                 keys->name, keys->trace_stream, app->trace.stream_count, path,
                 app->trace.streams[0]);
        return GA_INVALID;
    }
    app->templates = calloc(app->trace.request_count, sizeof *app->templates);
    if (app->templates == NULL) {
        return GA_NO_MEMORY;
    }
    for (uint32_t i = 0; i < app->trace.request_count; i++) {
        const struct sim_trace_request *request = &app->trace.requests[i];
        if (request->stream == stream) {
            app->templates[app->template_count++] =
                (struct sim_template){.phases = app->trace.phases + request->phase_first,
                                      .phase_count = request->phase_count,
                                      .rounds = request->rounds,
                                      .arrival_ns = request->arrival_ns};
        }
    }
    return GA_OK;
}

static uint64_t alone_of(const struct sim_app *app, const struct sim_template *template)
{
    uint64_t round_ns = 0;
    for (uint32_t i = 0; i < template->phase_count; i++) {
        const struct sim_phase *phase = &template->phases[i];
        struct model_demand demand = {.ns = phase->ns};
        if (phase->kind != GPU_PHASE_DFL) {
            demand = sim_app_demand(app, phase, &app->reference, false);
        }
        round_ns += demand.lead_ns + demand.ns;
    }
    return app->reference.context_ns + round_ns * template->rounds;
}

enum ga_status sim_app_init(struct sim_app *app, const struct sim_app_keys *keys,
                            const char *scenario_path, char *why, size_t why_room)
{
    *app = (struct sim_app){.template_count = 0};
    enum ga_status status =
        *keys->trace != 0 ? trace_load(app, keys, scenario_path, why, why_room) : GA_OK;
    if (status == GA_OK && *keys->trace == 0) {
        (void)sim_app_model(&app->reference, keys->reference);
        app->templates = calloc(1, sizeof *app->templates);
        status = app->templates == NULL ? GA_NO_MEMORY : GA_OK;
    }
    if (status == GA_OK && *keys->trace == 0) {
        shares_take(app, keys, app->templates);
        app->template_count = 1;
    }
    for (uint32_t i = 0; status == GA_OK && i < app->template_count; i++) {
        app->templates[i].alone_ns = alone_of(app, &app->templates[i]);
    }
    if (status != GA_OK) {
        sim_app_fini(app);
    }
    return status;
}

void sim_app_fini(struct sim_app *app)
{
    free(app->templates);
    sim_trace_free(&app->trace);
    *app = (struct sim_app){.template_count = 0};
}
