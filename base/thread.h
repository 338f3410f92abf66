/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of ours in processes that are not: signals are the application's business, its handlers
 * never run on our threads. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include "base/status.h"

/* Starts it with all signals blocked. `thread` NULL: detached. GA_NO_MEMORY: there can be no more.
 */
GA_CHECKED enum ga_status ga_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
