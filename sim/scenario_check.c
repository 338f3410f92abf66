/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of keys that depend on each other. */
#include "sim/scenario_reading.h"

#include <string.h>

#include "model/timing.h"

/* The applications of Strings, Table I. */
static const struct {
    const char *name;
    double gpu_share, transfer_share, bandwidth_mbs;
    uint64_t runtime_ms;
    double places;
} table1[] = {
#define SIM_TABLE1(short_, name_, gpu_, transfer_, bandwidth_, runtime_ms_, places_, group_)       \
    {short_, gpu_, transfer_, bandwidth_, runtime_ms_, places_},
#include "sim/table1.def"
};

const char *sim_table_name(uint32_t row)
{
    return row < sizeof table1 / sizeof *table1 ? table1[row].name : NULL;
}

/* ---- where a key stands */

static const struct sim_reading_section *section_of(const struct sim_reading *r,
                                                    enum sim_section kind, uint32_t row)
{
    for (size_t i = 0; i < r->section_count; i++) {
        if (r->sections[i].kind == kind && r->sections[i].row == row) {
            return &r->sections[i];
        }
    }
    return NULL;
}

static uint32_t key_line(const struct sim_reading_section *section, const char *name)
{
    for (size_t k = 0; section != NULL && k < sim_key_count; k++) {
        if (sim_keys[k].section == section->kind && strcmp(sim_keys[k].name, name) == 0) {
            return section->seen[k];
        }
    }
    return 0;
}

/* Complains about a key of a section, with its line; `text` says what is wrong and allowed. */
static void complain_key(struct sim_reading *r, const struct sim_reading_section *section,
                         const char *key, const char *text)
{
    uint32_t line = key_line(section, key);
    line = line == UINT32_MAX ? 0 : line != 0 ? line : section != NULL ? section->line : 0;
    conf_ini_complain(&r->ini, line, "[%s] %s: %s", section != NULL ? section->name : "run", key,
                      text);
}

/* ---- nodes and GPUs */

static uint32_t node_index(const struct sim_scenario *s, uint32_t number)
{
    uint32_t i = 0;
    while (i < s->node_count && s->nodes[i].number != number) {
        i++;
    }
    return i;
}

/* With contradicting settings no GPU can work, which is told once. */
static void policy_check_on(struct sim_reading *r, const struct sched_gpu *has, bool first,
                            const char *name)
{
    struct sim_scenario *s = r->scenario;
    char reason[300], why[400];
    enum ga_status status = s->policy != NULL ? sched_settings_check(s->policy, &s->policy_keys,
                                                                     has, reason, sizeof reason)
                                              : GA_OK;
    char *behind = status == GA_INVALID ? strchr(reason, ':') : NULL;
    if (behind != NULL && first) {
        *behind = 0;
        complain_key(r, section_of(r, SIM_SECTION_POLICY, 0), reason, behind + 2);
    } else if (status == GA_UNSUPPORTED) {
        snprintf(why, sizeof why, "%s does not work on [%s]: %s", s->run.policy, name, reason);
        complain_key(r, section_of(r, SIM_SECTION_RUN, 0), "policy", why);
    }
}

static void gpu_check(struct sim_reading *r, const struct sim_reading_section *section,
                      struct sim_gpu_keys *gpu)
{
    soft_device_complete(&gpu->device, gpu->given);
    if (gpu->device.model == 0) {
        complain_key(r, section, "model",
                     "generic is as large as this machine, so the run would differ elsewhere; "
                     "allowed: another model (c2050 if it is not given)");
        return;
    }
    gpu->node = node_index(r->scenario, gpu->node);
    const struct sched_gpu has = {.copy_engines = gpu->device.copy_engines,
                                  .bandwidth = (uint64_t)gpu->device.memory_mbs * 1000000};
    policy_check_on(r, &has, gpu == r->scenario->gpus, section != NULL ? section->name : "gpu");
}

static void policy_check(struct sim_reading *r)
{
    struct sim_scenario *s = r->scenario;
    char why[400] = "there is no policy of this name; allowed: ";
    s->policy = sched_policy_find(s->run.policy);
    for (size_t i = 0; s->policy == NULL && sched_policy_at(i) != NULL; i++) {
        size_t used = strlen(why);
        snprintf(why + used, sizeof why - used, "%s%s", i != 0 ? ", " : "",
                 sched_policy_name(sched_policy_at(i)));
    }
    if (s->policy == NULL) {
        complain_key(r, section_of(r, SIM_SECTION_RUN, 0), "policy", why);
    }
}

/* ---- applications and streams */

