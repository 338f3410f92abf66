/* SPDX-License-Identifier: Apache-2.0 */
/* See ptx_writer.h. */
#include "tests/fuzz/ptx_writer.h"

#include <stdarg.h>

void ptx_say(struct writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(w->text + w->used, w->size - w->used, format, arguments);
    va_end(arguments);
    FUZZ_CHECK(more >= 0 && (size_t)more < w->size - w->used);
    w->used += (size_t)more;
}

unsigned ptx_pick(struct writer *w, unsigned count)
{
    return fuzz_u8(w->input) % count;
}

/* A register, or a number, as the source of an operation on words. */
const char *ptx_word(struct writer *w, char to[16])
{
    static const char *const others[] = {"0",  "1",          "-1",    "2",     "7",
                                         "32", "2147483647", "%v0.x", "%v1.w", "%v1.g"};
    unsigned which = ptx_pick(w, 8 + sizeof others / sizeof others[0]);
    if (which < 8) {
        snprintf(to, 16, "%%r%u", which);
    } else {
        snprintf(to, 16, "%s", others[which - 8]);
    }
    return to;
}

void ptx_guard(struct writer *w)
{
    unsigned which = ptx_pick(w, 8);
    if (which >= 4) {
        ptx_say(w, "@%s%%p%u ", which % 2 != 0 ? "!" : "", ptx_pick(w, 4));
    }
}

static void arithmetic(struct writer *w)
{
    static const char *const ops[] = {"add.u32", "sub.s32", "mul.lo.u32", "and.b32", "or.b32",
                                      "xor.b32", "shl.b32", "shr.s32",    "min.s32", "max.u32"};
    char a[16], b[16];
    const char *op = ops[ptx_pick(w, 10)];
    ptx_guard(w);
    ptx_say(w, "%s %%r%u, %s, %s;\n", op, ptx_pick(w, 8), ptx_word(w, a), ptx_word(w, b));
}

static void wide(struct writer *w)
{
    char a[16], b[16];
    const unsigned d = ptx_pick(w, 4), e = ptx_pick(w, 4);
    switch (ptx_pick(w, 9)) {
    case 0:
        ptx_say(w, "mul.wide.u32 %%d%u, %s, %s;\n", d, ptx_word(w, a), ptx_word(w, b));
        return;
    case 5:
        ptx_say(w, "mov.v4.b32 %%v%u, {%%r%u, %%r%u, %%v1.w, %%v0.z};\n", ptx_pick(w, 2), e,
                ptx_pick(w, 8));
        return;
    case 6:
        ptx_say(w, "mov.v4.b32 %%v%u, %%v%u;\n", ptx_pick(w, 2), ptx_pick(w, 2));
        return;
    case 7:
        ptx_guard(w);
        ptx_say(w, "add.u32 %%v%u.%c, %s, %%v1.a;\n", ptx_pick(w, 2), "xyzwrgba"[ptx_pick(w, 8)],
                ptx_word(w, a));
        return;
    case 1:
        ptx_say(w, "mov.b64 %%d%u, {%s, %s};\n", d, ptx_word(w, a), ptx_word(w, b));
        return;
    case 2:
        ptx_say(w, "mov.b64 {%%r%u, %%r%u}, %%d%u;\n", ptx_pick(w, 8), ptx_pick(w, 4), d);
        return;
    case 3:
        ptx_say(w, "cvt.u32.u64 %%r%u, %%d%u;\n", ptx_pick(w, 8), d);
        return;
    case 4:
        ptx_say(w, "mov.b64 {_, %%r%u}, %%d%u;\n", ptx_pick(w, 8), d);
        return;
    default:
        ptx_guard(w);
        ptx_say(w, "add.u64 %%d%u, %%d%u, %%d%u;\n", d, e, ptx_pick(w, 4));
    }
}

