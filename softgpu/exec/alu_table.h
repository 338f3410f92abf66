/* After alu.h and a first inclusion of a .def file: the same lines as table entries. No guard: each
 * alu_*.c includes it once, with SG_OPS_NAME set. */
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
#define ENTRY(name, D, A, B, C)                                                                    \
    {#name, full_##name, masked_##name, {SG_OP_##D, SG_OP_##A, SG_OP_##B, SG_OP_##C}},
#define OP1(name, D, A, ...)           ENTRY(name, D, A, none, none)
#define OP2(name, D, A, B, ...)        ENTRY(name, D, A, B, none)
#define OP3(name, D, A, B, C, ...)     ENTRY(name, D, A, B, C)
#define OP4(name, D, A, B, C, E, ...)  ENTRY(name, D, A, B, C)
#define RND1(name, R, D, A, ...)       ENTRY(name, D, A, none, none)
#define RND2(name, R, D, A, B, ...)    ENTRY(name, D, A, B, none)
#define RND3(name, R, D, A, B, C, ...) ENTRY(name, D, A, B, C)
#define CMP1(name, A, ...)             ENTRY(name, p, A, none, none)
#define CMP2(name, A, B, ...)          ENTRY(name, p, A, B, none)
#define CMP3(name, A, B, C, ...)       ENTRY(name, p, A, B, C)
#define BITS1(name, ...)               ENTRY(name, p, p, none, none)
#define BITS2(name, ...)               ENTRY(name, p, p, p, none)
#define BITS3(name, ...)               ENTRY(name, p, p, p, p)
/* filled in by op.c, which knows how to look up `same` */
#define ALIAS(name, same) {#name "=" #same, 0, 0, {0, 0, 0, 0}},
