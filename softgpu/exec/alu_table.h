/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a .def file as table entries, after alu.h and a first inclusion of that file. No
 * guard: each alu_*.c includes it once. */
#undef OP1
#undef OP2
#undef OP3
#undef OP4
#undef RND1
#undef RND2
#undef RND3
#undef CMP1
#undef CMP2
#undef CMP3
#undef BITS1
#undef BITS2
#undef BITS3
#undef ALIAS
#define ALU_TYPES(D, A, B, C)                                                                      \
    {                                                                                              \
        SG_OP_##D, SG_OP_##A, SG_OP_##B, SG_OP_##C                                                 \
    }
#define ALU_ENTRY(name, D, A, B, C)                                                                \
    {#name, full_##name, masked_##name, chain_##name, pair_##name, ALU_TYPES(D, A, B, C)},
#define ALU_TEST_ENTRY(name, A, B, C)                                                              \
    {#name, full_##name, masked_##name, chain_##name, 0, ALU_TYPES(p, A, B, C)},
#define OP1(name, D, A, ...)           ALU_ENTRY(name, D, A, none, none)
#define OP2(name, D, A, B, ...)        ALU_ENTRY(name, D, A, B, none)
#define OP3(name, D, A, B, C, ...)     ALU_ENTRY(name, D, A, B, C)
#define OP4(name, D, A, B, C, E, ...)  ALU_ENTRY(name, D, A, B, C)
#define RND1(name, R, D, A, ...)       ALU_ENTRY(name, D, A, none, none)
#define RND2(name, R, D, A, B, ...)    ALU_ENTRY(name, D, A, B, none)
#define RND3(name, R, D, A, B, C, ...) ALU_ENTRY(name, D, A, B, C)
#define CMP1(name, A, ...)             ALU_TEST_ENTRY(name, A, none, none)
#define CMP2(name, A, B, ...)          ALU_TEST_ENTRY(name, A, B, none)
#define CMP3(name, A, B, C, ...)       ALU_TEST_ENTRY(name, A, B, C)
#define BITS1(name, ...)               ALU_TEST_ENTRY(name, p, none, none)
#define BITS2(name, ...)               ALU_TEST_ENTRY(name, p, p, none)
#define BITS3(name, ...)               ALU_TEST_ENTRY(name, p, p, p)
/* op.c fills in the entry, after it has looked up `same` */
#define ALIAS(name, same) {#name "=" #same, 0, 0, 0, 0, {0, 0, 0, 0}},
