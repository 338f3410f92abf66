/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks the cancellation of a thread of the program from `off` until `back`. */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <pthread.h>

static inline int ga_cancel_off(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void ga_cancel_back(int before)
{
    pthread_setcancelstate(before, NULL);
}

#endif