static void predicate(struct writer *w)
{
    static const char *const orders[] = {"eq.u32", "ne.s32", "lt.s32", "gt.u32", "le.u32"};
    char a[16], b[16];
    switch (ptx_pick(w, 4)) {
    case 0:
        ptx_say(w, "setp.%s %%p%u, %s, %s;\n", orders[ptx_pick(w, 5)], ptx_pick(w, 4),
                ptx_word(w, a), ptx_word(w, b));
        return;
    case 1: {
        unsigned p = ptx_pick(w, 4);
        ptx_say(w, "setp.%s %%p%u|%%p%u, %s, %s;\n", orders[ptx_pick(w, 5)], p, (p + 1) % 4,
                ptx_word(w, a), ptx_word(w, b));
        return;
    }
    case 2:
        ptx_say(w, "%s.pred %%p%u, %%p%u, %%p%u;\n", ptx_pick(w, 2) != 0 ? "and" : "xor",
                ptx_pick(w, 4), ptx_pick(w, 4), ptx_pick(w, 4));
        return;
    default:
        ptx_guard(w);
        ptx_say(w, "selp.u32 %%r%u, %s, %s, %%p%u;\n", ptx_pick(w, 8), ptx_word(w, a),
                ptx_word(w, b), ptx_pick(w, 4));
    }
}

/* Words of the function's own local memory, by name, by register, in its window, and as vectors. */
static void local(struct writer *w)
{
    const unsigned slot = ptx_pick(w, SLOTS), vector = slot / 4 * 16;
    char a[16];
    switch (ptx_pick(w, 7)) {
    case 0:
        ptx_guard(w);
        ptx_say(w, "st.local.u32 [own+%u], %s;\n", 4 * slot, ptx_word(w, a));
        return;
    case 5:
        ptx_guard(w);
        if (ptx_pick(w, 2) != 0) {
            ptx_say(w, "ld.local.v4.b32 %%v%u, [own+%u];\n", ptx_pick(w, 2), vector);
        } else {
            ptx_say(w, "st.local.v4.b32 [own+%u], %%v%u;\n", vector, ptx_pick(w, 2));
        }
        return;
    case 1:
        ptx_guard(w);
        ptx_say(w, "ld.local.u32 %%r%u, [own+%u];\n", ptx_pick(w, 8), 4 * slot);
        return;
    case 2:
        ptx_say(w, "st.local.v4.u32 [own+%u], {%%r%u, %%r%u, %%r%u, %%r%u};\n", vector,
                ptx_pick(w, 8), ptx_pick(w, 8), ptx_pick(w, 8), ptx_pick(w, 8));
        return;
    case 3:
        ptx_say(w, "ld.local.v2.u32 {%%r%u, _}, [own+%u];\n", ptx_pick(w, 8), vector);
        return;
    case 4:
        ptx_say(w, "and.b32 %%x, %s, %u;\nmul.wide.u32 %%y, %%x, 4;\nmov.u64 %%z, own;\n",
                ptx_word(w, a), SLOTS - 1);
        ptx_say(w, "add.u64 %%y, %%y, %%z;\n");
        ptx_guard(w);
        ptx_say(w, "%s;\n",
                ptx_pick(w, 2) != 0 ? "st.local.u32 [%y], %r0" : "ld.local.u32 %r1, [%y]");
        return;
    default:
        ptx_say(w, "mov.u64 %%y, own;\ncvta.local.u64 %%z, %%y;\n");
        ptx_guard(w);
        ptx_say(w, ptx_pick(w, 2) != 0 ? "st.u32 [%%z+%u], %%r0;\n" : "ld.u32 %%r1, [%%z+%u];\n",
                4 * slot);
    }
}

/* Shared memory has a word for each thread. */
static void shared(struct writer *w)
{
    ptx_say(w, "mul.lo.u32 %%x, %%t, 4;\nmov.u32 %%g, theirs;\nadd.u32 %%x, %%x, %%g;\n");
    ptx_guard(w);
    if (ptx_pick(w, 2) != 0) {
        ptx_say(w, "st.shared.u32 [%%x], %%r%u;\n", ptx_pick(w, 8));
    } else {
        ptx_say(w, "ld.shared.u32 %%r%u, [%%x];\n", ptx_pick(w, 8));
    }
}

