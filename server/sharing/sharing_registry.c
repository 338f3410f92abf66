/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what applications share. */
#include "server/sharing/sharing_registry.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "api/cuda_names.h"

struct sharing_entry {
    struct ga_list link, of_owner;
    struct sharing_share *owner;
    struct channel_request what;
    struct opened_memory *memory; /* NULL: it is an event */
};

/* The descriptor of an entry is on its way from the owner to the application that opens it. An
 * application opens one thing at a time, so it has one of these at most. */
struct sharing_fetch {
    struct ga_list link;
    uint32_t number;
    const struct sharing_entry *entry;
    struct sharing_share *asker;
    uint32_t question; /* number of the asker's request */
};

void sharing_init(struct sharing *sharing)
{
    *sharing = (struct sharing){.last_fetch = 0};
    ga_list_init(&sharing->entries);
    ga_list_init(&sharing->fetches);
}

void sharing_share_init(
    struct sharing_share *share, uint32_t tenant, uint32_t seat,
    enum ga_status (*send)(void *user, const struct channel_request *packet, int fd),
    void (*charge)(void *user, enum opened_charge change, uint32_t gpu, uint64_t bytes), void *user)
{
    *share = (struct sharing_share){.tenant = tenant, .seat = seat, .send = send, .user = user};
    ga_list_init(&share->entries);
    opened_init(&share->opener, charge, user);
}

static bool sharing_is_memory(uint32_t what)
{
    return what == CHANNEL_MEMORY || what == CHANNEL_PHYSICAL;
}

static bool sharing_by_descriptor(uint32_t what)
{
    return sharing_is_memory(what) || what == CHANNEL_EVENT_FILE;
}

/* ---- fetching */

static void fetch_free(struct sharing_fetch *fetch)
{
    ga_list_remove(&fetch->link);
    free(fetch);
}

/* Answers the opener, and frees the fetch. `fd` stays the caller's. */
static void sharing_fetch_end(struct sharing_fetch *fetch, int32_t result, int fd)
{
    struct channel_request answer = {.verb = CHANNEL_OPEN};
    struct sharing_share *asker = fetch->asker;
    struct opened_memory *memory = result == CUDA_SUCCESS ? fetch->entry->memory : NULL;
    uint64_t opening = memory != NULL ? opened_memory_open(memory, &asker->opener) : 0;
    result = memory != NULL && opening == 0 ? CUDA_ERROR_OUT_OF_MEMORY : result;
    if (result == CUDA_SUCCESS) {
        answer = fetch->entry->what;
        answer.verb = CHANNEL_OPEN;
    }
    answer.kind = CHANNEL_REQUEST;
    answer.seat = asker->seat;
    answer.number = fetch->question;
    answer.result = result;
    answer.opening = opening;
    if (asker->send(asker->user, &answer, result == CUDA_SUCCESS ? fd : -1) != GA_OK) {
        opened_memory_close(&asker->opener, opening);
    }
    explicit_bzero(&answer, sizeof answer);
    fetch_free(fetch);
}

/* One that has given up the last wait (see control_request.c) asks anew: that was the last. */
static void fetches_give_up(struct sharing *sharing, const struct sharing_share *asker)
{
    ga_list_each (at, next, &sharing->fetches) {
        struct sharing_fetch *fetch = ga_container(at, struct sharing_fetch, link);
        if (fetch->asker == asker) {
            fetch_free(fetch);
        }
    }
}

/* True: the answer comes later. */
static bool sharing_fetch_begin(struct sharing *sharing, const struct sharing_entry *entry,
                                struct sharing_share *asker, uint32_t question)
{
    struct sharing_fetch *fetch = malloc(sizeof *fetch);
    if (fetch == NULL) {
        return false;
    }
    fetches_give_up(sharing, asker);
    *fetch = (struct sharing_fetch){
        .number = ++sharing->last_fetch, .entry = entry, .asker = asker, .question = question};
    ga_list_append(&sharing->fetches, &fetch->link);
    struct channel_request packet = {.kind = CHANNEL_REQUEST,
                                     .seat = entry->owner->seat,
                                     .number = fetch->number,
                                     .verb = CHANNEL_FETCH,
                                     .what = entry->what.what};
    memcpy(packet.key, entry->what.key, sizeof packet.key);
    bool sent = entry->owner->send(entry->owner->user, &packet, -1) == GA_OK;
    explicit_bzero(&packet, sizeof packet);
    if (!sent) {
        fetch_free(fetch);
    }
    return sent;
}

/* The owner's answer. */
static void fetched(struct sharing *sharing, const struct sharing_share *owner,
                    const struct channel_request *packet, int fd)
{
    ga_list_each (at, next, &sharing->fetches) {
        struct sharing_fetch *fetch = ga_container(at, struct sharing_fetch, link);
        if (fetch->number == packet->number && fetch->entry->owner == owner) {
            bool good = packet->result == CUDA_SUCCESS && fd >= 0;
            sharing_fetch_end(fetch, good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE, fd);
        }
    }
}

