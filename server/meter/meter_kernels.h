/* SPDX-License-Identifier: Apache-2.0 */
/* The limit kernel-time where the driver cannot stop a kernel: the meter's batches tell when one
 * has run too long. Nobody sees which kernel of a batch runs, only that the batch is not done; but
 * when N kernels together run for longer than N times the limit, one of them has exceeded it, and
 * until then none need have. The kernels of a batch are therefore few: one, unless the batches
 * before it in its stream took next to no time of the limit; then up to METER_KERNELS_MAX.
 *
 * Note: a batch counts from the first look that finds it closed and running. Before it is closed it
 * may have been idle, for all that its events say. */
#ifndef SERVER_METER_METER_KERNELS_H
#define SERVER_METER_METER_KERNELS_H

#include "server/figures.h"
#include "server/meter/meter.h"

#define METER_DOUBLINGS   5u
#define METER_KERNELS_MAX (1u << METER_DOUBLINGS)

/* Kernels may run for so long; 0: for ever. One that runs longer ends the connection
 * (server_kernel_over). */
void meter_limit_kernels(struct meter *meter, uint64_t ns);
/* The work that is being submitted is so many kernels more than one. */
void meter_kernels_more(struct meter *meter, uint64_t more);

/* ---- for the meter */

static inline bool meter_kernels_count(const struct meter *meter, enum gpu_engine engine)
{
    return meter->kernel_ns != 0 && engine == GPU_COMPUTE;
}
/* How many the next batch may have. */
static inline uint64_t meter_kernels_most(const struct meter_lane *lane)
{
    return UINT64_C(1) << lane->doublings;
}
/* The batch took so long. */
void meter_kernels_learn(const struct meter *meter, const struct meter_batch *batch,
                         uint64_t took_ns);
/* For a batch that is not done: whether one of its kernels has run for longer than it may. */
bool meter_kernels_over(const struct meter *meter, struct meter_batch *batch, uint64_t now_ns);

#endif
