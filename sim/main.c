/* SPDX-License-Identifier: Apache-2.0 */
/* The command `gpuaas-sim`. */
#include <string.h>

#include "base/nearest.h"
#include "sim/key.h"
#include "sim/runs.h"
#include "sim/sim.h"
#include "sim/tell.h"

static int command_check(const struct sim_line *line)
{
    struct sim_scenario scenario;
    if (!sim_line_scenario(line, line->settings, line->setting_count, &scenario)) {
        return SIM_WRONG_FILE;
    }
    printf("%s: no mistakes\n", line->file);
    sim_scenario_free(&scenario);
    return sim_tell_written(stdout, "to standard output", 0);
}

static int command_trace(const struct sim_line *line)
{
    struct sim_scenario scenario;
    struct sim_trace trace;
    char why[SIM_PATH_BYTES + 400] = "";
    if (!sim_line_scenario(line, line->settings, line->setting_count, &scenario)) {
        return SIM_WRONG_FILE;
    }
    int result = SIM_WRONG_FILE;
    if (sim_draw_trace(&scenario, line->seed, &trace, why, sizeof why) == GA_OK) {
        const char *name = line->out != NULL ? line->out : "-";
        FILE *out = sim_tell_open(name);
        if (out != NULL) {
            sim_trace_write(out, &trace);
            result = sim_tell_written(out, name, 0);
        }
        sim_trace_free(&trace);
    } else {
        (void)sim_tell_wrong(SIM_WRONG_FILE, "%s", *why != 0 ? why : "no memory");
    }
    sim_scenario_free(&scenario);
    return result;
}

static int command_keys(const struct sim_line *line)
{
    (void)line;
    sim_keys_write(stdout);
    return sim_tell_written(stdout, "to standard output", 0);
}

static int command_policies(const struct sim_line *line)
{
    (void)line;
    for (size_t i = 0; sched_policy_at(i) != NULL; i++) {
        printf("%-14s %s\n", sched_policy_name(sched_policy_at(i)),
               sched_policy_summary(sched_policy_at(i)));
    }
    return sim_tell_written(stdout, "to standard output", 0);
}

/* For docs/scheduling.md, of the tables of sched/. */
static int command_tables(const struct sim_line *line)
{
    char text[300];
    const struct sched_policy *policy;
    const struct sched_setting *setting;
    (void)line;
    puts("| policy | is | uses |\n|---|---|---|");
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        sched_policy_used(policy, text, sizeof text);
        printf("| `%s` | %s | %s |\n", sched_policy_name(policy), sched_policy_summary(policy),
               text);
    }
    puts("\n| key | default | allowed | of |\n|---|---|---|---|");
    for (size_t i = 0; (setting = sched_setting_at(i)) != NULL; i++) {
        snprintf(text, sizeof text, "all");
        if (setting->of == SCHED_OF_POLICY) {
            sched_policies_using(setting->name, text, sizeof text);
        }
        printf("| `%s` | %s | %.*s | %s |\n", setting->name, setting->standard,
               (int)strcspn(setting->allowed, ":"), setting->allowed, text);
    }
    return sim_tell_written(stdout, "to standard output", 0);
}

static const struct {
    const char *name, *file, *summary;
    int (*run)(const struct sim_line *line);
} commands[] = {
    {"run", "SCENARIO", "simulate, and print what came out", sim_runs},
    {"check", "SCENARIO", "read a scenario, and say what is wrong with it", command_check},
    {"trace", "SCENARIO", "write its requests as a trace (docs/simulator.md)", command_trace},
    {"keys", "", "list the keys of a scenario", command_keys},
    {"policies", "", "list the policies", command_policies},
    {"tables", "", "write the tables of docs/scheduling.md", command_tables},
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static int main_usage(FILE *out, int status)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "%s gpuaas-sim %-8s %-8s  %s\n", i == 0 ? "usage:" : "      ",
                commands[i].name, commands[i].file, commands[i].summary);
    }
    fprintf(out,
            "\n%s\n"
            "Exit status: 0; 1 if a file is wrong or cannot be written; 2 if the command line is\n"
            "wrong. The same scenario and seed give the same output, byte for byte.\n",
            sim_line_options);
    return status;
}

static int command_unknown(const char *name)
{
    struct ga_nearest nearest = ga_nearest_to(name, strlen(name));
    for (size_t i = 0; i < COMMANDS; i++) {
        ga_nearest_offer(&nearest, commands[i].name);
    }
    return sim_tell_wrong(SIM_WRONG_LINE, "there is no command \"%s\"%s%s (gpuaas-sim --help)",
                          name, nearest.word != NULL ? ", did you mean " : "",
                          nearest.word != NULL ? nearest.word : "");
}

static int command_call(struct sim_line *line, const char *name, int count, char **arguments)
{
    size_t i = 0;
    while (i < COMMANDS && strcmp(commands[i].name, name) != 0) {
        i++;
    }
    if (i == COMMANDS) {
        return command_unknown(name);
    }
    const int files = *commands[i].file != 0 ? 1 : 0;
    if (count != files) {
        return sim_tell_wrong(SIM_WRONG_LINE, "%s takes %s", commands[i].name,
                              files != 0 ? "one SCENARIO" : "no file");
    }
    line->file = files != 0 ? arguments[0] : NULL;
    return sim_line_finish(line) ? commands[i].run(line) : SIM_WRONG_LINE;
}

int main(int argc, char **argv)
{
    static struct sim_line line = {.seed = 1, .seeds = 1, .to_ns = UINT64_C(10000000000)};
    int rest = argc;
    switch (sim_line_read(&line, argc, argv, &rest)) {
    case SIM_LINE_WRONG:
        return SIM_WRONG_LINE;
    case SIM_LINE_HELP:
        return sim_tell_written(stdout, "to standard output", main_usage(stdout, 0));
    case SIM_LINE_VERSION:
        puts("gpuaas-sim " GPUAAS_VERSION);
        return sim_tell_written(stdout, "to standard output", 0);
    case SIM_LINE_GOOD:
        break;
    }
    return rest == argc ? main_usage(stderr, SIM_WRONG_LINE)
                        : command_call(&line, argv[rest], argc - rest - 1, argv + rest + 1);
}
