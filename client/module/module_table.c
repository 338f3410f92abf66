/* SPDX-License-Identifier: Apache-2.0 */
#include "client/module/module_table.h"

#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/module/image.h"
#include "client/module/module.h"

/* ---- a table */

/* Reads the entry's results. Their arrays lie in the table. */
typedef void table_read(struct ga_reader *reader, void *results);

static void table_facts_read(struct ga_reader *reader, void *results)
{
    ga_module_function_results_read(reader, results);
}

static void table_global_read(struct ga_reader *reader, void *results)
{
    ga_module_global_results_read(reader, results);
}

union table_results {
    struct ga_module_function_results facts;
    struct ga_module_global_results global;
};

/* FNV-1a */
static uint32_t name_hash(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name != 0; name++) {
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    }
    return hash;
}

static void table_enter(struct client_table *table, const char *name, uint32_t offset)
{
    uint32_t at = name_hash(name);
    while (table->places[at % table->place_count] != 0) {
        at++;
    }
    table->places[at % table->place_count] = offset + 1;
}

/* How many entries there are up to the first that cannot be read; and where each is, if there are
 * places. */
static uint32_t entries_walk(struct client_table *table, table_read *read)
{
    struct ga_reader reader = ga_reader_of(table->entries, table->bytes);
    union table_results results;
    uint32_t count = 0;
    while (reader.at < reader.size && count < table->bytes) {
        uint32_t offset = (uint32_t)reader.at;
        const char *name = ga_read_string(&reader, CLIENT_NAME_MAX);
        read(&reader, &results);
        if (reader.failed || name == NULL) {
            break;
        }
        if (table->places != NULL) {
            table_enter(table, name, offset);
        }
        count++;
    }
    return count;
}

static void table_release(struct client_table *table)
{
    free(table->entries);
    free(table->places);
    *table = (struct client_table){0};
}

/* Without memory there is none. */
static void table_make(struct client_table *table, const void *entries, uint32_t bytes,
                       table_read *read)
{
    table->entries = bytes != 0 ? aligned_alloc(16, (bytes + (size_t)15) & ~(size_t)15) : NULL;
    if (table->entries == NULL) {
        return;
    }
    memcpy(table->entries, entries, bytes);
    table->bytes = bytes;
    table->place_count = 2 * entries_walk(table, read) + 1;
    table->places = calloc(table->place_count, sizeof *table->places);
    if (table->places == NULL) {
        table_release(table);
        return;
    }
    (void)entries_walk(table, read);
}

static bool table_find(const struct client_table *table, const char *name, table_read *read,
                       void *results)
{
    uint32_t hash = table->places != NULL ? name_hash(name) : 0;
    for (uint32_t at = hash; table->places != NULL; at++) {
        uint32_t place = table->places[at % table->place_count];
        if (place == 0) {
            break;
        }
        struct ga_reader reader = ga_reader_of(table->entries, table->bytes);
        reader.at = place - 1;
        const char *found = ga_read_string(&reader, CLIENT_NAME_MAX);
        if (found != NULL && strcmp(found, name) == 0) {
            read(&reader, results);
            return !reader.failed;
        }
    }
    return false;
}

/* ---- those of a module */

static bool ask_begin(struct client_call *call, uint16_t op, const struct client_module *module)
{
    return client_call_enter_in(call, op, module->object.context) == CUDA_SUCCESS &&
           !client_call_lacking(call);
}

/* An older server knows the functions alone, or nothing. */
bool client_module_table_ask(struct client_call *call, const struct client_module *module)
{
    const struct ga_module_table_args args = {.module = module->object.handle};
    const struct ga_module_facts_args facts_args = {.module = module->object.handle};
    bool table = ask_begin(call, API_OP_ga_module_table, module);
    if (!table && !ask_begin(call, API_OP_ga_module_facts, module)) {
        return false;
    }
    size_t bound =
        table ? ga_module_table_args_bound(&args) : ga_module_facts_args_bound(&facts_args);
    if (client_call_begin(call, bound) != CUDA_SUCCESS) {
        return false;
    }
    if (table) {
        ga_module_table_args_write(&call->writer, &args);
    } else {
        ga_module_facts_args_write(&call->writer, &facts_args);
    }
    return client_call_start(call, NULL, NULL, 0) == CUDA_SUCCESS;
}

void client_module_table_take(struct client_call *call, struct client_module *module)
{
    struct ga_reader reader;
    struct ga_module_table_results results = {0};
    struct ga_module_facts_results facts;
    if (client_call_finish(call, true, &reader) == CUDA_SUCCESS) {
        if (call->op == API_OP_ga_module_table) {
            ga_module_table_results_read(&reader, &results);
        } else {
            ga_module_facts_results_read(&reader, &facts);
            results.facts_bytes = facts.bytes;
            results.facts = facts.facts;
        }
        if (!reader.failed) {
            table_make(&module->facts, results.facts, results.facts_bytes, table_facts_read);
            table_make(&module->variables, results.variables, results.variables_bytes,
                       table_global_read);
        }
    }
    client_call_end(call);
}

void client_module_table_release(struct client_module *module)
{
    table_release(&module->facts);
    table_release(&module->variables);
}

bool client_module_table_function(const struct client_module *module, const char *name,
                                  struct ga_module_function_results *facts)
{
    return table_find(&module->facts, name, table_facts_read, facts);
}

bool client_module_table_global(const struct client_module *module, const char *name,
                                struct ga_module_global_results *found)
{
    return table_find(&module->variables, name, table_global_read, found);
}
