/* SPDX-License-Identifier: Apache-2.0 */
/* See ptx_grammar.h. */
#include "tests/fuzz/ptx_grammar.h"

#include "tests/fuzz/ptx_writer.h"

#define DEPTH_MAX 3u

/* ---- calls ---- */

static const char *const declared[SIGNATURES] = {
    [PLAIN] = "(.param .b32 r) %s (.param .b32 a, .param .b32 b, .param .b32 s)",
    [REGISTERS] = "(.reg .b32 r, .reg .b64 h) %s (.reg .b32 a, .reg .b64 b, .reg .b32 s)",
    [ARRAY] =
        "(.param .align 8 .b8 r[16]) %s(.param .align 8 .b8 block[16], .param.b32 b, .param.b32 s)",
    [PREDICATE] = "(.reg .pred r) %s (.reg .pred a, .reg .b32 b, .reg .b32 s)",
    [NOTHING] = "%s (.param .b64 a, .param .b32 s)",
};

/* "uni": all threads that come here call. */
static void direct(struct writer *w, const char *name, const char *arguments, const char *results)
{
    const bool uniform = ptx_pick(w, 4) == 1;
    if (!uniform) {
        ptx_guard(w);
    }
    ptx_say(w, "call%s %s%s, %s;\n", uniform ? ".uni" : "", results, name, arguments);
}

/* Through a pointer; all functions of the signature may be its target. */
static void indirect(struct writer *w, enum signature signature, unsigned callees,
                     const char *arguments, const char *results)
{
    const unsigned label = w->labels++;
    char name[24];
    bool found = false;
    ptx_say(w, "mov.u64 %%y, 0;\n");
    for (unsigned i = 0; i < callees; i++) {
        if (w->signature[i] == signature && (!found || ptx_pick(w, 2) != 0)) {
            if (found) {
                ptx_guard(w);
            }
            ptx_say(w, "mov.u64 %%y, f%u;\n", i);
            found = true;
        }
    }
    if (ptx_pick(w, 2) != 0) {
        ptx_say(w, "T%u: .callprototype ", label);
        ptx_say(w, declared[signature], "_");
        ptx_say(w, ";\n");
    } else {
        const char *comma = "";
        ptx_say(w, "T%u: .calltargets ", label);
        for (unsigned i = 0; i < callees; i++) {
            if (w->signature[i] == signature) {
                ptx_say(w, "%sf%u", comma, i);
                comma = ", ";
            }
        }
        ptx_say(w, ";\n");
    }
    snprintf(name, sizeof name, ", T%u", label);
    ptx_guard(w);
    ptx_say(w, "call %s%%y, %s%s;\n", results, arguments, name);
}

static void call(struct writer *w, unsigned callees)
{
    static const char *const arguments[SIGNATURES] = {
        [REGISTERS] = "(%r1, %d1, %f)",
        [PREDICATE] = "(%p1, %r2, %f)",
        [NOTHING] = "(%z, %f)",
    };
    static const char *const results[SIGNATURES] = {
        [REGISTERS] = "(%r1, %d0), ", [PREDICATE] = "(%p2), ", [NOTHING] = ""};
    if (callees == 0) {
        return;
    }
    const unsigned which = ptx_pick(w, callees);
    const enum signature signature = w->signature[which];
    const bool pointer = ptx_pick(w, 3) == 2, registers = ptx_pick(w, 2) != 0;
    const char *in = arguments[signature], *out = results[signature];
    char name[16];
    snprintf(name, sizeof name, "f%u", which);
    ptx_say(w, "{\n");
    if (signature == PLAIN && registers) {
        in = "(%r3, 5, %f)";
        out = "(%r4), ";
    } else if (signature == PLAIN) {
        ptx_say(w, ".param .b32 pa, pb, ps, pr;\nst.param.b32 [pa], %%r%u;\n", ptx_pick(w, 8));
        ptx_say(w, "st.param.b32 [pb], %u;\nst.param.b32 [ps], %%f;\nst.param.b32 [pr], 1;\n",
                ptx_pick(w, 8));
        in = "(pa, pb, ps)";
        out = "(pr), ";
    } else if (signature == ARRAY) {
        ptx_say(w,
                ".param .align 8 .b8 pa[16], pr[16];\n"
                "st.param.v2.b32 [pa], {%%r%u, %%r%u};\nst.param.b64 [pa+8], %%d%u;\n"
                "st.param.b64 [pr], 0;\nst.param.b64 [pr+8], 0;\n",
                ptx_pick(w, 8), ptx_pick(w, 8), ptx_pick(w, 4));
        in = "(pa, %r5, %f)";
        out = "(pr), ";
    } else if (signature == NOTHING) {
        ptx_say(w, "mov.u64 %%z, own;\ncvta.local.u64 %%z, %%z;\n");
    }
    if (pointer) {
        indirect(w, signature, callees, in, out);
    } else {
        direct(w, name, in, out);
    }
    if (signature == PLAIN && !registers) {
        ptx_say(w, "ld.param.b32 %%r%u, [pr];\n", ptx_pick(w, 8));
    } else if (signature == ARRAY) {
        ptx_say(w, "ld.param.b32 %%r%u, [pr+%u];\n", ptx_pick(w, 8), 4 * ptx_pick(w, 4));
    }
    ptx_say(w, "}\n");
}

