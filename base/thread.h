/* SPDX-License-Identifier: Apache-2.0 */
/* Our threads in other people's processes. Signals are the application's business, so its
 * handlers never run on our threads. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include "base/status.h"

/* Starts a thread with all signals blocked. `thread` NULL: detached. GA_NO_MEMORY: no more
 * threads are possible. */
GA_CHECKED enum ga_status ga_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
