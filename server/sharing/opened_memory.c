/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sharing/opened_memory.h"

#include <stdlib.h>

struct opened_memory {
    struct ga_list link;  /* of the application that has made it */
    struct opener *maker; /* NULL: it has freed it, or has ended */
    uint32_t what, gpu;
    uint64_t at, bytes;
    struct ga_list openings; /* struct opening, in the order in which it was opened */
    struct opening *payer;   /* NULL: its maker, or nobody */
    uint32_t entries;
};

struct opening {
    struct ga_list of_opener, of_memory;
    struct ga_number_node node;
    struct opener *opener;
    struct opened_memory *memory;
};

void opened_init(struct opener *opener,
                 void (*charge)(void *user, enum opened_charge change, uint32_t gpu,
                                uint64_t bytes),
                 void *user)
{
    *opener = (struct opener){.charge = charge, .user = user};
    ga_list_init(&opener->made);
    ga_list_init(&opener->opened);
}

/* Charges it to the next one, if nobody is charged; forgets it if nobody has it, or can open it. */
static void opened_memory_settle(struct opened_memory *memory)
{
    bool held = !ga_list_empty(&memory->openings);
    if (held && memory->maker == NULL && memory->payer == NULL) {
        memory->payer = ga_container(memory->openings.next, struct opening, of_memory);
        const struct opener *opener = memory->payer->opener;
        opener->charge(opener->user, OPENED_TAKEN_OVER, memory->gpu, memory->bytes);
    }
    if (!held && memory->entries == 0) {
        ga_list_remove(&memory->link);
        free(memory);
    }
}

static void opening_end(struct opening *opening)
{
    struct opened_memory *memory = opening->memory;
    struct opener *opener = opening->opener;
    ga_list_remove(&opening->of_opener);
    ga_list_remove(&opening->of_memory);
    ga_number_map_remove(&opener->openings, &opening->node);
    opener->count--;
    if (memory->payer == opening) {
        memory->payer = NULL;
        opener->charge(opener->user, OPENED_GIVEN_UP, memory->gpu, memory->bytes);
    }
    free(opening);
    opened_memory_settle(memory);
}

static void maker_end(struct opened_memory *memory)
{
    ga_list_remove(&memory->link);
    memory->maker = NULL;
    opened_memory_settle(memory);
}

void opened_end(struct opener *opener)
{
    ga_list_each (at, next, &opener->opened) {
        opening_end(ga_container(at, struct opening, of_opener));
    }
    ga_list_each (at, next, &opener->made) {
        maker_end(ga_container(at, struct opened_memory, link));
    }
}

/* ---- what it has made */

static struct opened_memory *made_find(const struct opener *opener, uint32_t what, uint64_t at)
{
    ga_list_each (link, next, &opener->made) {
        struct opened_memory *memory = ga_container(link, struct opened_memory, link);
        if (memory->what == what && memory->at == at) {
            return memory;
        }
    }
    return NULL;
}

/* Allocations of one mapping are one memory. */
static struct opened_memory *made_of(struct opener *opener, const struct channel_request *packet)
{
    uint64_t at = packet->address - packet->offset;
    uint64_t bytes = packet->what == CHANNEL_MEMORY ? packet->mapping_bytes : packet->bytes;
    struct opened_memory *memory = made_find(opener, packet->what, at);
    if (memory == NULL && bytes <= CHANNEL_BOUNDLESS) { /* so that sums stay sums */
        memory = calloc(1, sizeof *memory);
        if (memory != NULL) {
            *memory = (struct opened_memory){.maker = opener,
                                             .what = packet->what,
                                             .gpu = packet->gpu,
                                             .at = at,
                                             .bytes = bytes};
            ga_list_init(&memory->openings);
            ga_list_append(&opener->made, &memory->link);
        }
    }
    return memory;
}

uint64_t opened_memory_freed(struct opener *opener, uint32_t what, uint64_t at)
{
    struct opened_memory *memory = made_find(opener, what, at);
    if (memory == NULL) {
        return 0;
    }
    uint64_t passed = ga_list_empty(&memory->openings) ? 0 : memory->bytes;
    uint32_t gpu = memory->gpu;
    maker_end(memory);
    if (passed != 0) {
        opener->charge(opener->user, OPENED_PASSED_ON, gpu, passed);
    }
    return passed;
}

/* ---- what it has opened */

static struct opening *opening_find(struct opener *opener, uint64_t number)
{
    struct ga_number_node *node = ga_number_map_find(&opener->openings, number);
    return node != NULL ? ga_container(node, struct opening, node) : NULL;
}

/* Opened memory may be shared, too: it is one memory. */
struct opened_memory *opened_memory_share(struct opener *opener,
                                          const struct channel_request *packet)
{
    struct opening *opening = packet->opening != 0 ? opening_find(opener, packet->opening) : NULL;
    struct opened_memory *memory = opening != NULL        ? opening->memory
                                   : packet->opening == 0 ? made_of(opener, packet)
                                                          : NULL;
    if (memory != NULL) {
        memory->entries++;
    }
    return memory;
}

void opened_memory_withdraw(struct opened_memory *memory)
{
    memory->entries--;
    opened_memory_settle(memory);
}

uint64_t opened_memory_open(struct opened_memory *memory, struct opener *opener)
{
    struct opening *opening =
        opener->count < CHANNEL_OPENINGS_MAX ? calloc(1, sizeof *opening) : NULL;
    if (opening == NULL) {
        return 0;
    }
    *opening = (struct opening){.opener = opener, .memory = memory};
    ga_list_append(&opener->opened, &opening->of_opener);
    ga_list_append(&memory->openings, &opening->of_memory);
    ga_number_map_add(&opener->openings, &opening->node, ++opener->last);
    opener->count++;
    opened_memory_settle(memory);
    return opening->node.number;
}

void opened_memory_close(struct opener *opener, uint64_t number)
{
    struct opening *opening = opening_find(opener, number);
    if (opening != NULL) {
        opening_end(opening);
    }
}