static void table_take(struct sim_app_keys *app)
{
    if (app->table == 0) {
        return;
    }
    uint32_t row = app->table - 1;
    app->gpu_share = app->gpu_share < 0 ? table1[row].gpu_share : app->gpu_share;
    app->transfer_share =
        app->transfer_share < 0 ? table1[row].transfer_share : app->transfer_share;
    app->bandwidth_mbs = app->bandwidth_mbs < 0 ? table1[row].bandwidth_mbs : app->bandwidth_mbs;
    app->places = app->places < 0 ? table1[row].places : app->places;
    app->runtime_ns = app->runtime_ns == 0 ? table1[row].runtime_ms * 1000000 : app->runtime_ns;
}

static void app_check(struct sim_reading *r, const struct sim_reading_section *section,
                      struct sim_app_keys *app)
{
    static const char *const of_shares[] = {"table",          "runtime",       "gpu_share",
                                            "transfer_share", "bandwidth_mbs", "places",
                                            "h2d_part",       "rounds",        "reference"};
    struct soft_device reference = {.model = 0};
    for (size_t i = 0; *app->trace != 0 && i < sizeof of_shares / sizeof *of_shares; i++) {
        if (key_line(section, of_shares[i]) != 0) {
            complain_key(r, section, of_shares[i],
                         "contradicts trace, which says everything about the application");
        }
    }
    if (*app->trace == 0 && *app->trace_stream != 0) {
        complain_key(r, section, "trace_stream", "needs a trace");
    }
    if (!soft_key_read(&soft_keys[soft_key_find("model")], app->reference, &reference) ||
        reference.model == 0) {
        complain_key(r, section, "reference",
                     "there is no such model; allowed: one of " SOFT_MODELS " but generic");
    }
    table_take(app);
    if (*app->trace == 0 && app->runtime_ns == 0) {
        complain_key(r, section, "runtime", "is missing; allowed: it, table, or trace");
    }
    if (*app->trace == 0 && app->gpu_share < 0) {
        complain_key(r, section, "gpu_share", "is missing; allowed: it, table, or trace");
    }
    app->transfer_share = app->transfer_share < 0 ? 0 : app->transfer_share;
    app->bandwidth_mbs = app->bandwidth_mbs < 0 ? 0 : app->bandwidth_mbs;
    app->places = app->places < 0 ? 1 : app->places;
}

static uint32_t app_find(const struct sim_scenario *s, const char *name)
{
    uint32_t i = 0;
    while (i < s->app_count && strcmp(s->apps[i].name, name) != 0) {
        i++;
    }
    return i;
}

static void arrivals_check(struct sim_reading *r, const struct sim_reading_section *section,
                           struct sim_stream_keys *stream)
{
    const bool exponential = stream->arrivals == SIM_ARRIVALS_EXPONENTIAL;
    const bool trace = stream->arrivals == SIM_ARRIVALS_TRACE;
    if (stream->alpha > 0 && stream->mean_ns != 0) {
        complain_key(r, section, "alpha", "contradicts mean; allowed: one of them");
    } else if (exponential && stream->alpha < 0 && stream->mean_ns == 0) {
        complain_key(r, section, "alpha", "is missing; allowed: it, or mean");
    } else if (!exponential && (stream->alpha > 0 || stream->mean_ns != 0)) {
        complain_key(r, section, stream->alpha > 0 ? "alpha" : "mean",
                     "is for arrivals = exponential only");
    }
    if (stream->requests == 0 && (!exponential && stream->arrivals != SIM_ARRIVALS_CLOSED)) {
        complain_key(r, section, "requests", "0 is for arrivals = exponential or closed only");
    } else if (stream->requests == 0 && r->scenario->run.until_ns == 0) {
        complain_key(r, section, "requests", "0 needs [run] until, or the run would have no end");
    }
    if (trace && *r->scenario->apps[stream->app_index].trace == 0) {
        complain_key(r, section, "arrivals", "trace needs an application with a trace");
    }
}

static void stream_check(struct sim_reading *r, const struct sim_reading_section *section,
                         struct sim_stream_keys *stream)
{
    struct sim_scenario *s = r->scenario;
    char why[300];
    stream->app_index = app_find(s, stream->app);
    if (*stream->app == 0) {
        complain_key(r, section, "app", "is missing; allowed: NAME of a section [app.NAME]");
    } else if (stream->app_index == s->app_count) {
        snprintf(why, sizeof why, "there is no section [app.%s]", stream->app);
        complain_key(r, section, "app", why);
    } else {
        arrivals_check(r, section, stream);
    }
    uint32_t node = node_index(s, stream->node);
    if (node == s->node_count) {
        snprintf(why, sizeof why, "there is no node %u: no [gpu.N] is in it", stream->node);
        complain_key(r, section, "node", why);
    }
    stream->node = node;
    if (key_line(section, "gpu") != 0 && s->run.balance != SIM_BALANCE_FIXED) {
        complain_key(r, section, "gpu", "needs [run] balance = fixed");
    }
    if (*stream->tenant == 0) {
        memcpy(stream->tenant, stream->name, sizeof stream->tenant);
    }
}

