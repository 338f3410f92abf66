/* SPDX-License-Identifier: Apache-2.0 */
/* The table of green contexts. */
#include "front/green/green.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/handle_table.h"
#include "front/front.h"

#define GREENS_MAX 65536u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_handle_table table;

static struct front_green *green_entry_find(CUcontext handle)
{
    return ga_handle_table_find(&table, (uint64_t)(uintptr_t)handle);
}

bool front_green_find(CUcontext handle, struct front_green *green)
{
    pthread_mutex_lock(&lock);
    const struct front_green *found = green_entry_find(handle);
    bool usable = found != NULL && !found->lost;
    if (usable) {
        *green = *found;
    }
    pthread_mutex_unlock(&lock);
    return usable;
}

bool front_green_context(CUcontext handle, struct front_green *green)
{
    return front_green_find(handle, green) && green->context;
}

void front_green_convert(CUcontext handle)
{
    pthread_mutex_lock(&lock);
    struct front_green *found = green_entry_find(handle);
    if (found != NULL) {
        found->context = true;
    }
    pthread_mutex_unlock(&lock);
}

bool front_green_current(struct front_green *green)
{
    CUcontext current = front_context_current();
    return front_green_is(current) && front_green_context(current, green);
}

void front_green_lose(CUcontext primary)
{
    uint32_t index = 0;
    uint64_t handle;
    struct front_green *green;
    pthread_mutex_lock(&lock);
    while ((green = ga_handle_table_next(&table, &index, &handle)) != NULL) {
        green->lost = green->lost || green->primary == primary;
    }
    pthread_mutex_unlock(&lock);
}

CUresult front_green_enter(struct front_green *green)
{
    static unsigned long long ids;
    pthread_mutex_lock(&lock);
    if (table.limit == 0) {
        ga_handle_table_init(&table, GA_HANDLE_GREEN, GREENS_MAX);
    }
    CUresult rc = ga_handle_table_make(&table, green, &green->handle) == GA_OK
                      ? CUDA_SUCCESS
                      : CUDA_ERROR_OUT_OF_MEMORY;
    green->id = ++ids;
    green->lost = true; /* until front_host.green_make has succeeded */
    pthread_mutex_unlock(&lock);
    struct front_green made = *green;
    if (rc == CUDA_SUCCESS) {
        rc = front_host.green_make(&made);
    }
    pthread_mutex_lock(&lock);
    if (rc == CUDA_SUCCESS) {
        *green = made;
        green->lost = false;
    } else if (green->handle != 0) {
        (void)ga_handle_table_remove(&table, green->handle);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

struct front_green *front_green_remove(CUcontext handle)
{
    pthread_mutex_lock(&lock);
    struct front_green *green = ga_handle_table_remove(&table, (uint64_t)(uintptr_t)handle);
    pthread_mutex_unlock(&lock);
    return green;
}