/* Four words that are a parameter of the kernel or function. */
static void own_parameters(struct writer *w)
{
    char a[16];
    if (ptx_pick(w, 2) != 0) {
        ptx_say(w, "ld.param.u32 %%r%u, [block+%u];\n", ptx_pick(w, 8), 4 * ptx_pick(w, 4));
        return;
    }
    ptx_say(w, "and.b32 %%x, %s, 3;\nmul.wide.u32 %%y, %%x, 4;\nmov.u64 %%z, block;\n",
            ptx_word(w, a));
    ptx_say(w, "add.u64 %%y, %%y, %%z;\n");
    ptx_guard(w);
    ptx_say(w, "ld.param.u32 %%r%u, [%%y];\n", ptx_pick(w, 8));
}

static void stack(struct writer *w)
{
    ptx_say(w, "stacksave.u64 %%z;\nalloca.u64 %%y, %u;\n", 8 + 8 * ptx_pick(w, 8));
    ptx_say(w,
            "st.local.u32 [%%y+4], %%r%u;\nld.local.u32 %%r%u, [%%y+4];\nstackrestore.u64 %%z;\n",
            ptx_pick(w, 8), ptx_pick(w, 8));
}

/* Instructions that threads execute together. */
static void together(struct writer *w)
{
    switch (ptx_pick(w, 7)) {
    case 0:
        ptx_guard(w);
        ptx_say(w, "shfl.sync.bfly.b32 %%r%u|%%p%u, %%r%u, %u, 31, -1;\n", ptx_pick(w, 8),
                ptx_pick(w, 4), ptx_pick(w, 8), ptx_pick(w, 32));
        return;
    case 1:
        ptx_say(w, "vote.sync.ballot.b32 %%r%u, %%p%u, %s;\n", ptx_pick(w, 8), ptx_pick(w, 4),
                ptx_pick(w, 2) != 0 ? "-1" : "%r0");
        return;
    case 2:
        ptx_guard(w);
        ptx_say(w, "bar%s %u;\n", ptx_pick(w, 2) != 0 ? ".sync" : "rier.sync", ptx_pick(w, 16));
        return;
    case 3:
        ptx_guard(w);
        ptx_say(w, "atom.shared.add.u32 %%r%u, [theirs+%u], %%r%u;\n", ptx_pick(w, 8),
                4 * ptx_pick(w, 64), ptx_pick(w, 8));
        return;
    case 4:
        ptx_say(w, "activemask.b32 %%r%u;\n", ptx_pick(w, 8));
        return;
    case 5:
        ptx_say(w, "mov.u32 %%r%u, %%clock;\n", ptx_pick(w, 8));
        return;
    default:
        ptx_guard(w);
        ptx_say(w, "bar.warp.sync %s;\n", ptx_pick(w, 2) != 0 ? "-1" : "%r1");
    }
}

static void parameters_or_stack(struct writer *w)
{
    if (w->block && ptx_pick(w, 2) != 0) {
        own_parameters(w);
    } else {
        stack(w);
    }
}

static void memory_of_others(struct writer *w)
{
    if (w->wild) {
        together(w);
    } else {
        shared(w);
    }
}

void ptx_statement(struct writer *w, unsigned which)
{
    static void (*const plain[PTX_STATEMENTS])(struct writer *) = {
        arithmetic, arithmetic, predicate, local, wide, parameters_or_stack, memory_of_others,
    };
    plain[which](w);
}

void ptx_words(struct writer *w)
{
    for (unsigned i = 0; i < 8; i++) {
        ptx_say(w, "add.u32 %%r%u, %%f, %u;\n", i, 3 * i);
    }
}

void ptx_slots(struct writer *w)
{
    for (unsigned i = 0; i < SLOTS; i += 4) {
        ptx_say(w, "st.local.v4.b32 [own+%u], {%%r0, %%r1, %%r2, %u};\n", 4 * i, i);
    }
}
