/* SPDX-License-Identifier: Apache-2.0 */
/* The command `gpuaas-sim run`. */
#ifndef SIM_RUNS_H
#define SIM_RUNS_H

#include "sim/line.h"

/* Runs the scenario with each seed, and its baseline if there is one; writes what comes out. The
 * exit status. */
int sim_runs(const struct sim_line *line);

#endif
