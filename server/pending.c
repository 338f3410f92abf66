/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pending.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The most steps in succession of those that have begun, while others wait. */
#define BEGUN_TURNS 3u

struct pending_source {
    struct ga_number_node known;
    struct ga_list link;       /* of those that have as many connections */
    struct ga_list entries[2]; /* those that have said nothing, and the others; longest first */
    unsigned counts[2];
    /* Those that wait for a step; the last one to ask first */
    struct ga_list steps[PENDING_STEPS], turns[PENDING_STEPS];
    unsigned count;
};

enum ga_status pending_table_init(struct pending_table *table, unsigned most)
{
    *table = (struct pending_table){.most = most};
    /* While the next one is added there is one more than may stay. */
    table->sources = calloc((size_t)most + 2, sizeof *table->sources);
    if (table->sources == NULL) {
        return GA_NO_MEMORY;
    }
    for (unsigned i = 0; i < most + 2; i++) {
        ga_list_init(&table->sources[i]);
    }
    ga_list_init(&table->entries);
    for (unsigned i = 0; i < PENDING_STEPS; i++) {
        ga_list_init(&table->stepping[i]);
    }
    (void)!getrandom(&table->seed, sizeof table->seed, 0);
    return GA_OK;
}

void pending_table_fini(struct pending_table *table)
{
    assert(table->count == 0);
    free(table->sources);
    table->sources = NULL;
}

/* ---- sources */

