/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and JSON. */
#include "sim/output.h"

#include <inttypes.h>

#include "model/constants.h"
#include "model/timeline.h"

const char *const sim_engine_names[GPU_ENGINES] = {
    [GPU_H2D] = "h2d", [GPU_D2H] = "d2h", [GPU_COMPUTE] = "compute"};

static double seconds(double ns)
{
    return ns / 1e9;
}

double sim_output_speedup(const struct sim_stream_result *against,
                          const struct sim_stream_result *stream)
{
    return stream->counted != 0 && against->counted != 0
               ? against->completion_mean_ns / stream->completion_mean_ns
               : 0;
}

/* The completion time that this part of the requests does not exceed. */
static double completion_at(const struct sim_stream_result *stream, double part)
{
    if (stream->counted == 0) {
        return 0;
    }
    uint64_t at = (uint64_t)(part * (double)(stream->counted - 1) + 0.5);
    return (double)stream->completions_ns[at];
}

double sim_output_speedup_mean(const struct sim_result *result, const struct sim_result *against)
{
    double sum = 0;
    uint32_t counted = 0;
    for (uint32_t i = 0; i < result->stream_count; i++) {
        double s = sim_output_speedup(&against->streams[i], &result->streams[i]);
        sum += s;
        counted += s > 0;
    }
    return counted != 0 ? sum / counted : 0;
}

static double part_of_run(const struct sim_result *result, uint64_t ns)
{
    return result->end_ns != 0 ? (double)ns / (double)result->end_ns : 0;
}

/* ---- tables */

static void streams_table(FILE *out, const struct sim_result *result,
                          const struct sim_result *against)
{
    fprintf(out, "%-16s %9s %11s %11s %11s %10s %9s%s\n", "stream", "requests", "mean s", "95 % s",
            "alone s", "slowdown", "waited s", against != NULL ? "  speedup" : "");
    for (uint32_t i = 0; i < result->stream_count; i++) {
        const struct sim_stream_result *s = &result->streams[i];
        fprintf(out, "%-16s %9" PRIu64 " %11.4f %11.4f %11.4f %10.3f %9.3f", s->keys->name,
                s->counted, seconds(s->completion_mean_ns), seconds(completion_at(s, 0.95)),
                seconds(s->alone_mean_ns), s->slowdown_mean, seconds(s->wait_mean_ns));
        if (against != NULL) {
            fprintf(out, "  %7.3f", sim_output_speedup(&against->streams[i], s));
        }
        fputc('\n', out);
    }
}

static void gpus_table(FILE *out, const struct sim_result *result)
{
    const uint32_t shown = result->gpu_count < 16 ? result->gpu_count : 16;
    fprintf(out, "\n%-5s %-5s %-44s %8s %8s %8s %8s\n", "gpu", "node", "device", "compute", "h2d",
            "d2h", "idle");
    for (uint32_t i = 0; i < shown; i++) {
        const struct sim_gpu_result *g = &result->gpus[i];
        char name[SOFT_NAME_BYTES];
        soft_model_name(g->device, name, sizeof name);
        fprintf(out, "%-5u %-5u %-44s %7.2f%% %7.2f%% %7.2f%% %7.2f%%\n", i, g->node, name,
                100 * part_of_run(result, g->busy_ns[GPU_COMPUTE]),
                100 * part_of_run(result, g->busy_ns[GPU_H2D]),
                100 * part_of_run(result, g->busy_ns[GPU_D2H]),
                100 * part_of_run(result, g->idle_ns));
    }
    if (shown < result->gpu_count) {
        fprintf(out, "and %u more\n", result->gpu_count - shown);
    }
}

void sim_output_table(FILE *out, const struct sim_result *result, const struct sim_result *against)
{
    const struct sim_metrics *m = &result->metrics;
    streams_table(out, result, against);
    gpus_table(out, result);
    fprintf(out, "\nWS %.4f  ANTT %.4f  STP %.4f  bounded slowdown %.4f  Jain of slowdowns %.4f",
            m->weighted_speedup, m->antt, m->stp, m->bounded_slowdown, m->jain_slow);
    if (m->jain_share >= 0) {
        fprintf(out,
                "\nJain of shares %.4f, of the %.1f %% of the run in which all tenants had work",
                m->jain_share, 100 * m->contended_share);
    }
    if (against != NULL) {
        fprintf(out, "\nspeedup S %.4f, mean over streams",
                sim_output_speedup_mean(result, against));
    }
    char digest[MODEL_DIGEST_BYTES];
    model_constants_digest(digest);
    fprintf(out, "\nseed %" PRIu64 ", %.3f s simulated, %" PRIu64 " events, model %s\n",
            result->seed, seconds((double)result->end_ns), result->events, digest);
}

/* ---- JSON. Names have no characters that JSON would have to escape (key.c). */

