/* SPDX-License-Identifier: Apache-2.0 */
/* Unsupported functions name themselves once each, so a program that fails with 801 tells which
 * function it lacked. */
#include "front/core/unsupported.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

#define NAMED_MAX 1024 /* more than there are exported symbols */

static pthread_mutex_t named_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *named[NAMED_MAX];
static size_t named_count;

/* Compares pointers: names are string constants of one table. */
static bool first_time(const char *name)
{
    bool first = true;
    pthread_mutex_lock(&named_lock);
    for (size_t i = 0; i < named_count && first; i++) {
        first = named[i] != name;
    }
    if (first && named_count < NAMED_MAX) {
        named[named_count++] = name;
    }
    pthread_mutex_unlock(&named_lock);
    return first;
}

CUresult front_unsupported(const char *name)
{
    if (first_time(name)) {
        ga_log_write(NULL, GA_LOG_WARN, NULL, "%s is not supported", name);
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}
