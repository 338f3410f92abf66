/* SPDX-License-Identifier: Apache-2.0 */
#include "server/admin/admin_memory.h"

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void admin_memory_free(void *memory)
{
    if (memory != NULL) {
        explicit_bzero(memory, malloc_usable_size(memory));
        free(memory);
    }
}

void admin_memory_begin(void)
{
    json_set_alloc_funcs(malloc, admin_memory_free);
}
