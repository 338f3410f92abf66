/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/line.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "sim/tell.h"
#include "sim/trace.h"

#define SEEDS_MAX 1000000u

enum option_code {
    OPTION_SET = 1,
    OPTION_AGAINST,
    OPTION_SEED,
    OPTION_SEEDS,
    OPTION_JSON,
    OPTION_COMPLETIONS,
    OPTION_EVENTS,
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
    {"events", required_argument, NULL, OPTION_EVENTS},
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

const char sim_line_options[] =
    "  --set SECTION.KEY=VALUE      goes before what the scenario says; may be repeated\n"
    "  --seed N                     of all that is random (1)\n"
    "run:\n"
    "  --seeds N                    so many runs, from the seed on; a line for each\n"
    "  --against SECTION.KEY=VALUE  the baseline: the same run but for this; may be\n"
    "                               repeated. Tells the speedup S of each stream\n"
    "  --json FILE                  results for programs (-: standard output)\n"
    "  --completions                in JSON, every completion time\n"
    "  --events FILE                a line for each event (docs/simulator.md)\n"
    "  --gantt                      what each engine did when, as text\n"
    "  --svg FILE                   the same, and its use over the run, as a picture\n"
    "  --from TIME, --to TIME       the time that pictures show (0s, 10s)\n"
    "  --quiet                      no table\n"
    "trace:\n"
    "  --out FILE                   (-: standard output)\n";

static bool line_number(const char *option, const char *text, uint64_t least, uint64_t most,
                        uint64_t *number)
{
    const char *end;
    uint64_t read;
    if (!ga_digits_read(text, &end, &read) || *end != 0 || read < least || read > most) {
        (void)sim_tell_wrong(0, "--%s: \"%s\" is not allowed; allowed: %" PRIu64 " to %" PRIu64,
                             option, text, least, most);
        return false;
    }
    *number = read;
    return true;
}

static bool line_time(const char *option, const char *text, uint64_t *ns)
{
    if (!ga_time_read(text, ns) || *ns > SIM_TRACE_NS_MAX) {
        (void)sim_tell_wrong(0, "--%s: \"%s\" is not allowed; allowed: " GA_TIME_FORM, option,
                             text);
        return false;
    }
    return true;
}

static bool line_take(struct sim_line *line, int code)
{
    switch ((enum option_code)code) {
    case OPTION_SET:
    case OPTION_AGAINST:
        if (line->setting_count == SIM_LINE_SETTINGS_MAX ||
            line->baseline_count == SIM_LINE_SETTINGS_MAX) {
            (void)sim_tell_wrong(0, "more than %u settings", SIM_LINE_SETTINGS_MAX);
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
    case OPTION_EVENTS:
        line->events = optarg;
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

enum sim_line_found sim_line_read(struct sim_line *line, int argc, char **argv, int *rest)
{
    for (int code; (code = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (code == OPTION_HELP || code == 'h') {
            return SIM_LINE_HELP;
        }
        if (code == OPTION_VERSION) {
            return SIM_LINE_VERSION;
        }
        if (code == '?' || !line_take(line, code)) {
            return SIM_LINE_WRONG;
        }
    }
    *rest = optind;
    return SIM_LINE_GOOD;
}

bool sim_line_finish(struct sim_line *line)
{
    if (line->from_ns >= line->to_ns) {
        (void)sim_tell_wrong(0, "--to must be later than --from");
        return false;
    }
    if (line->seeds > 1 && (line->svg != NULL || line->gantt || line->events != NULL)) {
        (void)sim_tell_wrong(0, "pictures and events are of one run; allowed: --seeds 1");
        return false;
    }
    if (line->baseline_count != 0) {
        memmove(line->baseline + line->setting_count, line->baseline,
                line->baseline_count * sizeof *line->baseline);
        memcpy(line->baseline, line->settings, line->setting_count * sizeof *line->settings);
        line->baseline_count += line->setting_count;
    }
    return true;
}

static void line_complain(void *user, const char *text)
{
    (void)user;
    fprintf(stderr, "gpuaas-sim: %s\n", text);
}

bool sim_line_scenario(const struct sim_line *line, const char *const *settings, size_t count,
                       struct sim_scenario *scenario)
{
    const struct sim_settings given = {settings, count};
    return sim_scenario_read_file(line->file, &given, scenario, line_complain, NULL) == GA_OK;
}
