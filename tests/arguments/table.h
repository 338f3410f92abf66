/* SPDX-License-Identifier: Apache-2.0 */
/* Every described call with right arguments, and the possible errors in each argument. The table
 * itself is generated (generate.py).
 *
 * Note: an argument is 64 bits here, whatever its type; the generated `run` gives it the type of
 * the parameter. */
#ifndef TESTS_ARGUMENTS_TABLE_H
#define TESTS_ARGUMENTS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_driver.h"

enum { ARGUMENTS_MAX = 16, TABLE_ROOM = 4096, TABLE_PATTERN = 0xa5 };

/* A number, or what a function of good.h makes just before the call. */
struct value {
    uint64_t number;
    uint64_t (*make)(void); /* or NULL */
};

struct call {
    const char *name;
    unsigned params;
    const char *names[ARGUMENTS_MAX];
    struct value right[ARGUMENTS_MAX];
    uint32_t rooms; /* bit n: parameter n points to room that the call fills */
    uint32_t kept;  /* of these: what a failing call leaves as it was */
    bool remote;    /* the client library has it */
    CUresult (*run)(const uint64_t *v);
};

struct wrong {
    const struct call *call;
    unsigned param;
    const char *how;
    struct value value;
    int also;  /* a second parameter that is NULL, or -1 */
    bool ours; /* only our libraries are sure not to crash */
};

extern const struct call calls[];
extern const unsigned call_count;
extern const struct wrong wrongs[];
extern const unsigned wrong_count;
/* Described calls for which calls.txt has no line; ends with NULL. */
extern const char *const calls_without_arguments[];

extern struct cuda_driver driver;
/* Memory that calls fill, a room for each parameter. */
extern unsigned char table_rooms[ARGUMENTS_MAX][TABLE_ROOM];

/* Ends the program when there is no such library. */
void table_open(const char *path);
/* The right arguments, made anew; rooms are full of TABLE_PATTERN. */
void table_fill(const struct call *call, uint64_t *values);
/* good_context() is current, and nothing below it. */
void table_context(void);

#endif
