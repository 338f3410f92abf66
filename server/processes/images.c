/* SPDX-License-Identifier: Apache-2.0 */
#include "server/processes/images.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/constants.h"
#include "api/cuda_names.h"
#include "api/wire.h"
#include "base/failpoint.h"
#include "base/shared_memory.h"

struct images_holder {
    struct ga_list link;
    struct owner owner;
    uint64_t held;          /* bytes, as they count */
    struct ga_list entries; /* struct images_entry; what was used last is last */
};

struct images_entry {
    struct ga_list link;
    struct images_holder *holder;
    uint8_t name[CHANNEL_KEY_BYTES];
    uint64_t size, weight; /* weight: bytes, as they count */
    int fd;
};

void images_init(struct images *images, uint64_t most)
{
    *images = (struct images){.most = most, .count_most = IMAGES_MAX};
    ga_list_init(&images->holders);
}

void images_bound(struct images *images, unsigned count_most)
{
    images->count_most = count_most < IMAGES_MAX ? count_most : IMAGES_MAX;
}

/* ---- holders and what they hold */

static struct images_holder *images_holder_of(const struct images *images,
                                              const struct owner *owner)
{
    ga_list_each (at, next, &images->holders) {
        struct images_holder *holder = ga_container(at, struct images_holder, link);
        if (owner_same(&holder->owner, owner)) {
            return holder;
        }
    }
    return NULL;
}

static struct images_holder *images_holder_make(struct images *images, const struct owner *owner)
{
    struct images_holder *holder = calloc(1, sizeof *holder);
    if (holder != NULL) {
        holder->owner = *owner;
        ga_list_init(&holder->entries);
        ga_list_append(&images->holders, &holder->link);
    }
    return holder;
}

/* Ends an owner that has nothing any more; NULL is nobody. */
static void images_holder_end(struct images_holder *holder)
{
    if (holder != NULL && ga_list_empty(&holder->entries)) {
        ga_list_remove(&holder->link);
        free(holder);
    }
}

/* The holder stays, even without any. */
static void images_drop(struct images *images, struct images_entry *entry)
{
    ga_list_remove(&entry->link);
    entry->holder->held -= entry->weight;
    images->held -= entry->weight;
    close(entry->fd);
    free(entry);
}

static void images_holder_drop(struct images *images, struct images_holder *holder)
{
    ga_list_each (at, next, &holder->entries) {
        images_drop(images, ga_container(at, struct images_entry, link));
    }
    images_holder_end(holder);
}

void images_forget(struct images *images, const struct owner *owner)
{
    struct images_holder *holder = images_holder_of(images, owner);
    if (holder != NULL) {
        images_holder_drop(images, holder);
    }
}

void images_fini(struct images *images)
{
    ga_list_each (at, next, &images->holders) {
        images_holder_drop(images, ga_container(at, struct images_holder, link));
    }
}

/* ---- room */

static uint64_t images_weight(const struct images *images, uint64_t size)
{
    uint64_t least = (images->most + images->count_most - 1) / images->count_most;
    return size > least ? size : least;
}

/* The owner that has most, where `keeper` counts as if it had `more` already. */
static struct images_holder *images_largest(const struct images *images,
                                            struct images_holder *keeper, uint64_t more)
{
    struct images_holder *largest = keeper;
    uint64_t most = keeper->held + more;
    ga_list_each (at, next, &images->holders) {
        struct images_holder *holder = ga_container(at, struct images_holder, link);
        if (holder != keeper && holder->held > most) {
            largest = holder;
            most = holder->held;
        }
    }
    return largest;
}

/* `keeper` gets room for an image of this weight. False: nobody else has more than it would. */
static bool images_make_room(struct images *images, struct images_holder *keeper, uint64_t weight)
{
    while (images->most - images->held < weight) {
        struct images_holder *from = images_largest(images, keeper, weight);
        if (ga_list_empty(&from->entries)) {
            return false;
        }
        images_drop(images, ga_container(from->entries.next, struct images_entry, link));
        if (from != keeper) {
            images_holder_end(from);
        }
    }
    return true;
}

/* ---- keeping and finding */

/* Returns the entry, and notes that it has been used last. */
static struct images_entry *images_entry_of(struct images_holder *holder, const uint8_t *name,
                                            uint64_t size)
{
    ga_list_each (at, next, &holder->entries) {
        struct images_entry *entry = ga_container(at, struct images_entry, link);
        if (entry->size == size && memcmp(entry->name, name, sizeof entry->name) == 0) {
            ga_list_remove(&entry->link);
            ga_list_append(&holder->entries, &entry->link);
            return entry;
        }
    }
    return NULL;
}

int images_find(struct images *images, const struct owner *owner, const uint8_t *name,
                uint64_t size)
{
    struct images_holder *holder = images_holder_of(images, owner);
    const struct images_entry *entry = holder != NULL ? images_entry_of(holder, name, size) : NULL;
    return entry != NULL ? entry->fd : -1;
}

enum ga_status images_keep(struct images *images, const struct owner *owner, const uint8_t *name,
                           uint64_t size, int fd)
{
    uint64_t weight = images_weight(images, size);
    if (size < API_IMAGE_NAMED_MIN || size > API_IMAGE_MAX || fd < 0 ||
        !ga_shared_memory_is_frozen(fd, (uint64_t)wire_padded(size) + 1)) {
        return GA_INVALID;
    }
    if (weight > images->most) {
        return GA_NO_MEMORY;
    }
    struct images_holder *holder = images_holder_of(images, owner);
    if (holder != NULL && images_entry_of(holder, name, size) != NULL) {
        close(fd); /* another of its programs has sent it in between */
        return GA_OK;
    }
    struct images_entry *entry = calloc(1, sizeof *entry);
    holder = holder != NULL || entry == NULL ? holder : images_holder_make(images, owner);
    if (entry == NULL || holder == NULL || !images_make_room(images, holder, weight)) {
        free(entry);
        images_holder_end(holder);
        return GA_NO_MEMORY;
    }
    *entry = (struct images_entry){.holder = holder, .size = size, .weight = weight, .fd = fd};
    memcpy(entry->name, name, sizeof entry->name);
    ga_list_append(&holder->entries, &entry->link);
    holder->held += weight;
    images->held += weight;
    return GA_OK;
}

bool images_answer(struct images *images, const struct owner *owner, struct channel_request *packet,
                   int *fd)
{
    int given = *fd;
    *fd = -1;
    if (packet->verb == CHANNEL_IMAGE_KEEP) {
        if ((owner == NULL || GA_FAILPOINT("gpuaasd: an image comes") ||
             images_keep(images, owner, packet->key, packet->bytes, given) != GA_OK) &&
            given >= 0) {
            close(given);
        }
        return false;
    }
    if (given >= 0) {
        close(given);
    }
    if (owner != NULL && !GA_FAILPOINT("gpuaasd: an image is asked for")) {
        *fd = images_find(images, owner, packet->key, packet->bytes);
    }
    packet->result = *fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    return true;
}