/* ---- control flow ---- */

static void statements(struct writer *w, unsigned callees);

static void condition(struct writer *w, unsigned callees)
{
    const unsigned label = w->labels++;
    ptx_say(w, "@%s%%p%u bra%s ELSE%u;\n", ptx_pick(w, 2) != 0 ? "!" : "", ptx_pick(w, 4), "",
            label);
    statements(w, callees);
    if (ptx_pick(w, 3) == 2) { /* falls through */
        ptx_say(w, "ELSE%u:\n", label);
        return;
    }
    ptx_say(w, "bra END%u;\nELSE%u:\n", label, label);
    statements(w, callees);
    ptx_say(w, "END%u:\n", label);
}

static void loop(struct writer *w, unsigned callees)
{
    const unsigned label = w->labels++;
    ptx_say(w, "LOOP%u:\n", label);
    statements(w, callees);
    ptx_say(w, "setp.eq.u32 %%q, %%f, 0;\n@%%q bra DONE%u;\nsub.u32 %%f, %%f, 1;\n", label);
    ptx_say(w, "@%s%%p%u bra LOOP%u;\nDONE%u:\n", ptx_pick(w, 2) != 0 ? "!" : "", ptx_pick(w, 4),
            label, label);
}

/* Targets may be the same label, arms may fall into the next one, and the list may stand anywhere
 * before the branch. */
static void branch_by_index(struct writer *w, unsigned callees)
{
    const unsigned label = w->labels++, arms = 1 + ptx_pick(w, 4), targets = arms + ptx_pick(w, 9);
    char a[16];
    const bool constant = ptx_pick(w, 5) == 4;
    if (constant) {
        ptx_say(w, "mov.u32 %%x, %u;\n", ptx_pick(w, targets));
    } else {
        ptx_say(w, "rem.u32 %%x, %s, %u;\n", ptx_word(w, a), targets);
    }
    ptx_say(w, "LIST%u: .branchtargets ", label);
    for (unsigned i = 0; i < targets; i++) {
        ptx_say(w, "%sARM%u_%u", i != 0 ? ", " : "", label, i < arms ? i : ptx_pick(w, arms));
    }
    ptx_say(w, ";\n");
    ptx_guard(w);
    ptx_say(w, "brx.idx%s %%x, LIST%u;\n", constant && ptx_pick(w, 2) != 0 ? ".uni" : "", label);
    for (unsigned i = 0; i < arms; i++) {
        ptx_say(w, "ARM%u_%u:\n", label, i);
        statements(w, callees);
        if (ptx_pick(w, 3) != 2) {
            ptx_say(w, "bra OUT%u;\n", label);
        }
    }
    ptx_say(w, "OUT%u:\n", label);
}

static void scope(struct writer *w, unsigned callees)
{
    ptx_say(w, "{\n.reg .b32 %%r<8>;\n");
    ptx_words(w);
    ptx_say(w, ".local .align 16 .b8 own[%u];\n", 4 * SLOTS);
    ptx_slots(w);
    statements(w, callees);
    ptx_say(w, "}\n");
}

static void leave(struct writer *w)
{
    ptx_guard(w);
    ptx_say(w, "%s;\n", ptx_pick(w, 6) == 5 ? "exit" : "ret");
}

static void statement(struct writer *w, unsigned callees)
{
    const bool deep = w->depth >= DEPTH_MAX;
    const unsigned which = ptx_pick(w, deep ? 10 : 16);
    if (which < PTX_STATEMENTS) {
        ptx_statement(w, which);
        return;
    }
    switch (which) {
    case 7:
        if (ptx_pick(w, 4) == 3) {
            leave(w);
        } else {
            ptx_statement(w, 2);
        }
        return;
    case 8:
    case 9:
        call(w, callees);
        return;
    case 10:
    case 11:
        branch_by_index(w, callees);
        return;
    case 12:
    case 13:
        condition(w, callees);
        return;
    case 14:
        loop(w, callees);
        return;
    default:
        scope(w, callees);
    }
}

static void statements(struct writer *w, unsigned callees)
{
    w->depth++;
    for (unsigned i = ptx_pick(w, 5); i > 0 && w->used < w->size / 2; i--) {
        statement(w, callees);
    }
    w->depth--;
}

/* ---- functions ---- */

static void registers(struct writer *w)
{
    ptx_say(w,
            ".reg .b32 %%r<8>, %%f, %%t, %%g, %%x;\n.reg .b64 %%d<4>, %%y, %%z;\n"
            ".reg .pred %%p<4>, %%q;\n.reg .v4 .b32 %%v<2>;\n"
            ".local .align 16 .b8 own[%u];\nmov.u32 %%x, 0;\nmov.u64 %%y, 0;\n"
            "mov.u64 %%z, 0;\n",
            4 * SLOTS);
}