/* The finalizer of MurmurHash3: each bit of the result depends on all bits. */
static uint64_t mixed(uint64_t word)
{
    word = (word ^ (word >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    word = (word ^ (word >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return word ^ (word >> 33);
}

/* Sources are told apart by a hash of which nobody outside knows the seed. */
static uint64_t source_number(const struct pending_table *table,
                              const uint8_t bytes[TRANSPORT_SOURCE_BYTES])
{
    uint64_t words[TRANSPORT_SOURCE_BYTES / 8], number = table->seed;
    memcpy(words, bytes, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        number = mixed(number ^ words[i]) + table->seed;
    }
    return number;
}

static struct pending_source *source_find(struct pending_table *table,
                                          const uint8_t bytes[TRANSPORT_SOURCE_BYTES])
{
    uint64_t number = source_number(table, bytes);
    struct ga_number_node *node = ga_number_map_find(&table->by_number, number);
    if (node != NULL) {
        return ga_container(node, struct pending_source, known);
    }
    struct pending_source *made = calloc(1, sizeof *made);
    if (made != NULL) {
        ga_list_init(&made->link);
        for (int i = 0; i < 2; i++) {
            ga_list_init(&made->entries[i]);
        }
        for (unsigned i = 0; i < PENDING_STEPS; i++) {
            ga_list_init(&made->steps[i]);
            ga_list_init(&made->turns[i]);
        }
        ga_number_map_add(&table->by_number, &made->known, number);
        table->source_count++;
    }
    return made;
}

/* Moves it to the sources that have as many connections; the last one is freed with its last. */
static void pending_source_count(struct pending_table *table, struct pending_source *source,
                                 int more)
{
    ga_list_remove(&source->link);
    source->count += (unsigned)more;
    if (source->count == 0) {
        ga_number_map_remove(&table->by_number, &source->known);
        table->source_count--;
        free(source);
    } else {
        ga_list_append(&table->sources[source->count], &source->link);
        table->highest = source->count > table->highest ? source->count : table->highest;
    }
    while (table->highest != 0 && ga_list_empty(&table->sources[table->highest])) {
        table->highest--;
    }
}

/* ---- entries */

static void pending_entry_enter(struct pending_entry *entry, bool heard)
{
    entry->heard = heard;
    entry->source->counts[heard]++;
    ga_list_append(&entry->source->entries[heard], &entry->of_source);
}

static void pending_entry_leave(struct pending_entry *entry)
{
    entry->source->counts[entry->heard]--;
    ga_list_remove(&entry->of_source);
}

enum ga_status pending_table_add(struct pending_table *table, struct pending_entry *entry,
                                 const uint8_t source[TRANSPORT_SOURCE_BYTES], uint64_t now_ns)
{
    assert(table->count <= table->most);
    struct pending_source *of = source_find(table, source);
    if (of == NULL) {
        return GA_NO_MEMORY;
    }
    entry->source = of;
    entry->since_ns = now_ns;
    pending_entry_enter(entry, false);
    ga_list_append(&table->entries, &entry->of_all);
    ga_list_init(&entry->step);
    table->count++;
    pending_source_count(table, of, 1);
    return GA_OK;
}

void pending_entry_heard(struct pending_entry *entry)
{
    if (!entry->heard) {
        pending_entry_leave(entry);
        pending_entry_enter(entry, true);
    }
}

static void step_forget(struct pending_entry *entry)
{
    ga_list_remove(&entry->step);
    if (ga_list_empty(&entry->source->steps[entry->among])) {
        ga_list_remove(&entry->source->turns[entry->among]);
    }
}

void pending_table_remove(struct pending_table *table, struct pending_entry *entry)
{
    if (entry->source == NULL) {
        return;
    }
    step_forget(entry);
    pending_entry_leave(entry);
    ga_list_remove(&entry->of_all);
    table->count--;
    pending_source_count(table, entry->source, -1);
    entry->source = NULL;
}

struct pending_entry *pending_table_victim(const struct pending_table *table)
{
    if (table->count == 0) {
        return NULL;
    }
    const struct pending_source *source =
        ga_container(table->sources[table->highest].next, struct pending_source, link);
    /* If both are equally many, the others: the one that has come just now may have said nothing
     * yet. */
    const struct ga_list *entries = &source->entries[source->counts[1] >= source->counts[0]];
    return ga_container(entries->next, struct pending_entry, of_source);
}

struct pending_entry *pending_table_oldest(const struct pending_table *table)
{
    return table->count != 0 ? ga_container(table->entries.next, struct pending_entry, of_all)
                             : NULL;
}

/* ---- steps */

void pending_table_want_step(struct pending_table *table, struct pending_entry *entry)
{
    struct pending_source *source = entry->source;
    enum pending_steps among = entry->is_slow ? PENDING_SLOW
                               : entry->begun ? PENDING_BEGUN
                                              : PENDING_FIRST;
    if (entry->among != among) {
        step_forget(entry);
    }
    ga_list_remove(&entry->step); /* the turn of its source stays where it is */
    entry->among = among;
    if (ga_list_empty(&source->turns[entry->among])) {
        ga_list_append(&table->stepping[entry->among], &source->turns[entry->among]);
    }
    /* in front of the first one */
    ga_list_append(source->steps[entry->among].next, &entry->step);
}

/* Whose turn it is of those that are not slow. */
static enum pending_steps steps_next(struct pending_table *table)
{
    bool begun = !ga_list_empty(&table->stepping[PENDING_BEGUN]);
    bool others = !ga_list_empty(&table->stepping[PENDING_FIRST]);
    bool gives_way = others && table->begun_turns == BEGUN_TURNS;
    table->begun_turns = begun && !gives_way && others ? table->begun_turns + 1 : 0;
    return begun && !gives_way ? PENDING_BEGUN : PENDING_FIRST;
}

struct pending_entry *pending_table_next_step(struct pending_table *table, bool slow)
{
    enum pending_steps among = slow ? PENDING_SLOW : steps_next(table);
    if (ga_list_empty(&table->stepping[among])) {
        return NULL;
    }
    struct ga_list *turns = table->stepping[among].next - among; /* the first of them */
    struct pending_source *source = ga_container(turns, struct pending_source, turns);
    const struct ga_list *steps = &source->steps[among];
    bool oldest = slow && table->oldest_next;
    table->oldest_next = slow ? !oldest : table->oldest_next;
    struct pending_entry *entry =
        ga_container(oldest ? steps->prev : steps->next, struct pending_entry, step);
    step_forget(entry);
    entry->is_slow = false;
    if (!ga_list_empty(&source->steps[among])) {
        ga_list_remove(&source->turns[among]);
        ga_list_append(&table->stepping[among], &source->turns[among]); /* the others first */
    }
    return entry;
}
