/* SPDX-License-Identifier: Apache-2.0 */
/* The request monitor (RMO; Strings, SC14, III-C): what an application does on each GPU, besides
 * the time that the meter measures: its phase, its copies, the shapes of its launches, and how much
 * of the GPU these fill. gpuaasd reads it in the figures.
 *
 * The demand is that of DCUDA (SoCC19, 3.2): of each kernel min(1, warps of it that are resident /
 * warps that have a place) times its run time. Here the time is that of batches, whose share is the
 * largest of their works (meter.h); and time while others use the GPU counts as if nobody did:
 * gpuaasd knows that others do (usage/gpu_times.h). Work without a shape (graphs, fills) counts
 * whole.
 *
 * Each launch is looked at: by a mean over launches, or by some of them, whoever knows which could
 * make the GPU look empty with launches that do nothing. The table of shapes keeps the most
 * frequent ones (Space-Saving; Metwally, Agrawal, El Abbadi, ICDT05): a new shape takes the place
 * of the least frequent one and its count, so a count may be too high by that, and a shape with
 * more than 1 / FIGURES_SHAPES of all is always there.
 *
 * Submit thread only. A launch of the shape of the one before costs some comparisons; one of
 * another shape, a question to the driver. */
#ifndef SERVER_METER_MONITOR_H
#define SERVER_METER_MONITOR_H

#include <stdint.h>

#include "server/app/meter_state.h"

struct ga_launch_args;
struct server_app;
struct server_function;

/* Its row has all launches of the last shape. */
void monitor_settle(struct monitor *monitor);
/* Settles, and the next launch is looked at: the function has other attributes from now on, or
 * will be another one at the same address. */
void monitor_forget(struct monitor *monitor);
/* For the launch, whose kernel's context is current: the share of the GPU that it fills, in
 * millionths. */
uint32_t monitor_launch(struct server_app *app, const struct server_function *function,
                        const struct ga_launch_args *args);

#endif
