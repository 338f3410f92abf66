/* SPDX-License-Identifier: Apache-2.0 */
/* The command `gpuaas-sim`. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/nearest.h"
#include "sim/key.h"
#include "sim/output.h"

#define MAIN_WRONG_FILE 1 /* exit statuses */
#define MAIN_WRONG_LINE 2
#define SETTINGS_MAX    256u
#define SEEDS_MAX       1000000u
#define GANTT_COLUMNS   100

struct line { /* the command line */
    const char *command, *file;
    const char *settings[SETTINGS_MAX], *baseline[2 * SETTINGS_MAX]; /* of both, then its own */
    size_t setting_count, baseline_count;
    const char *json, *svg, *out;
    uint64_t seed, seeds, from_ns, to_ns;
    bool gantt, completions, quiet;
};

struct job { /* a run */
    const struct line *line;
    struct sim_scenario scenario, baseline;
    FILE *json;
    uint64_t shown_s; /* second of the last progress line */
    bool terminal;
    double sums[4];         /* of metrics, over seeds */
    double (*slowdowns)[2]; /* of each stream, over seeds: their sum, and that of their squares */
};

static int main_wrong(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int main_wrong(int status, const char *format, ...)
{
    va_list args;
    fputs("gpuaas-sim: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

static void main_complain(void *user, const char *text)
{
    (void)user;
    fprintf(stderr, "gpuaas-sim: %s\n", text);
}

/* A full disk must not look like an answer. */
static int written(FILE *out, const char *name, int status)
{
    bool bad = fflush(out) != 0 || ferror(out);
    int error = errno;
    if (out != stdout) {
        bad |= fclose(out) != 0;
    }
    return bad ? main_wrong(MAIN_WRONG_FILE, "cannot write %s: %s", name, strerror(error)) : status;
}

static FILE *out_open(const char *name)
{
    FILE *out = strcmp(name, "-") == 0 ? stdout : fopen(name, "we");
    if (out == NULL) {
        (void)main_wrong(MAIN_WRONG_FILE, "cannot write %s: %s", name, strerror(errno));
    }
    return out;
}

/* ---- run */

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

static int main_run_one(struct job *job, const struct sim_scenario *scenario, uint64_t seed,
                        bool pictures, struct sim_result *result)
{
    char why[SIM_PATH_BYTES + 400] = "";
    const struct line *line = job->line;
    const bool spans = pictures && (line->gantt || line->svg != NULL);
    const struct sim_options options = {.seed = seed,
                                        .spans_from_ns = spans ? line->from_ns : 0,
                                        .spans_to_ns = spans ? line->to_ns : 0,
                                        .progress = progress,
                                        .user = job};
    enum ga_status status = sim_run(scenario, &options, result, why, sizeof why);
    if (job->shown_s != 0) {
        fputs("\r\033[K", stderr);
    }
    return status == GA_OK ? 0 : main_wrong(MAIN_WRONG_FILE, "%s", *why != 0 ? why : "no memory");
}

static uint64_t picture_end(const struct line *line, const struct sim_result *result)
{
    return line->to_ns < result->end_ns ? line->to_ns : result->end_ns;
}

static int svg_write(const struct job *job, const struct sim_result *result)
{
    FILE *out = out_open(job->line->svg);
    if (out == NULL) {
        return MAIN_WRONG_FILE;
    }
    sim_picture_svg(out, &job->scenario, result, job->line->from_ns,
                    picture_end(job->line, result));
    return written(out, job->line->svg, 0);
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

static int main_output_write(struct job *job, uint64_t number, const struct sim_result *result,
                             const struct sim_result *against)
{
    const struct line *line = job->line;
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

static int runs(struct job *job)
{
    const struct line *line = job->line;
    int status = 0;
    if (line->seeds > 1 && !line->quiet) {
        printf("%13s %12s %12s %12s %12s\n", "", "WS", "ANTT", "Jain slow", "S");
    }
    for (uint64_t i = 0; status == 0 && i < line->seeds; i++) {
        struct sim_result result = {.seed = 0}, against = {.seed = 0};
        const bool compared = line->baseline_count != 0;
        status = compared ? main_run_one(job, &job->baseline, line->seed + i, false, &against) : 0;
        status =
            status == 0 ? main_run_one(job, &job->scenario, line->seed + i, true, &result) : status;
        status =
            status == 0 ? main_output_write(job, i, &result, compared ? &against : NULL) : status;
        sim_result_free(&result);
        sim_result_free(&against);
    }
    if (status == 0 && line->seeds > 1 && !line->quiet) {
        seeds_end(job);
    }
    return status;
}

static bool scenario_read(const struct line *line, const char *const *settings, size_t count,
                          struct sim_scenario *scenario)
{
    const struct sim_settings given = {settings, count};
    return sim_scenario_read_file(line->file, &given, scenario, main_complain, NULL) == GA_OK;
}

static int command_run(const struct line *line)
{
    struct job job = {.line = line, .terminal = isatty(STDERR_FILENO) == 1};
    int status = MAIN_WRONG_FILE;
    if (!scenario_read(line, line->settings, line->setting_count, &job.scenario)) {
        return status;
    }
    bool good = line->baseline_count == 0 ||
                scenario_read(line, line->baseline, line->baseline_count, &job.baseline);
    if (good && line->json != NULL) {
        job.json = out_open(line->json);
        good = job.json != NULL;
    }
    job.slowdowns = calloc(job.scenario.stream_count, sizeof *job.slowdowns);
    if (good) {
        status = job.slowdowns != NULL ? runs(&job) : main_wrong(MAIN_WRONG_FILE, "no memory");
    }
    free(job.slowdowns);
    if (job.json != NULL && job.json != stdout) {
        status = written(job.json, line->json, status);
    }
    sim_scenario_free(&job.scenario);
    sim_scenario_free(&job.baseline);
    return written(stdout, "to standard output", status);
}

/* ---- the other commands */

static int command_check(const struct line *line)
{
    struct sim_scenario scenario;
    if (!scenario_read(line, line->settings, line->setting_count, &scenario)) {
        return MAIN_WRONG_FILE;
    }
    printf("%s: no mistakes\n", line->file);
    sim_scenario_free(&scenario);
    return written(stdout, "to standard output", 0);
}

static int command_trace(const struct line *line)
{
    struct sim_scenario scenario;
    struct sim_trace trace;
    char why[SIM_PATH_BYTES + 400] = "";
    if (!scenario_read(line, line->settings, line->setting_count, &scenario)) {
        return MAIN_WRONG_FILE;
    }
    int result = MAIN_WRONG_FILE;
    if (sim_draw_trace(&scenario, line->seed, &trace, why, sizeof why) == GA_OK) {
        const char *name = line->out != NULL ? line->out : "-";
        FILE *out = out_open(name);
        if (out != NULL) {
            sim_trace_write(out, &trace);
            result = written(out, name, 0);
        }
        sim_trace_free(&trace);
    } else {
        (void)main_wrong(MAIN_WRONG_FILE, "%s", *why != 0 ? why : "no memory");
    }
    sim_scenario_free(&scenario);
    return result;
}

static int command_keys(const struct line *line)
{
    (void)line;
    sim_keys_write(stdout);
    return written(stdout, "to standard output", 0);
}

static int command_policies(const struct line *line)
{
    (void)line;
    for (size_t i = 0; sched_policy_at(i) != NULL; i++) {
        printf("%-14s %s\n", sched_policy_name(sched_policy_at(i)),
               sched_policy_summary(sched_policy_at(i)));
    }
    return written(stdout, "to standard output", 0);
}

/* ---- the command line */

static const struct {
    const char *name, *file, *summary;
    int (*run)(const struct line *line);
} commands[] = {
    {"run", "SCENARIO", "simulate, and print what came out", command_run},
    {"check", "SCENARIO", "read a scenario, and say what is wrong with it", command_check},
    {"trace", "SCENARIO", "write its requests as a trace (docs/simulator.md)", command_trace},
    {"keys", "", "list the keys of a scenario", command_keys},
    {"policies", "", "list the policies", command_policies},
};
#define COMMANDS (sizeof commands / sizeof commands[0])

enum option_code {
    OPTION_SET = 1,
    OPTION_AGAINST,
    OPTION_SEED,
    OPTION_SEEDS,
    OPTION_JSON,
    OPTION_COMPLETIONS,
    OPTION_GANTT,
    OPTION_SVG,
    OPTION_FROM,
    OPTION_TO,
    OPTION_OUT,
    OPTION_QUIET,
    OPTION_HELP,
    OPTION_VERSION,
};

static const struct option options[] = {
    {"set", required_argument, NULL, OPTION_SET},
    {"against", required_argument, NULL, OPTION_AGAINST},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"seeds", required_argument, NULL, OPTION_SEEDS},
    {"json", required_argument, NULL, OPTION_JSON},
    {"completions", no_argument, NULL, OPTION_COMPLETIONS},
    {"gantt", no_argument, NULL, OPTION_GANTT},
    {"svg", required_argument, NULL, OPTION_SVG},
    {"from", required_argument, NULL, OPTION_FROM},
    {"to", required_argument, NULL, OPTION_TO},
    {"out", required_argument, NULL, OPTION_OUT},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static int main_usage(FILE *out, int status)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "%s gpuaas-sim %-8s %-8s  %s\n", i == 0 ? "usage:" : "      ",
                commands[i].name, commands[i].file, commands[i].summary);
    }
    fputs("\n"
          "  --set SECTION.KEY=VALUE      goes before what the scenario says; may be repeated\n"
          "  --seed N                     of all that is random (1)\n"
          "run:\n"
          "  --seeds N                    so many runs, from the seed on; a line for each\n"
          "  --against SECTION.KEY=VALUE  the baseline: the same run but for this; may be\n"
          "                               repeated. Tells the speedup S of each stream\n"
          "  --json FILE                  results for programs (-: standard output)\n"
          "  --completions                in JSON, every completion time\n"
          "  --gantt                      what each engine did when, as text\n"
          "  --svg FILE                   the same, and its use over the run, as a picture\n"
          "  --from TIME, --to TIME       the time that pictures show (0s, 10s)\n"
          "  --quiet                      no table\n"
          "trace:\n"
          "  --out FILE                   (-: standard output)\n"
          "\n"
          "Exit status: 0; 1 if a file is wrong or cannot be written; 2 if the command line is\n"
          "wrong. The same scenario and seed give the same output, byte for byte.\n",
          out);
    return status;
}

static bool line_number(const char *option, const char *text, uint64_t least, uint64_t most,
                        uint64_t *number)
{
    const char *end;
    uint64_t read;
    if (!ga_digits_read(text, &end, &read) || *end != 0 || read < least || read > most) {
        (void)main_wrong(0, "--%s: \"%s\" is not allowed; allowed: %" PRIu64 " to %" PRIu64, option,
                         text, least, most);
        return false;
    }
    *number = read;
    return true;
}

static bool line_time(const char *option, const char *text, uint64_t *ns)
{
    if (!ga_time_read(text, ns) || *ns > SIM_TRACE_NS_MAX) {
        (void)main_wrong(0, "--%s: \"%s\" is not allowed; allowed: " GA_TIME_FORM, option, text);
        return false;
    }
    return true;
}

static bool main_option_take(struct line *line, int code)
{
    switch ((enum option_code)code) {
    case OPTION_SET:
    case OPTION_AGAINST:
        if (line->setting_count == SETTINGS_MAX || line->baseline_count == SETTINGS_MAX) {
            (void)main_wrong(0, "more than %u settings", SETTINGS_MAX);
            return false;
        }
        if (code == OPTION_SET) {
            line->settings[line->setting_count++] = optarg;
        } else {
            line->baseline[line->baseline_count++] = optarg;
        }
        return true;
    case OPTION_SEED:
        return line_number("seed", optarg, 0, UINT64_MAX / 2, &line->seed);
    case OPTION_SEEDS:
        return line_number("seeds", optarg, 1, SEEDS_MAX, &line->seeds);
    case OPTION_FROM:
        return line_time("from", optarg, &line->from_ns);
    case OPTION_TO:
        return line_time("to", optarg, &line->to_ns);
    case OPTION_JSON:
        line->json = optarg;
        return true;
    case OPTION_SVG:
        line->svg = optarg;
        return true;
    case OPTION_OUT:
        line->out = optarg;
        return true;
    case OPTION_COMPLETIONS:
        line->completions = true;
        return true;
    case OPTION_GANTT:
        line->gantt = true;
        return true;
    case OPTION_QUIET:
        line->quiet = true;
        return true;
    case OPTION_HELP:
    case OPTION_VERSION:
        break;
    }
    return false;
}

static int command_unknown(const char *name)
{
    struct ga_nearest nearest = ga_nearest_to(name, strlen(name));
    for (size_t i = 0; i < COMMANDS; i++) {
        ga_nearest_offer(&nearest, commands[i].name);
    }
    return main_wrong(MAIN_WRONG_LINE, "there is no command \"%s\"%s%s (gpuaas-sim --help)", name,
                      nearest.word != NULL ? ", did you mean " : "",
                      nearest.word != NULL ? nearest.word : "");
}

static int command_call(struct line *line, int argc, char **argv)
{
    size_t i = 0;
    while (i < COMMANDS && strcmp(commands[i].name, argv[optind]) != 0) {
        i++;
    }
    if (i == COMMANDS) {
        return command_unknown(argv[optind]);
    }
    const int files = *commands[i].file != 0 ? 1 : 0;
    if (argc - optind - 1 != files) {
        return main_wrong(MAIN_WRONG_LINE, "%s takes %s", commands[i].name,
                          files != 0 ? "one SCENARIO" : "no file");
    }
    if (line->from_ns >= line->to_ns) {
        return main_wrong(MAIN_WRONG_LINE, "--to must be later than --from");
    }
    if (line->seeds > 1 && (line->svg != NULL || line->gantt)) {
        return main_wrong(MAIN_WRONG_LINE, "pictures are of one run; allowed: --seeds 1");
    }
    line->file = files != 0 ? argv[optind + 1] : NULL;
    /* The baseline has the settings of the run, and then its own. */
    if (line->baseline_count != 0) {
        memmove(line->baseline + line->setting_count, line->baseline,
                line->baseline_count * sizeof *line->baseline);
        memcpy(line->baseline, line->settings, line->setting_count * sizeof *line->settings);
        line->baseline_count += line->setting_count;
    }
    return commands[i].run(line);
}

int main(int argc, char **argv)
{
    static struct line line = {.seed = 1, .seeds = 1, .to_ns = UINT64_C(10000000000)};
    for (int code; (code = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (code == OPTION_HELP || code == 'h') {
            return written(stdout, "to standard output", main_usage(stdout, 0));
        }
        if (code == OPTION_VERSION) {
            puts("gpuaas-sim " GPUAAS_VERSION);
            return written(stdout, "to standard output", 0);
        }
        if (code == '?' || !main_option_take(&line, code)) {
            return MAIN_WRONG_LINE;
        }
    }
    return optind == argc ? main_usage(stderr, MAIN_WRONG_LINE) : command_call(&line, argc, argv);
}
