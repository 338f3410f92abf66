/* SPDX-License-Identifier: Apache-2.0 */
/* Results for people and programs. `against` is the result of the baseline, with the same seed;
 * NULL: there is none. */
#ifndef SIM_OUTPUT_H
#define SIM_OUTPUT_H

#include "sim/sim.h"

/* S of one stream: mean completion time under the baseline by that of this run; 0: nothing was
 * counted. */
double sim_output_speedup(const struct sim_stream_result *against,
                          const struct sim_stream_result *stream);

/* The mean of S over the streams. */
double sim_output_speedup_mean(const struct sim_result *result, const struct sim_result *against);

void sim_output_table(FILE *out, const struct sim_result *result, const struct sim_result *against);
/* An object (docs/simulator.md); `completions`: with every completion time. */
void sim_output_json(FILE *out, const struct sim_scenario *scenario,
                     const struct sim_result *result, const struct sim_result *against,
                     bool completions);

/* Draws what each engine of each GPU did between two times, as text of so many columns. */
void sim_picture_text(FILE *out, const struct sim_result *result, uint64_t from_ns, uint64_t to_ns,
                      uint32_t columns);
/* As sim_picture_text, as SVG, and how much each engine was used over the whole run. */
void sim_picture_svg(FILE *out, const struct sim_scenario *scenario,
                     const struct sim_result *result, uint64_t from_ns, uint64_t to_ns);

extern const char *const sim_engine_names[GPU_ENGINES]; /* by enum gpu_engine */

#endif
