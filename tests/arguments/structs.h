/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that are structures or arrays, right ones and those wrong in one member. Each points to
 * static memory; they need good_make's memory and handles. */
#ifndef TESTS_ARGUMENTS_STRUCTS_H
#define TESTS_ARGUMENTS_STRUCTS_H

#define GOOD(name)
#define STRUCT(name) const void *structs_##name(void);
#define NEW(name)
#include "tests/arguments/good.def"
#undef GOOD
#undef STRUCT
#undef NEW

enum { UNKNOWN = 0x7ffffff0 };

/* A static T: base(), and then the members set that follow. */
#define MEMBERS(T, name, base, ...)                                                                \
    const void *structs_##name(void)                                                               \
    {                                                                                              \
        static T it;                                                                               \
        it = base();                                                                               \
        __VA_ARGS__;                                                                               \
        return &it;                                                                                \
    }

#endif
