/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what the program has reserved and mapped. */
#include "client/memory/mappings.h"

#include <stdlib.h>

#define NO_START (UINT64_C(1) << 62) /* makes numbers of mappings other than addresses */

static atomic_uint space_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct client_ranges spaces, mappings;
static uint64_t last_id;

static bool some(void)
{
    return atomic_load_explicit(&space_count, memory_order_relaxed) != 0;
}

bool client_mappings_reserve(uint64_t start, uint64_t bytes)
{
    struct client_space *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return false;
    }
    made->range = (struct client_range){.start = start, .bytes = bytes};
    pthread_mutex_lock(&lock);
    bool inserted = client_ranges_insert(&spaces, &made->range);
    atomic_fetch_add(&space_count, inserted);
    pthread_mutex_unlock(&lock);
    if (!inserted) {
        free(made);
    }
    return inserted;
}

void client_mappings_release(struct client_space *space)
{
    pthread_mutex_lock(&lock);
    client_ranges_remove(&spaces, &space->range);
    atomic_fetch_sub(&space_count, 1);
    pthread_mutex_unlock(&lock);
    free(space);
}

struct client_mapping *client_mappings_add(uint64_t start, uint64_t bytes,
                                           struct client_physical *physical)
{
    struct client_mapping *made = calloc(1, sizeof *made + (size_t)client_device_count);
    if (made == NULL) {
        return NULL;
    }
    made->range = (struct client_range){.start = start, .bytes = bytes};
    made->physical = physical;
    pthread_mutex_lock(&lock);
    made->id = ++last_id | NO_START;
    bool inserted = client_ranges_insert(&mappings, &made->range);
    pthread_mutex_unlock(&lock);
    if (!inserted) {
        free(made);
        return NULL;
    }
    physical->mappings++;
    return made;
}

void client_mappings_remove(struct client_mapping *mapping)
{
    pthread_mutex_lock(&lock);
    client_ranges_remove(&mappings, &mapping->range);
    pthread_mutex_unlock(&lock);
    mapping->physical->mappings--;
    free(mapping);
}

/* Under the lock, or where nobody else changes the tables. */
static struct client_mapping *mapping_at(uint64_t address)
{
    struct client_range *range = client_ranges_find(&mappings, address);
    return range != NULL ? ga_container(range, struct client_mapping, range) : NULL;
}

struct client_space *client_mappings_space(uint64_t address)
{
    struct client_range *range = client_ranges_find(&spaces, address);
    return range != NULL ? ga_container(range, struct client_space, range) : NULL;
}

struct client_mapping *client_mappings_at(uint64_t address)
{
    return mapping_at(address);
}

bool client_mappings_touch(uint64_t start, uint64_t bytes)
{
    const struct client_range *next = client_ranges_from(&mappings, start);
    return next != NULL && (next->start < start || next->start - start < bytes);
}

void client_mappings_allow(struct client_mapping *mapping, CUdevice device, CUmemAccess_flags flags)
{
    pthread_mutex_lock(&lock);
    mapping->users -= mapping->rights[device] != 0;
    mapping->rights[device] = (uint8_t)flags;
    mapping->users += flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    pthread_mutex_unlock(&lock);
}

/* ---- asking */

bool client_mappings_find(uint64_t address, struct client_memory *memory)
{
    if (!some()) {
        return false;
    }
    pthread_mutex_lock(&lock);
    const struct client_mapping *found = mapping_at(address);
    if (found != NULL) {
        *memory = (struct client_memory){.session = found->physical->session,
                                         .start = found->range.start,
                                         .bytes = found->range.bytes,
                                         .id = found->id,
                                         .mapped = true,
                                         .barred = found->users == 0};
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

static struct client_session *any_session(void)
{
    struct client_session *found = NULL;
    for (int i = 0; found == NULL && i < client_device_count; i++) {
        found = atomic_load(&client_devices[i]->session);
    }
    return found;
}

struct client_session *client_mappings_session(uint64_t address)
{
    if (!some()) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    const struct client_mapping *found = mapping_at(address);
    struct client_session *session = found != NULL ? found->physical->session : NULL;
    if (session == NULL && client_ranges_find(&spaces, address) != NULL) {
        session = any_session();
    }
    pthread_mutex_unlock(&lock);
    return session;
}
