/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a GPU's memory that the limits leave. gpuaasd adds up what all applications of the
 * tenant have; a number that all of them count up tells whether its answer still holds.
 *
 * Note: the figures change first, then the number, and gpuaasd looks at the number first. A reader
 * that finds the number unchanged may have missed a change that is not over yet, and none that
 * is. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/shared_memory.h"
#include "server/charge/quota.h"
#include "server/figures.h"

void quota_room_init(struct quota *quota)
{
    (void)pthread_mutex_init(&quota->room_lock, NULL);
    atomic_store(&quota->shared, NULL);
    atomic_store(&quota->unshared, false);
    atomic_store(&quota->uncounted, false);
    quota->own_changes = 0;
    memset(quota->rooms, 0, sizeof quota->rooms);
}

void quota_fini(struct quota *quota)
{
    struct figures_tenant *shared = atomic_exchange(&quota->shared, NULL);
    if (shared != NULL) {
        (void)munmap(shared, FIGURES_TENANT_BYTES);
    }
}

/* A change that finds no memory is counted by quota_share: either this looks behind the exchange
 * there, or that one behind the store here. */
void quota_changed(struct quota *quota)
{
    struct figures_tenant *shared = atomic_load(&quota->shared);
    if (shared == NULL) {
        atomic_store(&quota->uncounted, true);
        shared = atomic_load(&quota->shared);
    }
    if (shared != NULL) {
        pthread_mutex_lock(&quota->room_lock);
        quota->own_changes++;
        atomic_fetch_add(&shared->changes, 1);
        pthread_mutex_unlock(&quota->room_lock);
    }
}

void quota_share(struct quota *quota, bool brought, int fd)
{
    if (!brought) {
        return;
    }
    struct figures_tenant *none = NULL;
    struct figures_tenant *shared =
        fd >= 0 ? ga_shared_memory_map(fd, FIGURES_TENANT_BYTES, NULL) : NULL;
    if (fd >= 0) {
        close(fd);
    }
    if (shared == NULL) {
        ga_warn("no memory or descriptors left for what its tenant has together: it gets no more "
                "memory of GPUs");
        atomic_store(&quota->unshared, true);
    } else if (!atomic_compare_exchange_strong(&quota->shared, &none, shared)) {
        (void)munmap(shared, FIGURES_TENANT_BYTES);
    } else if (atomic_load(&quota->uncounted)) {
        quota_changed(quota);
    }
}

static bool memory_is_limited(const struct quota *quota)
{
    return quota_limit_of(quota, LIMIT_GPU_MEM) != LIMIT_NONE ||
           quota_limit_of(quota, LIMIT_GPU_MEM_PER_GPU) != LIMIT_NONE;
}

static uint64_t room_beside(uint64_t room, uint64_t own)
{
    return room == LIMIT_NONE ? LIMIT_NONE : room > own ? room - own : 0;
}

/* With `room_lock`. */
static uint64_t others_changes(const struct quota *quota)
{
    const struct figures_tenant *shared = atomic_load(&quota->shared);
    return shared != NULL ? atomic_load(&shared->changes) - quota->own_changes : 0;
}

/* `*told`: as it was told last; whether that holds. */
static bool is_told(struct quota *quota, uint32_t gpu, struct quota_told *told)
{
    pthread_mutex_lock(&quota->room_lock);
    *told = quota->rooms[gpu % QUOTA_ROOMS];
    bool holds = told->holds && told->gpu == gpu && told->others == others_changes(quota);
    pthread_mutex_unlock(&quota->room_lock);
    return holds;
}

/* Own changes since it was found, if there are any, make `others` too small, for ever. */
void quota_tell_room(struct quota *quota, const struct channel_request *packet)
{
    pthread_mutex_lock(&quota->room_lock);
    quota->rooms[packet->address % QUOTA_ROOMS] = (struct quota_told){
        .holds = atomic_load(&quota->shared) != NULL && packet->mapping_bytes != 0,
        .gpu = (uint32_t)packet->address,
        .others = packet->changes - quota->own_changes,
        .all = packet->bytes,
        .here = packet->offset};
    pthread_mutex_unlock(&quota->room_lock);
}

CUresult quota_room(struct quota *quota, uint32_t gpu, uint64_t own, uint64_t here, uint64_t *room)
{
    struct quota_told told;
    *room = LIMIT_NONE;
    if (!memory_is_limited(quota)) {
        return CUDA_SUCCESS;
    }
    if (!is_told(quota, gpu, &told)) {
        struct channel_request packet = {.verb = CHANNEL_ROOM, .address = gpu};
        if (quota->host.ask(quota->host.user, &packet) != GA_OK || packet.result != CUDA_SUCCESS) {
            quota_silence_note(quota);
            return CUDA_ERROR_SYSTEM_NOT_READY;
        }
        told.all = packet.bytes;
        told.here = packet.offset;
    }
    uint64_t room_all = room_beside(told.all, own), room_here = room_beside(told.here, here);
    *room = room_all < room_here ? room_all : room_here;
    return CUDA_SUCCESS;
}
