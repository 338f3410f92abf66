/* SPDX-License-Identifier: Apache-2.0 */
/* A fake host with two devices whose contexts are numbers, for the tests of front/. */
#ifndef FRONT_TESTS_FAKE_HOST_H
#define FRONT_TESTS_FAKE_HOST_H

#include "front/front.h"

/* Contexts 0x1000 + device are primary; 0x2000 and 0x3000 explicit ones of device 1. */
#define FAKE_PRIMARY(device) ((CUcontext)(uintptr_t)(0x1000 + (device)))
#define FAKE_EXPLICIT        ((CUcontext)0x2000)
#define FAKE_OTHER           ((CUcontext)0x3000)
#define FAKE_DEAD            ((CUcontext)0x4000)
#define FAKE_NONSENSE        ((CUcontext)0x5000)

/* Streams 0 to 15 of FAKE_EXPLICIT, of which those from 8 on are not blocking, and the same of
 * FAKE_OTHER from 16 on; events likewise, without a difference at 8. */
#define FAKE_STREAM(number) ((CUstream)(uintptr_t)(0x60000 + (number)))
#define FAKE_EVENT(number)  ((CUevent)(uintptr_t)(0x61000 + (number)))

extern int fake_init_failures; /* the number of init calls that fail */
extern int fake_init_calls;

extern struct front_value fake_values[256]; /* of the last call of stream_values */
extern unsigned fake_value_count;
extern struct front_host_call fake_host_call; /* the last one */

/* The only function there is. */
#define FAKE_FUNCTION ((CUfunction)(uintptr_t)0x700)
/* The plan that was instantiated last; the number of exec_set calls, and the last one's node;
 * live conditions. */
extern const struct front_plan *fake_plan;
extern unsigned fake_sets, fake_set_number;
extern int fake_conditions;
extern uint64_t fake_condition_graph; /* of the last one */
/* Bytes that pools have mapped, and their limit; marks made, marks passed, marks that asking
 * finds passed, and waits for a mark. */
extern uint64_t fake_pool_bytes, fake_pool_most;
extern uintptr_t fake_pool_marks, fake_pool_passed, fake_pool_askable;
extern unsigned fake_pool_waits;

#endif
