/* SPDX-License-Identifier: Apache-2.0 */
/* The signal mask is set around the creation, because a thread inherits it from its creator. */
#include "base/thread.h"

#include <signal.h>

enum ga_status ga_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    pthread_t made;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&made, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        return GA_NO_MEMORY;
    }
    if (thread != NULL) {
        *thread = made;
    } else {
        pthread_detach(made);
    }
    return GA_OK;
}
