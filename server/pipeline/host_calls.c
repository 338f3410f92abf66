/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of the words that streams wait for. */
#include "server/pipeline/host_calls.h"

#include <stdlib.h>

#include "server/pipeline/staging.h"

void host_calls_init(struct host_calls *host, const struct cuda_driver *driver,
                     struct ledger *ledger)
{
    *host = (struct host_calls){.driver = driver, .ledger = ledger};
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->given_back, NULL);
}

static struct host_lease *lease_at(struct host_calls *host, uint32_t id)
{
    return &host->blocks[id / HOST_BLOCK]->leases[id % HOST_BLOCK];
}

static void word_write(struct host_calls *host, uint32_t id)
{
    uint32_t *word = &host->blocks[id / HOST_BLOCK]->words[id % HOST_BLOCK];
    __atomic_store_n(word, lease_at(host, id)->number, __ATOMIC_RELEASE);
}

static void lease_free(struct host_calls *host, uint32_t id)
{
    struct host_lease *lease = lease_at(host, id);
    lease->state = HOST_FREE;
    lease->next = host->free;
    host->free = id + 1;
    pthread_cond_signal(&host->given_back);
}

void host_calls_end(struct host_calls *host)
{
    pthread_mutex_lock(&host->lock);
    host->ended = true;
    for (uint32_t id = 0; id < host->block_count * HOST_BLOCK; id++) {
        if (lease_at(host, id)->state != HOST_FREE) {
            word_write(host, id);
        }
    }
    pthread_cond_broadcast(&host->given_back);
    pthread_mutex_unlock(&host->lock);
}

void host_calls_fini(struct host_calls *host)
{
    pthread_mutex_lock(&host->lock);
    unsigned count = host->block_count;
    host->block_count = 0;
    host->free = 0;
    pthread_mutex_unlock(&host->lock); /* the driver may wait for others, which need the lock */
    for (unsigned i = 0; i < count; i++) {
        struct host_block *block = host->blocks[i];
        staging_unpin(host->driver, host->ledger, block->device, HOST_BLOCK * sizeof *block->words,
                      block->words);
        free(block);
    }
}

static CUresult block_add(struct host_calls *host, CUdevice device)
{
    struct host_block *block = calloc(1, sizeof *block);
    void *words = NULL;
    if (block == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = staging_pin(host->driver, host->ledger, device, HOST_BLOCK * sizeof *block->words,
                              CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP, &words);
    if (rc == CUDA_SUCCESS) {
        rc = host->driver->cuMemHostGetDevicePointer_v2(&block->address, words, 0);
        if (rc != CUDA_SUCCESS) {
            staging_unpin(host->driver, host->ledger, device, HOST_BLOCK * sizeof *block->words,
                          words);
        }
    }
    if (rc != CUDA_SUCCESS) {
        free(block);
        return rc;
    }
    block->words = words;
    block->device = device;
    pthread_mutex_lock(&host->lock);
    uint32_t first = host->block_count * HOST_BLOCK;
    host->blocks[host->block_count++] = block;
    for (uint32_t i = HOST_BLOCK; i-- > 0;) {
        block->words[i] = 0;
        lease_free(host, first + i);
    }
    pthread_mutex_unlock(&host->lock);
    return CUDA_SUCCESS;
}

CUresult host_lease_try(struct host_calls *host, CUdevice device, uint64_t sequence,
                        struct host_wait *wait)
{
    pthread_mutex_lock(&host->lock);
    bool grow = host->free == 0 && host->block_count < HOST_BLOCKS_MAX;
    pthread_mutex_unlock(&host->lock);
    CU_TRY(grow ? block_add(host, device) : CUDA_SUCCESS);
    pthread_mutex_lock(&host->lock);
    CUresult rc = host->free != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    if (rc == CUDA_SUCCESS) {
        uint32_t id = host->free - 1;
        struct host_lease *lease = lease_at(host, id);
        host->free = lease->next;
        lease->state = HOST_SUBMITTED;
        lease->number++;
        lease->sequence = sequence;
        *wait = (struct host_wait){.id = id,
                                   .address = host->blocks[id / HOST_BLOCK]->address +
                                              id % HOST_BLOCK * sizeof(uint32_t),
                                   .number = lease->number};
    }
    pthread_mutex_unlock(&host->lock);
    return rc;
}

void host_lease_wait(struct host_calls *host)
{
    pthread_mutex_lock(&host->lock);
    while (host->free == 0 && !host->ended) {
        pthread_cond_wait(&host->given_back, &host->lock);
    }
    pthread_mutex_unlock(&host->lock);
}

bool host_calls_run(struct host_calls *host)
{
    pthread_mutex_lock(&host->lock);
    bool run = host->called != 0;
    pthread_mutex_unlock(&host->lock);
    return run;
}

void host_lease_called(struct host_calls *host, uint32_t id)
{
    pthread_mutex_lock(&host->lock);
    lease_at(host, id)->state = HOST_CALLED;
    host->called++;
    pthread_mutex_unlock(&host->lock);
}

enum ga_status host_lease_done(struct host_calls *host, uint32_t id, uint64_t sequence)
{
    pthread_mutex_lock(&host->lock);
    enum ga_status status = host->ended ? GA_OK : GA_INVALID; /* at the end nobody waits for it */
    if (!host->ended && id / HOST_BLOCK < host->block_count &&
        lease_at(host, id)->state == HOST_CALLED && lease_at(host, id)->sequence == sequence) {
        word_write(host, id);
        lease_free(host, id);
        host->called--;
        status = GA_OK;
    }
    pthread_mutex_unlock(&host->lock);
    return status;
}

void host_lease_drop(struct host_calls *host, uint32_t id)
{
    pthread_mutex_lock(&host->lock);
    word_write(host, id);
    lease_free(host, id);
    pthread_mutex_unlock(&host->lock);
}