/* All that statements read; %f has been written. */
static void begin(struct writer *w)
{
    ptx_words(w);
    ptx_slots(w);
    ptx_say(w, "mov.v4.b32 %%v0, {%%r0, %%r1, %%r2, %%r3};\nmov.v4.b32 %%v1, %%v0;\n");
    for (unsigned i = 0; i < 4; i++) {
        ptx_say(w, "mul.wide.u32 %%d%u, %%r%u, 7;\nsetp.lt.u32 %%p%u, %%r%u, %u;\n", i, i, i, i,
                5 * i);
    }
}

static void function(struct writer *w, unsigned number)
{
    static const char *const heads[SIGNATURES] = {
        [PLAIN] = "ld.param.b32 %r0, [a];\nld.param.b32 %r1, [b];\nld.param.b32 %f, [s];\n"
                  "st.param.b32 [r], 5;\n",
        [REGISTERS] = "mov.b32 %r0, a;\nmov.b64 %d0, b;\nmov.u32 %f, s;\nmov.b32 r, a;\n"
                      "mov.b64 h, b;\n",
        [ARRAY] = "ld.param.v2.b32 {%r0, %r1}, [block];\nld.param.b32 %r2, [b];\n"
                  "ld.param.b32 %f, [s];\nst.param.v4.b32 [r], {1, 2, 3, 4};\n",
        [PREDICATE] = "mov.u32 %f, s;\nmov.b32 %r0, b;\nnot.pred r, a;\n",
        [NOTHING] = "ld.param.b64 %d0, [a];\nld.param.b32 %f, [s];\n",
    };
    static const char *const tails[SIGNATURES] = {
        [PLAIN] = "st.param.b32 [r], %r3;\n",
        [REGISTERS] = "add.u32 r, %r1, %r2;\nmov.b64 h, %d1;\n",
        [ARRAY] = "st.param.b64 [r], %d2;\nst.param.v2.b32 [r+8], {%r1, %r5};\n",
        [PREDICATE] = "xor.pred r, a, %p1;\n",
        [NOTHING] = "",
    };
    const enum signature signature = w->signature[number];
    char name[16];
    snprintf(name, sizeof name, "f%u", number);
    ptx_say(w, ".func ");
    ptx_say(w, declared[signature], name);
    ptx_say(w, "\n{\n");
    registers(w);
    ptx_say(w, "%s", heads[signature]);
    ptx_say(w, "shr.u32 %%f, %%f, 1;\nmov.u32 %%t, %%tid.x;\n");
    w->block = signature == ARRAY;
    begin(w);
    if (signature == NOTHING) { /* the caller's memory */
        ptx_say(w, "ld.param.b64 %%z, [a];\nst.u32 [%%z+4], %%f;\n");
    }
    statements(w, number);
    ptx_say(w, "%s", tails[signature]);
    ptx_say(w, "%s}\n", ptx_pick(w, 2) != 0 ? "ret;\n" : "");
}

size_t ptx_grammar_write(struct fuzz_input *input, bool wild, char *text, size_t size)
{
    struct writer w = {.input = input, .text = text, .size = size, .wild = wild};
    ptx_say(&w, ".version 8.5\n.target sm_75\n.address_size 64\n"
                ".shared .align 4 .b8 theirs[256];\n");
    w.functions = ptx_pick(&w, FUNCTIONS_MAX + 1);
    for (unsigned i = 0; i < w.functions; i++) {
        w.signature[i] = (enum signature)ptx_pick(&w, SIGNATURES);
        function(&w, i);
    }
    w.block = true;
    ptx_say(&w, ".visible .entry k(.param .u64 out, .param .u64 first, "
                ".param .align 8 .b8 block[16])\n{\n");
    registers(&w);
    ptx_say(&w,
            ".reg .u32 %%n;\nmov.u32 %%f, %u;\nld.param.u64 %%d0, [first];\n"
            "mov.u32 %%t, %%tid.x;\ncvt.u32.u64 %%n, %%d0;\n",
            8 + ptx_pick(&w, 8));
    begin(&w);
    ptx_say(&w, "mul.lo.u32 %%x, %%t, 4;\nmov.u32 %%g, theirs;\nadd.u32 %%x, %%x, %%g;\n"
                "st.shared.u32 [%%x], %%f;\nadd.u32 %%n, %%n, %%t;\nadd.u32 %%r0, %%r0, %%n;\n"
                "xor.b32 %%r1, %%r1, %%n;\nsetp.gt.u32 %%p0, %%n, 20;\nand.b32 %%r2, %%n, 3;\n");
    for (unsigned i = 0; i < 3; i++) {
        statements(&w, w.functions);
    }
    ptx_say(&w, "ld.param.u64 %%y, [out];\nmad.wide.u32 %%y, %%n, 32, %%y;\n"
                "st.global.v4.b32 [%%y], {%%r0, %%r1, %%r2, %%r3};\n"
                "st.global.v4.b32 [%%y+16], %%v1;\nret;\n}\n");
    return w.used;
}
