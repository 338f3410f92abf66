/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the GPU the batches of kernels fill (meter.h): a batch as much as the largest of its
 * works. Where another share begins it ends, but an end costs two events: it is paid for with
 * works, of which some are saved. A program that changes between kernels more often has batches of
 * both. */
#ifndef SERVER_METER_METER_SHARE_H
#define SERVER_METER_METER_SHARE_H

#include "server/meter/meter.h"

#define METER_SPLITS_SAVED 256u

struct meter_batch;

/* Whether the open batch had better end before a work of this share; it is paid for then. */
bool meter_share_splits(struct meter *meter, const struct meter_batch *batch, uint32_t share);
/* A work of this share is of the batch, and so are others without another look. */
void meter_share_take(struct meter *meter, struct meter_batch *batch, uint32_t share);
/* The batch has ended. */
void meter_share_closed(struct meter *meter, const struct meter_batch *batch);

#endif
