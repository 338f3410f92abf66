/* SPDX-License-Identifier: Apache-2.0 */
/* Objects by handle: blocks of slots with a free list; generation 0 never occurs. */
#include "base/handle_table.h"

#include <stdlib.h>

static void live_change(struct ga_handle_table *table, int32_t by)
{
    table->live += (uint32_t)by;
    if (table->shown != NULL) {
        atomic_store_explicit(table->shown, table->live, memory_order_relaxed);
    }
}

static bool object_pay(struct ga_handle_table *table)
{
    return table->budget.take == NULL ||
           table->budget.take(table->budget.user, table->object_bytes);
}

static void object_repay(struct ga_handle_table *table, uint32_t objects)
{
    if (table->budget.give != NULL && objects != 0) {
        table->budget.give(table->budget.user, objects, (uint64_t)objects * table->object_bytes);
    }
}

void ga_handle_table_init(struct ga_handle_table *table, enum ga_handle_type type, uint32_t limit)
{
    *table = (struct ga_handle_table){.type = type, .limit = limit, .used = 1};
}

void ga_handle_table_fini(struct ga_handle_table *table)
{
    for (unsigned i = 0; i < GA_HANDLE_BLOCKS; i++) {
        free(atomic_load(&table->blocks[i]));
        atomic_store(&table->blocks[i], NULL);
    }
    object_repay(table, table->live);
    live_change(table, -(int32_t)table->live);
}

void ga_handle_table_show(struct ga_handle_table *table, _Atomic uint64_t *shown)
{
    table->shown = shown;
    atomic_store_explicit(shown, table->live, memory_order_relaxed);
}

void ga_handle_table_charge(struct ga_handle_table *table, const struct ga_handle_budget *budget,
                            uint32_t object_bytes)
{
    table->budget = *budget;
    table->object_bytes = object_bytes;
}

/* Block 0 has the slots 0 to 15, block n the 16 * 2^(n - 1) slots from 16 * 2^(n - 1) on. */
static unsigned handle_block_of(uint32_t index)
{
    uint32_t sixteens = index / 16;
    return sixteens != 0 ? 32 - (unsigned)__builtin_clz(sixteens) : 0;
}

static uint32_t block_start(unsigned block)
{
    return block != 0 ? 16u << (block - 1) : 0;
}

/* NULL: the slot has never had an object. */
static struct ga_handle_slot *handle_slot_at(const struct ga_handle_table *table, uint32_t index)
{
    unsigned block = handle_block_of(index);
    struct ga_handle_slot *slots =
        atomic_load_explicit(&table->blocks[block], memory_order_acquire);
    return slots != NULL ? &slots[index - block_start(block)] : NULL;
}

static enum ga_status slot_need(struct ga_handle_table *table, uint32_t index,
                                struct ga_handle_slot **out)
{
    unsigned block = handle_block_of(index);
    if (atomic_load(&table->blocks[block]) == NULL) {
        struct ga_handle_slot *slots =
            calloc(block != 0 ? block_start(block) : 16, sizeof(struct ga_handle_slot));
        if (slots == NULL) {
            return GA_NO_MEMORY;
        }
        atomic_store_explicit(&table->blocks[block], slots, memory_order_release);
    }
    *out = handle_slot_at(table, index);
    return GA_OK;
}

enum ga_status ga_handle_table_make(struct ga_handle_table *table, void *object, uint64_t *handle)
{
    if (table->live >= table->limit) {
        return GA_NO_MEMORY;
    }
    uint32_t index = table->free_head;
    struct ga_handle_slot *slot;
    if (index == 0) {
        index = table->used;
        GA_TRY(slot_need(table, index, &slot));
    } else {
        slot = handle_slot_at(table, index);
    }
    if (!object_pay(table)) {
        return GA_NO_MEMORY;
    }
    if (table->free_head == 0) {
        table->used++;
    } else {
        table->free_head = slot->next_free;
    }
    uint32_t generation = (atomic_load(&slot->generation) + 1) & 0xffffffu;
    generation = generation != 0 ? generation : 1;
    atomic_store(&slot->generation, generation);
    *handle = ga_handle_make(table->type, generation, index);
    atomic_store_explicit(&slot->object, object, memory_order_release);
    live_change(table, 1);
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
    struct ga_handle_slot *slot;
    GA_TRY(slot_need(table, index, &slot));
    if (atomic_load(&slot->object) != NULL) {
        return GA_INVALID;
    }
    if (!object_pay(table)) {
        return GA_NO_MEMORY;
    }
    atomic_store(&slot->generation, ga_handle_generation(handle));
    atomic_store_explicit(&slot->object, object, memory_order_release);
    if (index >= table->used) {
        table->used = index + 1;
    }
    live_change(table, 1);
    return GA_OK;
}

static struct ga_handle_slot *live_slot(const struct ga_handle_table *table, uint64_t handle,
                                        void **object)
{
    uint32_t index = ga_handle_index(handle);
    if (ga_handle_type_of(handle) != table->type || index == 0) {
        return NULL;
    }
    struct ga_handle_slot *slot = handle_slot_at(table, index);
    *object = slot != NULL ? atomic_load_explicit(&slot->object, memory_order_acquire) : NULL;
    return *object != NULL && atomic_load_explicit(&slot->generation, memory_order_relaxed) ==
                                  ga_handle_generation(handle)
               ? slot
               : NULL;
}

void *ga_handle_table_find(const struct ga_handle_table *table, uint64_t handle)
{
    void *object;
    return live_slot(table, handle, &object) != NULL ? object : NULL;
}

void *ga_handle_table_remove(struct ga_handle_table *table, uint64_t handle)
{
    void *object;
    struct ga_handle_slot *slot = live_slot(table, handle, &object);
    if (slot == NULL) {
        return NULL;
    }
    atomic_store(&slot->object, NULL);
    slot->next_free = table->free_head;
    table->free_head = ga_handle_index(handle);
    object_repay(table, 1);
    live_change(table, -1);
    return object;
}

void *ga_handle_table_next(const struct ga_handle_table *table, uint32_t *index, uint64_t *handle)
{
    for (uint32_t i = *index + 1; i < table->used; i++) {
        const struct ga_handle_slot *slot = handle_slot_at(table, i);
        void *object = slot != NULL ? atomic_load(&slot->object) : NULL;
        if (object != NULL) {
            *index = i;
            *handle = ga_handle_make(table->type, atomic_load(&slot->generation), i);
            return object;
        }
    }
    return NULL;
}
