/* SPDX-License-Identifier: Apache-2.0 */
/* Text slices and the error exit of program loading. */
#include "softgpu/ptx/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"
#include "base/text.h"

void *sg_load_alloc(struct sg_load *load, struct sg_arena *arena, size_t bytes)
{
    void *memory = sg_arena_try(arena, bytes);
    if (memory == NULL) {
        sg_load_fail(load, SG_LOAD_NO_MEMORY, (struct sg_place){0}, "out of memory%s",
                     bytes > load->allowance ? ": a text of this size may not take so much" : "");
    }
    return memory;
}

char *sg_load_string(struct sg_load *load, struct sg_arena *arena, struct sg_text text)
{
    char *copy = sg_load_alloc(load, arena, (size_t)text.len + 1);
    memcpy(copy, text.at, text.len);
    return copy;
}

/* Where memory can be poisoned, pointers into an array that has grown are found: the old place is
 * poisoned, as is one item behind the array, and small arrays move at every growth. */
#define MOVING_ITEMS 64u

void *sg_load_grow(struct sg_load *load, const void *items, uint32_t *room, size_t item_bytes)
{
    uint32_t more = GA_POISONS && *room < MOVING_ITEMS ? *room + 1 : *room ? *room * 2 : 8;
    if (more < *room) {
        sg_load_fail(load, SG_LOAD_NO_MEMORY, (struct sg_place){0}, "out of memory");
    }
    size_t behind = GA_POISONS ? item_bytes : 0;
    char *grown = sg_load_alloc(load, &load->scratch, more * item_bytes + behind);
    GA_POISON(grown + more * item_bytes, behind);
    if (*room) {
        memcpy(grown, items, *room * item_bytes);
        GA_POISON(items, *room * item_bytes);
    }
    *room = more;
    return grown;
}

static void log_text(struct sg_log *log, const char *text)
{
    size_t length = strlen(text);
    if (log == NULL || log->size == 0 || log->used >= log->size - 1) {
        return;
    }
    size_t room = log->size - 1 - log->used;
    size_t take = length < room ? length : room;
    memcpy(log->text + log->used, text, take);
    log->used += take;
    log->text[log->used] = '\0';
}

/* Names come from the module: control characters are removed. */
static void log_name(struct sg_load *load, char *text)
{
    ga_text_clean(text);
    log_text(load->log, text);
}

void sg_load_unit_name(const struct sg_load *load, uint16_t unit, char *name, size_t size)
{
    if (unit == load->unit_count) {
        snprintf(name, size, "the device run time");
    } else if (load->units[unit].name != NULL) {
        snprintf(name, size, "%s", load->units[unit].name);
    } else {
        snprintf(name, size, "unit %u", unit + 1u);
    }
}

static void log_unit(struct sg_load *load, uint16_t unit)
{
    char name[128];
    if (load->unit_count > 1) {
        sg_load_unit_name(load, unit, name, sizeof name);
        log_name(load, name);
        log_text(load->log, ", ");
    }
}

void sg_load_fail(struct sg_load *load, enum sg_load_result rc, struct sg_place place,
                  const char *format, ...)
{
    char line[512];
    if (place.line) {
        log_unit(load, place.unit);
        snprintf(line, sizeof line, "line %u, column %u: error: ", place.line, place.column);
        log_text(load->log, line);
    } else {
        log_text(load->log, "error: ");
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log_name(load, line);
    log_text(load->log, "\n");
    load->result = rc;
    longjmp(load->escape, 1);
}

bool sg_text_equal(struct sg_text a, struct sg_text b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

bool sg_text_is(struct sg_text a, const char *literal)
{
    /* mostly the first letter decides; an empty text has none */
    return a.len != 0 && a.at[0] == literal[0]
               ? strlen(literal) == a.len && memcmp(a.at, literal, a.len) == 0
               : a.len == 0 && literal[0] == '\0';
}

bool sg_text_starts(struct sg_text a, const char *literal)
{
    size_t length = strlen(literal);
    return length <= a.len && memcmp(a.at, literal, length) == 0;
}

uint32_t sg_text_hash(struct sg_text a)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < a.len; i++) {
        hash = (hash ^ (unsigned char)a.at[i]) * 16777619u;
    }
    return hash;
}
