/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects by handle, looked up by kernels without a lock.
 *
 * A handle is a serial number of the process above the index of a slot. A slot has one object;
 * objects with given handles are there besides. A removed object leaves its slot at once; its
 * memory is freed when the table has no users, since later users do not find it in the slot. */
#include "softgpu/engine/texture_objects.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "softgpu/engine/texture.h"

#define OBJECTS_INDEX_BITS 20
#define OBJECTS_PAGE_BITS  10
#define OBJECTS_PAGE_SLOTS (1u << OBJECTS_PAGE_BITS)
#define OBJECTS_PAGES      (1u << (OBJECTS_INDEX_BITS - OBJECTS_PAGE_BITS))

#define OBJECTS_INDEX_MASK ((UINT64_C(1) << OBJECTS_INDEX_BITS) - 1)
#define SERIAL_MAX         (UINT64_C(1) << 43) /* of a given handle: many more may follow */

struct entry {
    struct sg_object object;        /* first */
    _Atomic(struct entry *) beside; /* the next one of the slot; stays when this one is removed */
    struct entry *next;             /* of the removed objects */
    bool placed;                    /* it does not use up the slot */
};

struct slot {
    _Atomic(struct entry *) entry; /* NULL: none */
    uint32_t next_free;            /* index + 1; 0: none */
};

static _Atomic uint64_t last_serial;

struct sg_objects {
    _Atomic(struct slot *) pages[OBJECTS_PAGES];
    _Atomic uint64_t users;
    uint32_t used; /* slots handed out at least once */
    uint32_t free; /* index + 1 */
    struct entry *removed;
};

struct sg_objects *sg_objects_create(void)
{
    return calloc(1, sizeof(struct sg_objects));
}

static void drop_removed(struct sg_objects *objects)
{
    while (objects->removed != NULL) {
        struct entry *next = objects->removed->next;
        free(objects->removed);
        objects->removed = next;
    }
}

void sg_objects_destroy(struct sg_objects *objects)
{
    if (objects == NULL) {
        return;
    }
    drop_removed(objects);
    for (uint32_t p = 0; p < OBJECTS_PAGES; p++) {
        struct slot *page = atomic_load(&objects->pages[p]);
        for (uint32_t i = 0; page != NULL && i < OBJECTS_PAGE_SLOTS; i++) {
            for (struct entry *entry = atomic_load(&page[i].entry); entry != NULL;) {
                struct entry *beside = atomic_load(&entry->beside);
                free(entry);
                entry = beside;
            }
        }
        free(page);
    }
    free(objects);
}

void sg_objects_use(struct sg_objects *objects)
{
    if (objects != NULL) {
        atomic_fetch_add(&objects->users, 1);
    }
}

void sg_objects_leave(struct sg_objects *objects)
{
    if (objects != NULL) {
        atomic_fetch_sub(&objects->users, 1);
    }
}

/* NULL: its page does not exist yet */
static struct slot *objects_slot_at(const struct sg_objects *objects, uint32_t index)
{
    struct slot *page = atomic_load(&objects->pages[index >> OBJECTS_PAGE_BITS]);
    return page != NULL ? &page[index & (OBJECTS_PAGE_SLOTS - 1)] : NULL;
}

/* As objects_slot_at, and makes its page. NULL: no memory */
static struct slot *objects_slot_make(struct sg_objects *objects, uint32_t index)
{
    _Atomic(struct slot *) *page = &objects->pages[index >> OBJECTS_PAGE_BITS];
    if (atomic_load(page) == NULL) {
        struct slot *fresh = calloc(OBJECTS_PAGE_SLOTS, sizeof *fresh);
        if (fresh == NULL) {
            return NULL;
        }
        atomic_store(page, fresh);
    }
    return objects_slot_at(objects, index);
}

/* A free slot, or NULL */
static struct slot *objects_slot_take(struct sg_objects *objects, uint32_t *index)
{
    if (objects->free) {
        *index = objects->free - 1;
        struct slot *slot = objects_slot_at(objects, *index);
        objects->free = slot->next_free;
        return slot;
    }
    if (objects->used == 1u << OBJECTS_INDEX_BITS) {
        return NULL;
    }
    *index = objects->used;
    struct slot *slot = objects_slot_make(objects, *index);
    objects->used += slot != NULL;
    return slot;
}

