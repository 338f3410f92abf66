/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all stages of loading a program: the arenas, the log, and the error exit. A stage that
 * meets an error calls sg_load_fail, which never returns: all objects lie in arenas, which
 * sg_program_load frees. Therefore no function of the front end returns a status. */
#ifndef SOFTGPU_PTX_LOAD_H
#define SOFTGPU_PTX_LOAD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softgpu/engine/engine.h"
#include "softgpu/exec/arena.h"
#include "softgpu/exec/cost.h"

struct sg_text { /* a slice of the source (or of static text), not NUL-terminated */
    const char *at;
    uint32_t len;
};

struct sg_place {
    uint32_t line; /* from 1; 0: unknown */
    uint16_t column;
    uint16_t unit; /* index of the linked module */
};

struct sg_load {
    jmp_buf escape;
    enum sg_load_result result;
    struct sg_log *log;
    const struct sg_unit *units;
    size_t unit_count;
    struct sg_arena parsed;  /* the module's AST; freed when loading ends */
    struct sg_arena scratch; /* for one stage; freed after each kernel */
    struct sg_arena *keep;   /* lives as long as the program */
    size_t allowance;        /* of the arenas together */
};

/* Zeroed memory; out of memory ends the load. */
void *sg_load_alloc(struct sg_load *load, struct sg_arena *arena, size_t bytes);
char *sg_load_string(struct sg_load *load, struct sg_arena *arena, struct sg_text text);

_Noreturn void sg_load_fail(struct sg_load *load, enum sg_load_result rc, struct sg_place place,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The name of the unit in messages. */
void sg_load_unit_name(const struct sg_load *load, uint16_t unit, char *name, size_t size);

bool sg_text_equal(struct sg_text a, struct sg_text b);
bool sg_text_is(struct sg_text a, const char *literal);
bool sg_text_starts(struct sg_text a, const char *literal);
uint32_t sg_text_hash(struct sg_text a);
/* For printf's %.*s */
#define SG_TEXT_ARGS(text) (int)(text).len, (text).at

/* Growable array in the scratch arena: `T *items; uint32_t count, room`. The next push may move it.
 */
#define SG_LOAD_PUSH(load, list)                                                                   \
    ((list).count == (list).room                                                                   \
         ? ((list).items = sg_load_grow((load), (list).items, &(list).room, sizeof *(list).items), \
            &(list).items[(list).count++])                                                         \
         : &(list).items[(list).count++])
void *sg_load_grow(struct sg_load *load, const void *items, uint32_t *room, size_t item_bytes);

#endif
