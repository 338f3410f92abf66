/* Objects by handle: an array of slots with a free list; generation 0 never occurs. */
#include "base/handle_table.h"

#include <stdlib.h>
#include <string.h>

void ga_handle_table_init(struct ga_handle_table *table, enum ga_handle_type type, uint32_t limit)
{
    *table = (struct ga_handle_table){.type = type, .limit = limit, .used = 1};
}

void ga_handle_table_fini(struct ga_handle_table *table)
{
    free(table->slots);
    table->slots = NULL;
    table->capacity = 0;
    table->live = 0;
}

static enum ga_status table_grow(struct ga_handle_table *table, uint32_t index)
{
    if (index < table->capacity) {
        return GA_OK;
    }
    uint64_t capacity = table->capacity != 0 ? table->capacity : 16;
    while (capacity <= index) {
        capacity *= 2;
    }
    struct ga_handle_slot *slots = realloc(table->slots, capacity * sizeof *slots);
    if (slots == NULL) {
        return GA_NO_MEMORY;
    }
    memset(slots + table->capacity, 0, (capacity - table->capacity) * sizeof *slots);
    table->slots = slots;
    table->capacity = (uint32_t)capacity;
    return GA_OK;
}

enum ga_status ga_handle_table_make(struct ga_handle_table *table, void *object, uint64_t *handle)
{
    if (table->live >= table->limit) {
        return GA_NO_MEMORY;
    }
    uint32_t index = table->free_head;
    if (index == 0) {
        index = table->used;
        GA_TRY(table_grow(table, index));
        table->used++;
    } else {
        table->free_head = table->slots[index].next_free;
    }
    struct ga_handle_slot *slot = &table->slots[index];
    slot->generation = (slot->generation + 1) & 0xffffffu;
    if (slot->generation == 0) {
        slot->generation = 1;
    }
    slot->object = object;
    table->live++;
    *handle = ga_handle_make(table->type, slot->generation, index);
    return GA_OK;
}

enum ga_status ga_handle_table_take(struct ga_handle_table *table, uint64_t handle, void *object)
{
    uint32_t index = ga_handle_index(handle);
    if (ga_handle_type_of(handle) != table->type || ga_handle_generation(handle) == 0 ||
        index == 0) {
        return GA_INVALID;
    }
    if (index > table->limit) {
        return GA_NO_MEMORY;
    }
    GA_TRY(table_grow(table, index));
    struct ga_handle_slot *slot = &table->slots[index];
    if (slot->object != NULL) {
        return GA_INVALID;
    }
    slot->object = object;
    slot->generation = ga_handle_generation(handle);
    if (index >= table->used) {
        table->used = index + 1;
    }
    table->live++;
    return GA_OK;
}

static struct ga_handle_slot *table_slot(const struct ga_handle_table *table, uint64_t handle)
{
    uint32_t index = ga_handle_index(handle);
    if (ga_handle_type_of(handle) != table->type || index >= table->capacity || index == 0) {
        return NULL;
    }
    struct ga_handle_slot *slot = &table->slots[index];
    if (slot->object == NULL || slot->generation != ga_handle_generation(handle)) {
        return NULL;
    }
    return slot;
}

void *ga_handle_table_find(const struct ga_handle_table *table, uint64_t handle)
{
    struct ga_handle_slot *slot = table_slot(table, handle);
    return slot != NULL ? slot->object : NULL;
}

void *ga_handle_table_remove(struct ga_handle_table *table, uint64_t handle)
{
    struct ga_handle_slot *slot = table_slot(table, handle);
    if (slot == NULL) {
        return NULL;
    }
    void *object = slot->object;
    slot->object = NULL;
    slot->next_free = table->free_head;
    table->free_head = ga_handle_index(handle);
    table->live--;
    return object;
}

void *ga_handle_table_next(const struct ga_handle_table *table, uint32_t *index, uint64_t *handle)
{
    for (uint32_t i = *index + 1; i < table->used && i < table->capacity; i++) {
        const struct ga_handle_slot *slot = &table->slots[i];
        if (slot->object != NULL) {
            *index = i;
            *handle = ga_handle_make(table->type, slot->generation, i);
            return slot->object;
        }
    }
    return NULL;
}
