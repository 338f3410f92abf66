/* SPDX-License-Identifier: Apache-2.0 */
/* The request monitor (RMO; Strings, SC14, III-C): what an application does on each GPU, besides
 * the time that the meter measures: its phase, its copies, the shapes of its launches, and how much
 * of the GPU these fill. gpuaasd reads it in the figures.
 *
 * The demand is that of DCUDA (SoCC19, 3.2): of each kernel min(1, warps of it that are resident /
 * warps that have a place) times its run time. Here the time is that of batches (meter.h), and the
 * share the mean over the launches of a batch, so a batch of unequal kernels is about right only;
 * and time while others use the GPU counts as if nobody did: gpuaasd knows that others do
 * (control/gpu_times.h). Work without a shape (graphs, fills)
 * counts whole.
 *
 * Not each launch is looked at: the first one of a batch, and then one in 16 in the mean, at random
 * distances, so that loops of kernels are not mistaken. Those between two count as the first of
 * them. The table of shapes keeps the most frequent ones (Space-Saving; Metwally, Agrawal, El
 * Abbadi, ICDT05): a new shape takes the place of the least frequent one and its count, so a count
 * may be too high by that, and a shape with more than 1 / FIGURES_SHAPES of all is always there.
 *
 * Submit thread only. A launch that is not looked at costs a decrement and a comparison. */
#ifndef SERVER_SESSION_MONITOR_H
#define SERVER_SESSION_MONITOR_H

#include <stdint.h>

struct figures_shape;
struct ga_launch_args;
struct meter_gpu;
struct server_conn;
struct server_function;

struct monitor {
    uint32_t left, from; /* launches until the next look; the same behind the last settling */
    uint32_t random;
    struct meter_gpu *gpu;       /* of the last look; NULL: there was none */
    struct figures_shape *shape; /* that it has found */
};

void monitor_init(struct monitor *monitor);
/* Launches that were not looked at count as the last one that was. */
void monitor_settle(struct monitor *monitor);
/* The next launch is looked at. */
void monitor_wake(struct monitor *monitor);
/* For the launch, whose kernel's context is current. */
void monitor_look(struct server_conn *conn, const struct server_function *function,
                  const struct ga_launch_args *args);
static inline void monitor_launch(struct monitor *monitor, struct server_conn *conn,
                                  const struct server_function *function,
                                  const struct ga_launch_args *args)
{
    if (--monitor->left == 0) {
        monitor_look(conn, function, args);
    }
}

#endif
