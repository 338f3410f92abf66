/* SPDX-License-Identifier: Apache-2.0 */
/* Which allocations have the attribute SYNC_MEMOPS: few, of few programs. An entry whose allocation
 * has gone without a word (with its context, by unmapping) is found out by its facts. */
#include "client/memory/sync_memops.h"

#include <stdlib.h>

#include "client/alloc/ranges.h"
#include "client/call/deferred_copies.h"
#include "client/context/context.h"
#include "client/memory/address.h"
#include "front/front.h"

struct marked {
    struct client_range range;
    uint64_t context, id;
};

static atomic_uint count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct client_ranges ranges;

static struct marked *marked_from(uint64_t address)
{
    struct client_range *range = client_ranges_from(&ranges, address);
    return range != NULL ? ga_container(range, struct marked, range) : NULL;
}

static void unmark(struct marked *marked)
{
    client_ranges_remove(&ranges, &marked->range);
    free(marked);
    atomic_fetch_sub(&count, 1);
}

bool client_sync_memops(uint64_t address)
{
    struct client_memory memory;
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0 ||
        !client_memory_find(address, &memory)) {
        return false;
    }
    pthread_mutex_lock(&lock);
    const struct marked *found = marked_from(address);
    bool same = found != NULL && found->range.start == memory.start &&
                found->range.bytes == memory.bytes && found->context == memory.context &&
                found->id == memory.id;
    pthread_mutex_unlock(&lock);
    return same;
}

/* All entries that have bytes of it: its own, and those of memory that was there before. */
static void unmark_all(uint64_t start, uint64_t bytes)
{
    struct marked *at;
    while ((at = marked_from(start)) != NULL && at->range.start - start < bytes) {
        unmark(at);
    }
    if (at != NULL && at->range.start < start && start - at->range.start < at->range.bytes) {
        unmark(at);
        unmark_all(start, bytes);
    }
}

void client_sync_memops_forget(uint64_t start)
{
    if (atomic_load_explicit(&count, memory_order_relaxed) != 0) {
        pthread_mutex_lock(&lock);
        unmark_all(start, 1);
        pthread_mutex_unlock(&lock);
    }
}

CUresult client_sync_memops_set(uint64_t address, bool on)
{
    struct client_memory memory;
    struct marked *made = on ? calloc(1, sizeof *made) : NULL;
    if (!client_memory_find(address, &memory)) {
        free(made);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (on && made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    unmark_all(memory.start, memory.bytes);
    if (on) {
        *made = (struct marked){.range = {.start = memory.start, .bytes = memory.bytes},
                                .context = memory.context,
                                .id = memory.id};
        (void)client_ranges_insert(&ranges, &made->range);
        atomic_fetch_add(&count, 1);
    }
    pthread_mutex_unlock(&lock);
    if (on) {
        client_copy_expose(NULL); /* blocking copies to devices wait from now on */
    }
    return CUDA_SUCCESS;
}

bool client_settles(uint64_t address, bool written)
{
    struct client_address mirror;
    struct client_context *context;
    return (written && client_address_find(address, CLIENT_ADDRESS(MIRROR), &mirror)) ||
           client_sync_memops(address) ||
           (client_context_current(&context) == CUDA_SUCCESS &&
            (context->flags & FRONT_CTX_SYNC_MEMOPS) != 0);
}
