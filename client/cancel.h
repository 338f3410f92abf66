/* Waits and system calls of ours are no cancellation points: a thread that is cancelled inside
 * would leave locks behind. */
#ifndef CLIENT_CANCEL_H
#define CLIENT_CANCEL_H

#include <pthread.h>

static inline int client_cancel_off(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void client_cancel_back(int before)
{
    pthread_setcancelstate(before, NULL);
}

#endif
