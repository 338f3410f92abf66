/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `gpuaas-sim`. */
#ifndef SIM_LINE_H
#define SIM_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/scenario.h"

#define SIM_LINE_SETTINGS_MAX 256u

struct sim_line {
    const char *command, *file;
    const char *settings[SIM_LINE_SETTINGS_MAX],
        *baseline[2 * SIM_LINE_SETTINGS_MAX]; /* of both, then its own */
    size_t setting_count, baseline_count;
    const char *json, *svg, *events, *out;
    uint64_t seed, seeds, from_ns, to_ns;
    bool gantt, completions, quiet;
};

enum sim_line_found { SIM_LINE_GOOD, SIM_LINE_WRONG, SIM_LINE_HELP, SIM_LINE_VERSION };
/* Takes the options; *rest is the first argument behind them. SIM_LINE_WRONG: it has been said what
 * is wrong. */
enum sim_line_found sim_line_read(struct sim_line *line, int argc, char **argv, int *rest);
/* Whether the options fit each other; says what does not. The baseline gets the settings of the run
 * before its own. */
bool sim_line_finish(struct sim_line *line);
/* The options, for people. */
extern const char sim_line_options[];
/* Reads the scenario of the line with these settings before what it says; says what is wrong. */
bool sim_line_scenario(const struct sim_line *line, const char *const *settings, size_t count,
                       struct sim_scenario *scenario);

#endif