/* The values of a tenant must be the same wherever it is named. */
static void tenants_check(struct sim_reading *r)
{
    const struct sim_scenario *s = r->scenario;
    for (uint32_t i = 0; i < s->stream_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct sim_stream_keys *a = &s->streams[k], *b = &s->streams[i];
            if (strcmp(a->tenant, b->tenant) == 0 &&
                (a->weight != b->weight || a->cap_percent != b->cap_percent ||
                 a->throttle_percent != b->throttle_percent)) {
                char why[300];
                snprintf(why, sizeof why,
                         "[stream.%s] has the same tenant with another weight, cap or throttle",
                         a->name);
                complain_key(r, section_of(r, SIM_SECTION_STREAM, i), "tenant", why);
                return;
            }
            if (strcmp(a->tenant, b->tenant) == 0) {
                break; /* those before it are compared with this one */
            }
        }
    }
}

static void numbers_check(struct sim_reading *r)
{
    const struct sim_scenario *s = r->scenario;
    uint64_t nodes = 0, gpus = 0, streams = 0;
    for (uint32_t i = 0; i < s->node_count; i++) {
        nodes += s->nodes[i].count;
    }
    for (uint32_t i = 0; i < s->gpu_count; i++) {
        gpus += s->gpus[i].node < s->node_count ? s->nodes[s->gpus[i].node].count : 0;
    }
    for (uint32_t i = 0; i < s->stream_count; i++) {
        streams += s->streams[i].count;
    }
    if (nodes > SIM_NODES_MAX || gpus > SIM_GPUS_MAX || streams > SIM_STREAMS_MAX) {
        conf_ini_complain(&r->ini, 0,
                          "with their counts, there are more than %u nodes, %u GPUs, or %u streams",
                          SIM_NODES_MAX, SIM_GPUS_MAX, SIM_STREAMS_MAX);
    }
    for (uint32_t i = 0; s->run.balance == SIM_BALANCE_FIXED && i < s->stream_count; i++) {
        if (s->streams[i].gpu >= gpus) {
            complain_key(r, section_of(r, SIM_SECTION_STREAM, i), "gpu",
                         "there are fewer GPUs; the first is 0");
        }
    }
}

void sim_scenario_check(struct sim_reading *r)
{
    struct sim_scenario *s = r->scenario;
    policy_check(r);
    for (uint32_t i = 0; i < s->gpu_count; i++) {
        if (node_index(s, s->gpus[i].node) == s->node_count) {
            sim_reading_node(r, s->gpus[i].node);
        }
        gpu_check(r, section_of(r, SIM_SECTION_GPU, i), &s->gpus[i]);
    }
    for (uint32_t i = 0; i < s->app_count; i++) {
        app_check(r, section_of(r, SIM_SECTION_APP, i), &s->apps[i]);
    }
    for (uint32_t i = 0; i < s->stream_count; i++) {
        stream_check(r, section_of(r, SIM_SECTION_STREAM, i), &s->streams[i]);
    }
    tenants_check(r);
    numbers_check(r);
    static const struct {
        const char *form, *what;
    } needed[] = {{"gpu.N", "GPU"}, {"stream.NAME", "stream"}};
    const uint32_t counts[] = {s->gpu_count, s->stream_count};
    for (size_t i = 0; i < 2 && !r->ini.sections_lost; i++) {
        if (counts[i] == 0) {
            conf_ini_complain(&r->ini, 0, "there is no %s: a section [%s] is missing",
                              needed[i].what, needed[i].form);
        }
    }
    for (uint32_t i = 0; i < s->node_count && r->ini.errors == 0; i++) {
        bool has = s->run.balance == SIM_BALANCE_FIXED || s->run.balance == SIM_BALANCE_GRR;
        bool used = false;
        for (uint32_t k = 0; k < s->gpu_count; k++) {
            has |= s->gpus[k].node == i;
        }
        for (uint32_t k = 0; k < s->stream_count; k++) {
            used |= s->streams[k].node == i || s->streams[k].spread;
        }
        if (used && !has) {
            conf_ini_complain(&r->ini, 0,
                              "[node.%u] has streams and no GPU; allowed: a section [gpu.N] that "
                              "names it, or [run] balance = grr or fixed",
                              s->nodes[i].number);
        }
    }
}
