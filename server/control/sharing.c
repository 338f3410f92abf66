/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what applications share. */
#include "server/control/sharing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "api/cuda_names.h"

struct sharing_entry {
    struct ga_list link, of_owner;
    struct sharing_share *owner;
    int fd; /* of memory; else -1 */
    struct channel_request what;
};

void sharing_init(struct sharing *sharing)
{
    ga_list_init(&sharing->entries);
}

void sharing_share_init(struct sharing_share *share, uint64_t number)
{
    *share = (struct sharing_share){.number = number};
    ga_list_init(&share->entries);
}

static void entry_free(struct sharing_entry *entry)
{
    ga_list_remove(&entry->link);
    ga_list_remove(&entry->of_owner);
    entry->owner->count--;
    if (entry->fd >= 0) {
        close(entry->fd);
    }
    explicit_bzero(entry, sizeof *entry);
    free(entry);
}

void sharing_share_end(struct sharing_share *share)
{
    ga_list_each (at, next, &share->entries) {
        entry_free(ga_container(at, struct sharing_entry, of_owner));
    }
}

/* All of it is looked at, wherever they differ. */
static bool key_same(const uint8_t *one, const uint8_t *other)
{
    unsigned difference = 0;
    for (unsigned i = 0; i < CHANNEL_KEY_BYTES; i++) {
        difference |= (unsigned)(one[i] ^ other[i]);
    }
    return difference == 0;
}

static struct sharing_entry *sharing_find(const struct sharing *sharing, const uint8_t *key)
{
    ga_list_each (at, next, &sharing->entries) {
        struct sharing_entry *entry = ga_container(at, struct sharing_entry, link);
        if (key_same(entry->what.key, key)) {
            return entry;
        }
    }
    return NULL;
}

/* A process may not open what it shares itself; and every other one has the same tenant. */
static int32_t sharing_may(const struct sharing_entry *entry, const struct sharing_share *asker)
{
    return entry->owner == asker ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

/* Takes `fd` if it answers CUDA_SUCCESS. */
static int32_t sharing_put(struct sharing *sharing, struct sharing_share *share,
                           struct channel_request *packet, int fd)
{
    bool memory = packet->what == CHANNEL_MEMORY || packet->what == CHANNEL_PHYSICAL;
    if ((!memory && packet->what != CHANNEL_EVENT) || memory != (fd >= 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct sharing_entry *entry = share->count < SHARING_MAX ? calloc(1, sizeof *entry) : NULL;
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (getrandom(packet->key, sizeof packet->key, 0) != (ssize_t)sizeof packet->key) {
        free(entry);
        return CUDA_ERROR_UNKNOWN;
    }
    *entry = (struct sharing_entry){.owner = share, .fd = fd, .what = *packet};
    ga_list_append(&sharing->entries, &entry->link);
    ga_list_append(&share->entries, &entry->of_owner);
    share->count++;
    return CUDA_SUCCESS;
}

static int32_t sharing_get(const struct sharing *sharing, const struct sharing_share *share,
                           struct channel_request *packet, int *fd)
{
    const struct sharing_entry *entry = sharing_find(sharing, packet->key);
    if (entry == NULL || entry->what.what != packet->what) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    int32_t result = sharing_may(entry, share);
    if (result == CUDA_SUCCESS) {
        const uint32_t number = packet->number;
        *packet = entry->what;
        packet->number = number;
        *fd = entry->fd;
    }
    return result;
}

/* Withdraws entries that begin in these addresses of their owner, or this physical memory. */
static void withdraw(struct sharing_share *share, const struct channel_request *packet)
{
    ga_list_each (at, next, &share->entries) {
        struct sharing_entry *entry = ga_container(at, struct sharing_entry, of_owner);
        if (entry->what.what == packet->what &&
            entry->what.address - packet->address < packet->bytes) {
            entry_free(entry);
        }
    }
}

void sharing_answer(struct sharing *sharing, struct sharing_share *share,
                    struct channel_request *packet, int *fd)
{
    int given = *fd;
    bool taken = false;
    *fd = -1;
    switch (packet->verb) {
    case CHANNEL_SHARE:
        packet->result = sharing_put(sharing, share, packet, given);
        taken = packet->result == CUDA_SUCCESS;
        break;
    case CHANNEL_OPEN:
        packet->result = sharing_get(sharing, share, packet, fd);
        break;
    case CHANNEL_WITHDRAW:
        withdraw(share, packet);
        packet->result = CUDA_SUCCESS;
        break;
    default:
        packet->result = CUDA_ERROR_INVALID_VALUE;
        break;
    }
    if (given >= 0 && !taken) {
        close(given);
    }
}
