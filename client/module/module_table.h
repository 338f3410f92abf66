/* SPDX-License-Identifier: Apache-2.0 */
/* The table that comes with a module: facts about its functions, and its variables, by name. A name
 * that is not there may be one all the same: then the server is asked. */
#ifndef CLIENT_MODULE_MODULE_TABLE_H
#define CLIENT_MODULE_MODULE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_call;
struct client_module;
struct ga_module_function_results;
struct ga_module_global_results;
struct ga_reader;

/* Entries one behind the other, each a name and results; and where each begins, by the name's hash.
 */
struct client_table {
    uint8_t *entries;
    size_t bytes;
    uint32_t *places; /* offset + 1; 0: none */
    uint32_t place_count;
};

/* Asks for the tables of a module behind the call that loads it. False: this server cannot tell. */
bool client_module_table_ask(struct client_call *call, const struct client_module *module);
/* Waits for the answer. */
void client_module_table_take(struct client_call *call, struct client_module *module);
void client_module_table_release(struct client_module *module);

/* The facts that came with the module about a function; about a variable. */
bool client_module_table_function(const struct client_module *module, const char *name,
                                  struct ga_module_function_results *facts);
bool client_module_table_global(const struct client_module *module, const char *name,
                                struct ga_module_global_results *found);

#endif
