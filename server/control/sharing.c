/* The table of what applications share. */
#include "server/control/sharing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "api/cuda_names.h"

struct exchange_entry {
    struct ga_list link, of_owner;
    struct exchange_share *owner;
    int fd; /* of memory; else -1 */
    struct channel_exchange what;
};

void exchange_init(struct exchange *exchange)
{
    ga_list_init(&exchange->entries);
}

void exchange_share_init(struct exchange_share *share, uint64_t number)
{
    *share = (struct exchange_share){.number = number};
    ga_list_init(&share->entries);
}

static void entry_free(struct exchange_entry *entry)
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

void exchange_share_end(struct exchange_share *share)
{
    ga_list_each (at, next, &share->entries) {
        entry_free(ga_container(at, struct exchange_entry, of_owner));
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

static struct exchange_entry *find(const struct exchange *exchange, const uint8_t *key)
{
    ga_list_each (at, next, &exchange->entries) {
        struct exchange_entry *entry = ga_container(at, struct exchange_entry, link);
        if (key_same(entry->what.key, key)) {
            return entry;
        }
    }
    return NULL;
}

/* A process may not open what it shares itself; and every other one has the same tenant. */
static int32_t exchange_may(const struct exchange_entry *entry, const struct exchange_share *asker)
{
    return entry->owner == asker ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

/* Takes `fd` if it answers CUDA_SUCCESS. */
static int32_t put(struct exchange *exchange, struct exchange_share *share,
                   struct channel_exchange *packet, int fd)
{
    bool memory = packet->what == CHANNEL_MEMORY || packet->what == CHANNEL_PHYSICAL;
    if ((!memory && packet->what != CHANNEL_EVENT) || memory != (fd >= 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct exchange_entry *entry = share->count < EXCHANGE_MOST ? calloc(1, sizeof *entry) : NULL;
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (getrandom(packet->key, sizeof packet->key, 0) != (ssize_t)sizeof packet->key) {
        free(entry);
        return CUDA_ERROR_UNKNOWN;
    }
    *entry = (struct exchange_entry){.owner = share, .fd = fd, .what = *packet};
    ga_list_append(&exchange->entries, &entry->link);
    ga_list_append(&share->entries, &entry->of_owner);
    share->count++;
    return CUDA_SUCCESS;
}

static int32_t get(const struct exchange *exchange, const struct exchange_share *share,
                   struct channel_exchange *packet, int *fd)
{
    const struct exchange_entry *entry = find(exchange, packet->key);
    if (entry == NULL || entry->what.what != packet->what) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    int32_t result = exchange_may(entry, share);
    if (result == CUDA_SUCCESS) {
        const uint32_t request = packet->request;
        *packet = entry->what;
        packet->request = request;
        *fd = entry->fd;
    }
    return result;
}

/* What begins in these addresses of its owner, or is this memory without an address. */
static void withdraw(struct exchange_share *share, const struct channel_exchange *packet)
{
    ga_list_each (at, next, &share->entries) {
        struct exchange_entry *entry = ga_container(at, struct exchange_entry, of_owner);
        if (entry->what.what == packet->what &&
            entry->what.address - packet->address < packet->bytes) {
            entry_free(entry);
        }
    }
}

void exchange_answer(struct exchange *exchange, struct exchange_share *share,
                     struct channel_exchange *packet, int *fd)
{
    int given = *fd;
    bool taken = false;
    *fd = -1;
    switch (packet->verb) {
    case CHANNEL_SHARE:
        packet->result = put(exchange, share, packet, given);
        taken = packet->result == CUDA_SUCCESS;
        break;
    case CHANNEL_OPEN:
        packet->result = get(exchange, share, packet, fd);
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
