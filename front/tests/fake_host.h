/* A library of two devices whose contexts are numbers, for the tests of front/. */
#ifndef FRONT_TESTS_FAKE_HOST_H
#define FRONT_TESTS_FAKE_HOST_H

#include "front/front.h"

/* Contexts 0x1000 + device are primary; 0x2000 and 0x3000 explicit ones of device 1. */
#define FAKE_PRIMARY(device) ((CUcontext)(uintptr_t)(0x1000 + (device)))
#define FAKE_EXPLICIT        ((CUcontext)0x2000)
#define FAKE_OTHER           ((CUcontext)0x3000)
#define FAKE_DEAD            ((CUcontext)0x4000)
#define FAKE_NONSENSE        ((CUcontext)0x5000)

extern int fake_init_failures; /* so many calls of init fail */
extern int fake_init_calls;

extern struct front_value fake_values[256]; /* of the last call of stream_values */
extern unsigned fake_value_count;
extern struct front_host_call fake_host_call; /* the last one */

#endif