static void streams_json(FILE *out, const struct sim_result *result,
                         const struct sim_result *against, bool completions)
{
    for (uint32_t i = 0; i < result->stream_count; i++) {
        const struct sim_stream_result *s = &result->streams[i];
        fprintf(
            out,
            "%s\n    {\"name\": \"%s\", \"app\": \"%s\", \"tenant\": \"%s\", \"requests\": %" PRIu64
            ", \"counted\": %" PRIu64 ", \"completion_mean_s\": %.9f, \"completion_p50_s\": %.9f, "
            "\"completion_p95_s\": %.9f, \"completion_max_s\": %.9f, \"wait_mean_s\": %.9f, "
            "\"alone_mean_s\": %.9f, \"slowdown_mean\": %.9f, \"speed_mean\": %.9f, "
            "\"bounded_slowdown_mean\": %.9f",
            i != 0 ? "," : "", s->keys->name, s->keys->app, s->keys->tenant, s->requests,
            s->counted, seconds(s->completion_mean_ns), seconds(completion_at(s, 0.5)),
            seconds(completion_at(s, 0.95)), seconds(completion_at(s, 1)), seconds(s->wait_mean_ns),
            seconds(s->alone_mean_ns), s->slowdown_mean, s->speed_mean, s->bounded_slowdown_mean);
        fprintf(out,
                ", \"operations\": %" PRIu64 ", \"operation_wait_mean_s\": %.9f, "
                "\"operation_wait_p99_s\": %.9f",
                s->operations, seconds(s->operation_wait_mean_ns),
                seconds(s->operation_wait_p99_ns));
        if (against != NULL) {
            fprintf(out, ", \"baseline_completion_mean_s\": %.9f, \"speedup\": %.9f",
                    seconds(against->streams[i].completion_mean_ns),
                    sim_output_speedup(&against->streams[i], s));
        }
        for (uint64_t k = 0; completions && k < s->counted; k++) {
            fprintf(out, "%s%.9f", k == 0 ? ", \"completions_s\": [" : ", ",
                    seconds((double)s->completions_ns[k]));
        }
        fputs(completions && s->counted != 0 ? "]}" : "}", out);
    }
}

static void use_json(FILE *out, const struct sim_result *result, const struct sim_gpu_result *gpu)
{
    for (uint32_t e = 0; e < GPU_ENGINES; e++) {
        fprintf(out, "%s\"%s\": [", e != 0 ? ", " : "", sim_engine_names[e]);
        for (uint32_t b = 0; b < result->bin_count; b++) {
            fprintf(out, "%s%.6f", b != 0 ? ", " : "", (double)gpu->use[b * GPU_ENGINES + e]);
        }
        fputc(']', out);
    }
}

static void gpus_json(FILE *out, const struct sim_result *result)
{
    for (uint32_t i = 0; i < result->gpu_count; i++) {
        const struct sim_gpu_result *g = &result->gpus[i];
        fprintf(out, "%s\n    {\"node\": %u", i != 0 ? "," : "", g->node);
        for (uint32_t e = 0; e < GPU_ENGINES; e++) {
            fprintf(out, ", \"%s_busy_s\": %.9f", sim_engine_names[e],
                    seconds((double)g->busy_ns[e]));
        }
        if (result->bin_ns != 0) {
            fprintf(out, ", \"idle_s\": %.9f, \"idle_gaps_over_1ms\": %" PRIu64 ", \"use\": {",
                    seconds((double)g->idle_ns), g->idle_gaps);
            use_json(out, result, g);
            fputc('}', out);
        }
        fputc('}', out);
    }
}

void sim_output_json(FILE *out, const struct sim_scenario *scenario,
                     const struct sim_result *result, const struct sim_result *against,
                     bool completions)
{
    const struct sim_metrics *m = &result->metrics;
    char digest[MODEL_DIGEST_BYTES];
    model_constants_digest(digest);
    fprintf(out,
            "{\"format\": 1, \"model\": \"%s\", \"policy\": \"%s\", \"isolation\": \"%s\", "
            "\"seed\": %" PRIu64 ", \"end_s\": %.9f, \"events\": %" PRIu64
            ", \"bin_s\": %.9f,\n  \"streams\": [",
            digest, scenario->run.policy,
            scenario->run.isolation == SIM_ISOLATION_PACKED ? "packed" : "app", result->seed,
            seconds((double)result->end_ns), result->events, seconds((double)result->bin_ns));
    streams_json(out, result, against, completions);
    fputs("],\n  \"tenants\": [", out);
    for (uint32_t i = 0; i < result->tenant_count; i++) {
        const struct sim_tenant_result *t = &result->tenants[i];
        fprintf(out,
                "%s\n    {\"name\": \"%s\", \"weight\": %u, \"service_s\": %.9f, "
                "\"contended_service_s\": %.9f}",
                i != 0 ? "," : "", t->name, t->weight, seconds(t->service_ns),
                seconds(t->contended_ns));
    }
    fputs("],\n  \"gpus\": [", out);
    gpus_json(out, result);
    fprintf(out,
            "],\n  \"metrics\": {\"weighted_speedup\": %.9f, \"antt\": %.9f, \"stp\": %.9f, "
            "\"bounded_slowdown\": %.9f, \"jain_slow\": %.9f, \"contended_share\": %.9f, "
            "\"jain_share\": ",
            m->weighted_speedup, m->antt, m->stp, m->bounded_slowdown, m->jain_slow,
            m->contended_share);
    if (m->jain_share >= 0) {
        fprintf(out, "%.9f", m->jain_share);
    } else {
        fputs("null", out);
    }
    if (against != NULL) {
        fprintf(out, ", \"speedup\": %.9f", sim_output_speedup_mean(result, against));
    }
    fprintf(out, ", \"requests_s\": %.9f, \"completions_s\": %.9f}}\n",
            seconds(result->requests_ns), seconds(result->completions_ns));
}