static bool sampler_is_right(const struct sg_sampler *sampler)
{
    for (int i = 0; i < 3; i++) {
        if ((unsigned)sampler->address[i] > SG_ADDRESS_BORDER) {
            return false;
        }
    }
    return true;
}

static bool object_is_right(const struct sg_object *object)
{
    return (unsigned)object->kind <= SG_OBJECT_SURFACE && sg_texels_are_right(&object->texels) &&
           (object->kind != SG_OBJECT_TEXTURE || sampler_is_right(&object->sampler));
}

static void entry_enter(struct slot *slot, struct entry *entry)
{
    atomic_store(&entry->beside, atomic_load(&slot->entry));
    atomic_store(&slot->entry, entry);
}

enum ga_status sg_objects_add(struct sg_objects *objects, const struct sg_object *object,
                              uint64_t *handle)
{
    if (!object_is_right(object)) {
        return GA_INVALID;
    }
    if (atomic_load(&objects->users) == 0) {
        drop_removed(objects);
    }
    uint32_t index;
    struct entry *entry = malloc(sizeof *entry);
    struct slot *slot = entry != NULL ? objects_slot_take(objects, &index) : NULL;
    if (slot == NULL) {
        free(entry);
        return GA_NO_MEMORY;
    }
    entry->object = *object;
    entry->object.handle = (atomic_fetch_add(&last_serial, 1) + 1) << OBJECTS_INDEX_BITS | index;
    entry->placed = false;
    entry_enter(slot, entry);
    *handle = entry->object.handle;
    return GA_OK;
}

enum ga_status sg_objects_place(struct sg_objects *objects, const struct sg_object *object,
                                uint64_t handle)
{
    uint64_t serial = handle >> OBJECTS_INDEX_BITS, last = atomic_load(&last_serial);
    if (!object_is_right(object) || serial == 0 || serial > SERIAL_MAX) {
        return GA_INVALID;
    }
    if (sg_objects_find(objects, handle) != NULL) {
        return GA_DENIED;
    }
    struct entry *entry = malloc(sizeof *entry);
    struct slot *slot =
        entry != NULL ? objects_slot_make(objects, handle & OBJECTS_INDEX_MASK) : NULL;
    if (slot == NULL) {
        free(entry);
        return GA_NO_MEMORY;
    }
    while (last < serial && !atomic_compare_exchange_weak(&last_serial, &last, serial)) {
    }
    entry->object = *object;
    entry->object.handle = handle;
    entry->placed = true;
    entry_enter(slot, entry);
    return GA_OK;
}

const struct sg_object *sg_objects_find(const struct sg_objects *objects, uint64_t handle)
{
    struct slot *slot =
        objects != NULL ? objects_slot_at(objects, handle & OBJECTS_INDEX_MASK) : NULL;
    struct entry *entry = slot != NULL ? atomic_load(&slot->entry) : NULL;
    while (entry != NULL && entry->object.handle != handle) {
        entry = atomic_load(&entry->beside);
    }
    return entry != NULL ? &entry->object : NULL;
}

bool sg_objects_remove(struct sg_objects *objects, uint64_t handle)
{
    if (sg_objects_find(objects, handle) == NULL) {
        return false;
    }
    uint32_t index = handle & OBJECTS_INDEX_MASK;
    struct slot *slot = objects_slot_at(objects, index);
    _Atomic(struct entry *) *at = &slot->entry;
    struct entry *entry = atomic_load(at);
    while (entry->object.handle != handle) {
        at = &entry->beside;
        entry = atomic_load(at);
    }
    atomic_store(at, atomic_load(&entry->beside));
    if (!entry->placed) {
        slot->next_free = objects->free;
        objects->free = index + 1;
    }
    entry->next = objects->removed;
    objects->removed = entry;
    if (atomic_load(&objects->users) == 0) {
        drop_removed(objects);
    }
    return true;
}
