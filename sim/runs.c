/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/output.h"
#include "sim/tell.h"

#define GANTT_COLUMNS 100

struct job { /* a run */
    const struct sim_line *line;
    struct sim_scenario scenario, baseline;
    FILE *json, *events;
    uint64_t shown_s; /* second of the last progress line */
    bool terminal;
    double sums[4];         /* of metrics, over seeds */
    double (*slowdowns)[2]; /* of each stream, over seeds: their sum, and that of their squares */
};

static void progress(void *user, uint64_t now_ns, uint64_t done, uint64_t all)
{
    struct job *job = user;
    const uint64_t second = (uint64_t)clock() / CLOCKS_PER_SEC; /* of processor time */
    if (!job->terminal || second == job->shown_s) {
        return;
    }
    job->shown_s = second;
    fprintf(stderr, "\r%.0f s simulated, %" PRIu64 " of %" PRIu64 " requests   ",
            (double)now_ns / 1e9, done, all);
}

static int runs_one(struct job *job, const struct sim_scenario *scenario, uint64_t seed,
                    bool pictures, struct sim_result *result)
{
    char why[SIM_PATH_BYTES + 400] = "";
    const struct sim_line *line = job->line;
    const bool spans = pictures && (line->gantt || line->svg != NULL);
    const struct sim_options options = {.seed = seed,
                                        .events = pictures ? job->events : NULL,
                                        .spans_from_ns = spans ? line->from_ns : 0,
                                        .spans_to_ns = spans ? line->to_ns : 0,
                                        .progress = progress,
                                        .user = job};
    enum ga_status status = sim_run(scenario, &options, result, why, sizeof why);
    if (job->shown_s != 0) {
        fputs("\r\033[K", stderr);
    }
    return status == GA_OK ? 0
                           : sim_tell_wrong(SIM_WRONG_FILE, "%s", *why != 0 ? why : "no memory");
}

static uint64_t picture_end(const struct sim_line *line, const struct sim_result *result)
{
    return line->to_ns < result->end_ns ? line->to_ns : result->end_ns;
}

static int svg_write(const struct job *job, const struct sim_result *result)
{
    FILE *out = sim_tell_open(job->line->svg);
    if (out == NULL) {
        return SIM_WRONG_FILE;
    }
    sim_picture_svg(out, &job->scenario, result, job->line->from_ns,
                    picture_end(job->line, result));
    return sim_tell_written(out, job->line->svg, 0);
}

static void seed_line(struct job *job, const struct sim_result *result,
                      const struct sim_result *against)
{
    const struct sim_metrics *m = &result->metrics;
    const double values[] = {m->weighted_speedup, m->antt, m->jain_slow,
                             against != NULL ? sim_output_speedup_mean(result, against) : 0};
    printf("seed %-8" PRIu64, result->seed);
    for (size_t i = 0; i < 4; i++) {
        job->sums[i] += values[i];
        printf(" %12.6f", values[i]);
    }
    putchar('\n');
    for (uint32_t i = 0; i < result->stream_count; i++) {
        const double slowdown = result->streams[i].slowdown_mean;
        job->slowdowns[i][0] += slowdown;
        job->slowdowns[i][1] += slowdown * slowdown;
    }
}

/* The last lines of a table over seeds. Whether a stream fares as well whatever the order of
 * arrivals is (GScheduler, SMC17, IV-D): Jain's index of its slowdowns over the seeds. */
static void seeds_end(const struct job *job)
{
    const double seeds = (double)job->line->seeds;
    double jain = 0;
    printf("%-13s", "mean");
    for (size_t i = 0; i < 4; i++) {
        printf(" %12.6f", job->sums[i] / seeds);
    }
    for (uint32_t i = 0; i < job->scenario.stream_count; i++) {
        const double sum = job->slowdowns[i][0], squares = job->slowdowns[i][1];
        jain += (squares > 0 ? sum * sum / (seeds * squares) : 1) / job->scenario.stream_count;
    }
    printf("\nJain of a stream's slowdowns over the seeds, mean of the streams: %.6f\n", jain);
}

static int runs_write(struct job *job, uint64_t number, const struct sim_result *result,
                      const struct sim_result *against)
{
    const struct sim_line *line = job->line;
    if (line->seeds > 1 && !line->quiet) {
        seed_line(job, result, against);
    } else if (!line->quiet) {
        sim_output_table(stdout, result, against);
    }
    if (line->gantt && result->end_ns > line->from_ns) {
        sim_picture_text(stdout, result, line->from_ns, picture_end(line, result), GANTT_COLUMNS);
    }
    if (job->json != NULL) {
        fputs(line->seeds == 1 ? "" : number == 0 ? "[" : ",", job->json);
        sim_output_json(job->json, &job->scenario, result, against, line->completions);
        fputs(line->seeds != 1 && number + 1 == line->seeds ? "]\n" : "", job->json);
    }
    return line->svg != NULL && result->end_ns > line->from_ns ? svg_write(job, result) : 0;
}

static int runs_all(struct job *job)
{
    const struct sim_line *line = job->line;
    int status = 0;
    if (line->seeds > 1 && !line->quiet) {
        printf("%13s %12s %12s %12s %12s\n", "", "WS", "ANTT", "Jain slow", "S");
    }
    for (uint64_t i = 0; status == 0 && i < line->seeds; i++) {
        struct sim_result result = {.seed = 0}, against = {.seed = 0};
        const bool compared = line->baseline_count != 0;
        status = compared ? runs_one(job, &job->baseline, line->seed + i, false, &against) : 0;
        status =
            status == 0 ? runs_one(job, &job->scenario, line->seed + i, true, &result) : status;
        status = status == 0 ? runs_write(job, i, &result, compared ? &against : NULL) : status;
        sim_result_free(&result);
        sim_result_free(&against);
    }
    if (status == 0 && line->seeds > 1 && !line->quiet) {
        seeds_end(job);
    }
    return status;
}

int sim_runs(const struct sim_line *line)
{
    struct job job = {.line = line, .terminal = isatty(STDERR_FILENO) == 1};
    int status = SIM_WRONG_FILE;
    if (!sim_line_scenario(line, line->settings, line->setting_count, &job.scenario)) {
        return status;
    }
    bool good = line->baseline_count == 0 ||
                sim_line_scenario(line, line->baseline, line->baseline_count, &job.baseline);
    if (good && line->json != NULL) {
        job.json = sim_tell_open(line->json);
        good = job.json != NULL;
    }
    if (good && line->events != NULL) {
        job.events = sim_tell_open(line->events);
        good = job.events != NULL;
    }
    job.slowdowns = calloc(job.scenario.stream_count, sizeof *job.slowdowns);
    if (good) {
        status =
            job.slowdowns != NULL ? runs_all(&job) : sim_tell_wrong(SIM_WRONG_FILE, "no memory");
    }
    free(job.slowdowns);
    if (job.events != NULL && job.events != stdout) {
        status = sim_tell_written(job.events, line->events, status);
    }
    if (job.json != NULL && job.json != stdout) {
        status = sim_tell_written(job.json, line->json, status);
    }
    sim_scenario_free(&job.scenario);
    sim_scenario_free(&job.baseline);
    return sim_tell_written(stdout, "to standard output", status);
}
