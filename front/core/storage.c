/* SPDX-License-Identifier: Apache-2.0 */
/* A list for the whole process: a program has few contexts and few copies of the runtime. Each
 * thread caches its last lookups; they are valid while the list is unchanged (`epoch`). */
#include "front/core/storage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct entry {
    CUcontext context;
    void *key;
    void *value;
    front_storage_destroy *destroy;
};

struct found {
    uint64_t epoch; /* 0: empty */
    CUcontext context;
    void *key;
    void *value;
};

#define FOUND_SLOTS 4 /* cached lookups: copies of the runtime that a thread calls in turn */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static size_t entry_count, entry_capacity;
static _Atomic uint64_t epoch = 1;
static _Thread_local struct found found[FOUND_SLOTS];

static struct found *found_slot(const void *key)
{
    return &found[((uintptr_t)key >> 4) % FOUND_SLOTS];
}

/* The lock is held. */
static struct entry *storage_find(CUcontext context, const void *key)
{
    for (size_t i = 0; i < entry_count; i++) {
        if (entries[i].context == context && entries[i].key == key) {
            return &entries[i];
        }
    }
    return NULL;
}

static bool room_for_one(void)
{
    if (entry_count < entry_capacity) {
        return true;
    }
    size_t capacity = entry_capacity != 0 ? entry_capacity * 2 : 16;
    struct entry *larger = realloc(entries, capacity * sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    entries = larger;
    entry_capacity = capacity;
    return true;
}

CUresult front_storage_put(CUcontext context, void *key, void *value,
                           front_storage_destroy *destroy)
{
    CUresult rc = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct entry *entry = storage_find(context, key);
    if (entry == NULL && room_for_one()) {
        entry = &entries[entry_count++];
    }
    if (entry != NULL) {
        *entry = (struct entry){context, key, value, destroy};
        atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
    } else {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

CUresult front_storage_remove(CUcontext context, void *key)
{
    CUresult rc = CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    struct entry *entry = storage_find(context, key);
    if (entry != NULL) {
        *entry = entries[--entry_count];
        atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
        rc = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

CUresult front_storage_get(CUcontext context, void *key, void **value)
{
    struct found *slot = found_slot(key);
    if (slot->key == key && slot->context == context &&
        slot->epoch == atomic_load_explicit(&epoch, memory_order_acquire)) {
        *value = slot->value;
        return CUDA_SUCCESS;
    }
    CUresult rc = CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    const struct entry *entry = storage_find(context, key);
    if (entry != NULL) {
        *slot = (struct found){atomic_load_explicit(&epoch, memory_order_relaxed), context, key,
                               entry->value};
        *value = entry->value;
        rc = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void front_storage_drop(CUcontext context)
{
    for (;;) {
        struct entry gone = {0};
        bool any = false;
        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < entry_count && !any; i++) {
            if (entries[i].context == context) {
                gone = entries[i];
                entries[i] = entries[--entry_count];
                atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
                any = true;
            }
        }
        pthread_mutex_unlock(&lock);
        if (!any) {
            return;
        }
        /* The lock is not held: the destructor is the program's code and may call back. */
        if (gone.destroy != NULL) {
            gone.destroy(gone.context, gone.key, gone.value);
        }
    }
}