/* ---- entries */

static void entry_free(struct sharing *sharing, struct sharing_entry *entry)
{
    ga_list_each (at, next, &sharing->fetches) {
        struct sharing_fetch *fetch = ga_container(at, struct sharing_fetch, link);
        if (fetch->entry == entry) {
            sharing_fetch_end(fetch, CUDA_ERROR_INVALID_HANDLE, -1);
        }
    }
    ga_list_remove(&entry->link);
    ga_list_remove(&entry->of_owner);
    entry->owner->count--;
    if (entry->memory != NULL) {
        opened_memory_withdraw(entry->memory);
    }
    explicit_bzero(entry, sizeof *entry);
    free(entry);
}

void sharing_share_close(struct sharing *sharing, struct sharing_share *share)
{
    fetches_give_up(sharing, share);
    ga_list_each (at, next, &share->entries) {
        entry_free(sharing, ga_container(at, struct sharing_entry, of_owner));
    }
}

void sharing_share_end(struct sharing *sharing, struct sharing_share *share)
{
    sharing_share_close(sharing, share);
    opened_end(&share->opener);
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

/* A process may not open what it shares itself; for another tenant's there is no such key. */
static int32_t sharing_may(const struct sharing_entry *entry, const struct sharing_share *asker)
{
    return entry->owner == asker                   ? CUDA_ERROR_INVALID_CONTEXT
           : entry->owner->tenant != asker->tenant ? CUDA_ERROR_INVALID_HANDLE
                                                   : CUDA_SUCCESS;
}

static int32_t sharing_put(struct sharing *sharing, struct sharing_share *share,
                           struct channel_request *packet)
{
    if (!sharing_by_descriptor(packet->what) && packet->what != CHANNEL_EVENT) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct sharing_entry *entry =
        share->count < CHANNEL_SHARES_MAX ? calloc(1, sizeof *entry) : NULL;
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (getrandom(packet->key, sizeof packet->key, 0) != (ssize_t)sizeof packet->key) {
        free(entry);
        return CUDA_ERROR_UNKNOWN;
    }
    *entry = (struct sharing_entry){.owner = share, .what = *packet};
    if (sharing_is_memory(packet->what)) {
        entry->memory = opened_memory_share(&share->opener, packet);
        if (entry->memory == NULL) {
            free(entry);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    ga_list_append(&sharing->entries, &entry->link);
    ga_list_append(&share->entries, &entry->of_owner);
    share->count++;
    return CUDA_SUCCESS;
}

/* True: the answer comes later. */
static bool sharing_open(struct sharing *sharing, struct sharing_share *share,
                         struct channel_request *packet)
{
    const struct sharing_entry *entry = sharing_find(sharing, packet->key);
    if (entry == NULL || entry->what.what != packet->what) {
        packet->result = CUDA_ERROR_INVALID_HANDLE;
        return false;
    }
    packet->result = sharing_may(entry, share);
    if (packet->result != CUDA_SUCCESS) {
        return false;
    }
    if (sharing_by_descriptor(entry->what.what)) {
        packet->result = CUDA_ERROR_OPERATING_SYSTEM; /* unless it begins */
        return sharing_fetch_begin(sharing, entry, share, packet->number);
    }
    memcpy(packet->event, entry->what.event, sizeof packet->event);
    return false;
}

/* Withdraws entries that begin in these addresses of their owner, or this physical memory. */
static void withdraw(struct sharing *sharing, struct sharing_share *share,
                     const struct channel_request *packet)
{
    ga_list_each (at, next, &share->entries) {
        struct sharing_entry *entry = ga_container(at, struct sharing_entry, of_owner);
        if (entry->what.what == packet->what &&
            entry->what.address - packet->address < packet->bytes) {
            entry_free(sharing, entry);
        }
    }
}

void sharing_take(struct sharing *sharing, struct sharing_share *share,
                  const struct channel_request *packet, int fd)
{
    struct channel_request answer = *packet;
    bool later = false;
    switch (packet->verb) {
    case CHANNEL_SHARE:
        answer.result = sharing_put(sharing, share, &answer);
        break;
    case CHANNEL_OPEN:
        later = sharing_open(sharing, share, &answer);
        break;
    case CHANNEL_WITHDRAW:
        withdraw(sharing, share, packet);
        answer.mapping_bytes =
            packet->mapping_bytes != 0
                ? opened_memory_freed(&share->opener, packet->what, packet->address)
                : 0;
        answer.result = CUDA_SUCCESS;
        break;
    case CHANNEL_CLOSE:
        opened_memory_close(&share->opener, packet->opening);
        answer.result = CUDA_SUCCESS;
        break;
    case CHANNEL_FETCH:
        fetched(sharing, share, packet, fd);
        later = true; /* it was an answer */
        break;
    default:
        answer.result = CUDA_ERROR_INVALID_VALUE;
        break;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (!later) {
        (void)!share->send(share->user, &answer, -1);
    }
    explicit_bzero(&answer, sizeof answer);
}
