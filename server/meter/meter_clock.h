/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a context's events on the clock of this machine. A driver tells only how much time is
 * between two events, and less exactly the longer that is (a float of milliseconds): so the event
 * from which others are measured, the base, follows them. */
#ifndef SERVER_METER_METER_CLOCK_H
#define SERVER_METER_METER_CLOCK_H

#include <stdint.h>

#include "api/cuda_names.h"
#include "server/app/meter_state.h"

struct cuda_driver;

/* Starts it. The context is current and has nothing to do yet: it is waited for. */
CUresult meter_clock_start(struct meter_clock *clock, const struct cuda_driver *driver);
/* Ends it, if it runs; its context is current. */
void meter_clock_end(struct meter_clock *clock, const struct cuda_driver *driver);
/* When the event was done, by this clock. It may change places with the base, which is as good to
 * record again. CUDA_ERROR_NOT_READY: it is not. */
CUresult meter_clock_read(struct meter_clock *clock, const struct cuda_driver *driver,
                          CUevent *event, uint64_t *ns);
/* An event that was done at `ns` by this clock has been seen by `now_ns`, and perhaps long before:
 * corrects the shift. The clocks of a GPU and of the machine do not run equally fast. */
void meter_clock_seen(struct meter_clock *clock, uint64_t ns, uint64_t now_ns);

#endif
