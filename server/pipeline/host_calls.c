/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of the words that streams wait for. */
#include "server/pipeline/host_calls.h"

#include <stdlib.h>

#include "server/pipeline/staging.h"

void host_functions_init(struct host_functions *host, const struct cuda_driver *driver)
{
    *host = (struct host_functions){.driver = driver};
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->given_back, NULL);
}

static struct host_lease *lease_at(struct host_functions *host, uint32_t ticket)
{
    return &host->blocks[ticket / HOST_BLOCK]->leases[ticket % HOST_BLOCK];
}

static void word_write(struct host_functions *host, uint32_t ticket)
{
    uint32_t *word = &host->blocks[ticket / HOST_BLOCK]->words[ticket % HOST_BLOCK];
    __atomic_store_n(word, lease_at(host, ticket)->number, __ATOMIC_RELEASE);
}

static void lease_free(struct host_functions *host, uint32_t ticket)
{
    struct host_lease *lease = lease_at(host, ticket);
    lease->state = HOST_FREE;
    lease->next = host->free;
    host->free = ticket + 1;
    pthread_cond_signal(&host->given_back);
}

void host_functions_end(struct host_functions *host)
{
    pthread_mutex_lock(&host->lock);
    host->ended = true;
    for (uint32_t ticket = 0; ticket < host->block_count * HOST_BLOCK; ticket++) {
        if (lease_at(host, ticket)->state != HOST_FREE) {
            word_write(host, ticket);
        }
    }
    pthread_cond_broadcast(&host->given_back);
    pthread_mutex_unlock(&host->lock);
}

static CUresult block_add(struct host_functions *host, CUdevice device)
{
    struct host_block *block = calloc(1, sizeof *block);
    void *words = NULL;
    if (block == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = staging_pin(host->driver, device, HOST_BLOCK * sizeof *block->words,
                              CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP, &words);
    if (rc == CUDA_SUCCESS) {
        rc = host->driver->cuMemHostGetDevicePointer_v2(&block->device, words, 0);
    }
    if (rc != CUDA_SUCCESS) {
        free(block); /* words that are pinned stay: a driver that cannot map them gets no more */
        return rc;
    }
    block->words = words;
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

CUresult host_lease_try(struct host_functions *host, CUdevice device, uint64_t sequence,
                        struct host_wait *wait)
{
    pthread_mutex_lock(&host->lock);
    bool grow = host->free == 0 && host->block_count < HOST_BLOCKS_MAX;
    pthread_mutex_unlock(&host->lock);
    CUresult rc = grow ? block_add(host, device) : CUDA_SUCCESS;
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&host->lock);
    rc = host->free != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    if (rc == CUDA_SUCCESS) {
        uint32_t ticket = host->free - 1;
        struct host_lease *lease = lease_at(host, ticket);
        host->free = lease->next;
        lease->state = HOST_SUBMITTED;
        lease->number++;
        lease->sequence = sequence;
        *wait = (struct host_wait){.ticket = ticket,
                                   .address = host->blocks[ticket / HOST_BLOCK]->device +
                                              ticket % HOST_BLOCK * sizeof(uint32_t),
                                   .number = lease->number};
    }
    pthread_mutex_unlock(&host->lock);
    return rc;
}

void host_lease_wait(struct host_functions *host)
{
    pthread_mutex_lock(&host->lock);
    while (host->free == 0 && !host->ended) {
        pthread_cond_wait(&host->given_back, &host->lock);
    }
    pthread_mutex_unlock(&host->lock);
}

bool host_functions_run(struct host_functions *host)
{
    pthread_mutex_lock(&host->lock);
    bool run = host->called != 0;
    pthread_mutex_unlock(&host->lock);
    return run;
}

void host_lease_called(struct host_functions *host, uint32_t ticket)
{
    pthread_mutex_lock(&host->lock);
    lease_at(host, ticket)->state = HOST_CALLED;
    host->called++;
    pthread_mutex_unlock(&host->lock);
}

enum ga_status host_lease_done(struct host_functions *host, uint32_t ticket, uint64_t sequence)
{
    enum ga_status status = GA_INVALID;
    pthread_mutex_lock(&host->lock);
    if (ticket / HOST_BLOCK < host->block_count && lease_at(host, ticket)->state == HOST_CALLED &&
        lease_at(host, ticket)->sequence == sequence) {
        word_write(host, ticket);
        lease_free(host, ticket);
        host->called--;
        status = GA_OK;
    }
    pthread_mutex_unlock(&host->lock);
    return status;
}

void host_lease_drop(struct host_functions *host, uint32_t ticket)
{
    pthread_mutex_lock(&host->lock);
    word_write(host, ticket);
    lease_free(host, ticket);
    pthread_mutex_unlock(&host->lock);
}
