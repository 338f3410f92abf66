/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sharing/held_memory.h"

#include <stdlib.h>

struct held_memory {
    struct ga_list link;  /* of the application that has made it */
    struct holder *maker; /* NULL: it has freed it, or has ended */
    uint32_t what, gpu;
    uint64_t at, bytes;
    struct ga_list holds; /* struct hold, in the order in which it was opened */
    struct hold *payer;   /* NULL: its maker, or nobody */
    uint32_t entries;
};

struct hold {
    struct ga_list of_holder, of_memory;
    struct ga_number_node node;
    struct holder *holder;
    struct held_memory *memory;
};

void held_holder_init(struct holder *holder,
                      void (*charge)(void *user, enum held_charge change, uint32_t gpu,
                                     uint64_t bytes),
                      void *user)
{
    *holder = (struct holder){.charge = charge, .user = user};
    ga_list_init(&holder->made);
    ga_list_init(&holder->opened);
}

/* Charges it to the next one, if nobody is charged; forgets it if nobody has it, or can open it. */
static void held_memory_settle(struct held_memory *memory)
{
    bool held = !ga_list_empty(&memory->holds);
    if (held && memory->maker == NULL && memory->payer == NULL) {
        memory->payer = ga_container(memory->holds.next, struct hold, of_memory);
        const struct holder *holder = memory->payer->holder;
        holder->charge(holder->user, HELD_TAKEN_OVER, memory->gpu, memory->bytes);
    }
    if (!held && memory->entries == 0) {
        ga_list_remove(&memory->link);
        free(memory);
    }
}

static void hold_end(struct hold *hold)
{
    struct held_memory *memory = hold->memory;
    struct holder *holder = hold->holder;
    ga_list_remove(&hold->of_holder);
    ga_list_remove(&hold->of_memory);
    ga_number_map_remove(&holder->holds, &hold->node);
    holder->count--;
    if (memory->payer == hold) {
        memory->payer = NULL;
        holder->charge(holder->user, HELD_GIVEN_UP, memory->gpu, memory->bytes);
    }
    free(hold);
    held_memory_settle(memory);
}

static void maker_end(struct held_memory *memory)
{
    ga_list_remove(&memory->link);
    memory->maker = NULL;
    held_memory_settle(memory);
}

void held_holder_end(struct holder *holder)
{
    ga_list_each (at, next, &holder->opened) {
        hold_end(ga_container(at, struct hold, of_holder));
    }
    ga_list_each (at, next, &holder->made) {
        maker_end(ga_container(at, struct held_memory, link));
    }
}

/* ---- what it has made */

static struct held_memory *made_find(const struct holder *holder, uint32_t what, uint64_t at)
{
    ga_list_each (link, next, &holder->made) {
        struct held_memory *memory = ga_container(link, struct held_memory, link);
        if (memory->what == what && memory->at == at) {
            return memory;
        }
    }
    return NULL;
}

/* Allocations of one mapping are one memory. */
static struct held_memory *made_of(struct holder *holder, const struct channel_request *packet)
{
    uint64_t at = packet->address - packet->offset;
    uint64_t bytes = packet->what == CHANNEL_MEMORY ? packet->mapping_bytes : packet->bytes;
    struct held_memory *memory = made_find(holder, packet->what, at);
    if (memory == NULL && bytes <= CHANNEL_BOUNDLESS) { /* so that sums stay sums */
        memory = calloc(1, sizeof *memory);
        if (memory != NULL) {
            *memory = (struct held_memory){.maker = holder,
                                           .what = packet->what,
                                           .gpu = packet->gpu,
                                           .at = at,
                                           .bytes = bytes};
            ga_list_init(&memory->holds);
            ga_list_append(&holder->made, &memory->link);
        }
    }
    return memory;
}

uint64_t held_memory_freed(struct holder *holder, uint32_t what, uint64_t at)
{
    struct held_memory *memory = made_find(holder, what, at);
    if (memory == NULL) {
        return 0;
    }
    uint64_t passed = ga_list_empty(&memory->holds) ? 0 : memory->bytes;
    uint32_t gpu = memory->gpu;
    maker_end(memory);
    if (passed != 0) {
        holder->charge(holder->user, HELD_PASSED_ON, gpu, passed);
    }
    return passed;
}

/* ---- what it has opened */

static struct hold *hold_find(struct holder *holder, uint64_t number)
{
    struct ga_number_node *node = ga_number_map_find(&holder->holds, number);
    return node != NULL ? ga_container(node, struct hold, node) : NULL;
}

/* Opened memory may be shared, too: it is one memory. */
struct held_memory *held_memory_share(struct holder *holder, const struct channel_request *packet)
{
    struct hold *hold = packet->hold != 0 ? hold_find(holder, packet->hold) : NULL;
    struct held_memory *memory = hold != NULL        ? hold->memory
                                 : packet->hold == 0 ? made_of(holder, packet)
                                                     : NULL;
    if (memory != NULL) {
        memory->entries++;
    }
    return memory;
}

void held_memory_withdraw(struct held_memory *memory)
{
    memory->entries--;
    held_memory_settle(memory);
}

uint64_t held_memory_open(struct held_memory *memory, struct holder *holder)
{
    struct hold *hold = holder->count < CHANNEL_HOLDS_MAX ? calloc(1, sizeof *hold) : NULL;
    if (hold == NULL) {
        return 0;
    }
    *hold = (struct hold){.holder = holder, .memory = memory};
    ga_list_append(&holder->opened, &hold->of_holder);
    ga_list_append(&memory->holds, &hold->of_memory);
    ga_number_map_add(&holder->holds, &hold->node, ++holder->last);
    holder->count++;
    held_memory_settle(memory);
    return hold->node.number;
}

void held_memory_close(struct holder *holder, uint64_t number)
{
    struct hold *hold = hold_find(holder, number);
    if (hold != NULL) {
        hold_end(hold);
    }
}
