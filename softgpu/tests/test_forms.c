/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of PTX that nvcc does not write: branches by index of every length, vector registers,
 * predicates as parameters, parameters by register. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

#define HEAD ".version 8.5\n.target sm_75\n.address_size 64\n"

static struct engine engine;

static void setup(void)
{
    engine_open(&engine, 0);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(forms, .init = setup, .fini = shut, .timeout = 60);

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

/* Runs kernel k(out), which writes a word for each of 40 threads. */
static const uint32_t *words_of(const char *text)
{
    uint32_t *out = engine_memory(&engine, 160);
    engine_load_text(&engine, text);
    ENGINE_LAUNCH(&engine, "k", 1, 40, 0, PTR(out));
    no_fault();
    return out;
}

/* The line of the JIT log that says why the text is refused. */
static const char *refusal(const char *text, enum sg_load_result due)
{
    static char said[400];
    struct sg_log log = {.text = said, .size = sizeof said};
    struct sg_program *program = NULL;
    enum sg_load_result result = sg_program_load(text, strlen(text), &log, &program);
    cr_assert_eq(result, due, "%d: %s", result, said);
    return said;
}

/* ---- branches by index ---- */

/* `before` instructions stand before the branch: the code's array grows at any place of it. */
static void branch_of(unsigned targets, unsigned before, bool guarded)
{
    static char text[4096];
    size_t used =
        (size_t)snprintf(text, sizeof text,
                         HEAD ".visible .entry k(.param .u64 out)\n"
                              "{ .reg .u32 t, x, i, w; .reg .u64 p; .reg .pred g;\n"
                              "  ld.param.u64 p, [out]; mov.u32 t, %%tid.x;\n"
                              "  mad.wide.u32 p, t, 4, p; rem.u32 i, t, %u; mov.u32 x, 9;\n"
                              "  setp.ne.u32 g, t, 3; mov.u32 w, 0;\n",
                         targets);
    for (unsigned i = 0; i < before; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "add.u32 w, w, t;\n");
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "list: .branchtargets ");
    for (unsigned i = 0; i < targets; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%sL%u", i ? ", " : "", i);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, ";\n%sbrx.idx i, list;\nbra END;\n",
                             guarded ? "@g " : "");
    for (unsigned i = 0; i < targets; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "L%u: mov.u32 x, %u; bra END;\n",
                                 i, 100 + i);
    }
    snprintf(text + used, sizeof text - used,
             "END: mad.lo.u32 x, w, 1000, x; st.global.u32 [p], x; ret; }\n");
    const uint32_t *out = words_of(text);
    for (uint32_t t = 0; t < 40; t++) {
        uint32_t due = guarded && t == 3 ? 9 : 100 + t % targets;
        cr_assert_eq(out[t], due + 1000 * before * t, "%u targets, %u before, thread %u: %u",
                     targets, before, t, out[t]);
    }
}

Test(forms, branches_by_index_of_every_length)
{
    for (unsigned targets = 1; targets <= 10; targets++) {
        for (unsigned before = 0; before < 9; before++) {
            branch_of(targets, before, (targets + before) % 2 != 0);
        }
    }
}

Test(forms, a_guarded_branch_by_index_comes_first)
{
    const uint32_t *out = words_of(
        HEAD ".visible .entry k(.param .u64 out)\n{ .reg .u32 t, x; .reg .u64 p; .reg .pred g;\n"
             "list: .branchtargets A, B;\n"
             "@!g bra NEXT; NEXT: @g brx.idx 1, list; bra B;\nA: ret;\n"
             "B: ld.param.u64 p, [out]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 4, p;\n"
             "mov.u32 x, 5; st.global.u32 [p], x; ret; }\n");
    cr_assert_eq(out[39], 5);
    out = words_of(
        HEAD ".visible .entry k(.param .u64 out)\n{ .reg .u32 t, x; .reg .u64 p; .reg .pred g;\n"
             "list: .branchtargets A, B;\n@g brx.idx 0, list;\nbra B;\nA: ret;\n"
             "B: ld.param.u64 p, [out]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 4, p;\n"
             "mov.u32 x, 6; st.global.u32 [p], x; ret; }\n");
    cr_assert_eq(out[0], 6);
}

/* ---- parameters ---- */

Test(forms, parameters_of_a_function_by_register)
{
    const uint32_t *out = words_of(
        HEAD ".func (.param .b32 r) pick (.param .align 8 .b8 s[16], .param .b32 i)\n"
             "{ .reg .b32 a, b, c; .reg .b64 p, q; .reg .pred g;\n"
             "  mov.b64 p, s; ld.param.u32 a, [i]; mul.wide.u32 q, a, 4; add.s64 p, p, q;\n"
             "  ld.param.u32 b, [p]; ld.param::func.b32 c, [p]; add.u32 b, b, c;\n"
             "  setp.eq.u32 g, a, 0; @g ld.param.v2.b32 {_, b}, [p];\n"
             "  mov.b64 p, r; st.param.b32 [p], b; ret; }\n"
             ".visible .entry k(.param .u64 out)\n"
             "{ .reg .b32 t, i, x; .reg .b64 p; .param .align 8 .b8 s[16]; .param .b32 n, r;\n"
             "  ld.param.u64 p, [out]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 4, p;\n"
             "  and.b32 i, t, 3; st.param.b32 [s], t; st.param.b32 [s+4], 20;\n"
             "  st.param.b32 [s+8], 30; st.param.b32 [s+12], 40; st.param.b32 [n], i;\n"
             "  call (r), pick, (s, n); ld.param.b32 x, [r]; st.global.u32 [p], x; ret; }\n");
    static const uint32_t due[] = {20, 40, 60, 80};
    for (uint32_t t = 0; t < 40; t++) {
        cr_assert_eq(out[t], due[t % 4], "thread %u: %u", t, out[t]);
    }
}

Test(forms, a_function_beyond_its_parameters_is_a_fault)
{
    uint32_t *out = engine_memory(&engine, 160);
    engine_load_text(&engine,
                     HEAD ".func f (.param .b64 a)\n{ .reg .b64 p; .reg .b32 x; mov.b64 p, a;\n"
                          "  add.u64 p, p, 1000000; ld.param.b32 x, [p]; ret; }\n"
                          ".visible .entry k(.param .u64 out)\n{ call f, (7); ret; }\n");
    ENGINE_LAUNCH(&engine, "k", 1, 40, 0, PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS, "%s", engine.fault.text);
}

Test(forms, predicates_as_parameters_and_results)
{
    const uint32_t *out = words_of(
        HEAD ".func (.reg .pred r, .reg .b32 n) both (.reg .pred a, .reg .pred b)\n"
             "{ and.pred r, a, b; selp.b32 n, 10, 20, a; ret; }\n"
             ".visible .entry k(.param .u64 out)\n"
             "{ .reg .b32 t, x, y; .reg .b64 p, f; .reg .pred a, b, c, d;\n"
             "  ld.param.u64 p, [out]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 4, p;\n"
             "  setp.gt.u32 a, t, 10; setp.lt.u32 b, t, 20; setp.eq.u32 d, t, 15; mov.u32 y, 0;\n"
             "  call (c, x), both, (a, b); @d call (c, y), both, (1, 0);\n"
             "  @c add.u32 x, x, 1; add.u32 x, x, y;\n"
             "  mov.u64 f, both; proto: .callprototype (.reg .pred _, .reg .b32 _) _ (.reg .pred "
             "_, .reg .pred _);\n"
             "  call (c, _), f, (a, a), proto; @c add.u32 x, x, 100; st.global.u32 [p], x; ret; "
             "}\n");
    for (uint32_t t = 0; t < 40; t++) {
        uint32_t due = t == 15 ? 20 : (t > 10 ? 10u : 20u) + (t > 10 && t < 20 ? 1u : 0u);
        cr_assert_eq(out[t], due + (t > 10 ? 100 : 0), "thread %u: %u", t, out[t]);
    }
    cr_assert(strstr(refusal(HEAD ".func f (.param .pred a) { ret; }\n", SG_LOAD_SYNTAX),
                     "line 4, column 23: error: no variable can be a predicate"));
}

/* ---- vector registers ---- */

Test(forms, vector_registers)
{
    const uint32_t *out =
        words_of(HEAD ".visible .entry k(.param .u64 out)\n"
                      "{ .reg .b32 t, x, y; .reg .b64 p; .reg .v4 .b32 v, w; .reg .v2 .b16 %h<3>;\n"
                      "  .reg .v2 .f32 f; .reg .f32 s; .reg .v2 .b64 d; .reg .pred q;\n"
                      "  .local .align 16 .b8 m[32];\n"
                      "  ld.param.u64 p, [out]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 4, p;\n"
                      "  mov.v4.b32 v, {t, t, t, t}; add.u32 v.y, v.x, 1; add.u32 v.b, v.g, 1;\n"
                      "  mov.b32 v.a, 7; st.local.v4.b32 [m], v; ld.local.v4.u32 w, [m];\n"
                      "  mov.v4.b32 w, {w.w, w.x, w.y, w.z};\n" /* 7, t, t+1, t+2 */
                      "  mov.b64 d.x, {w.y, w.z}; mov.b64 {x, y}, d.x; mad.lo.u32 x, y, 100, x;\n"
                      "  mov.b32 %h2, w.x; cvt.u32.u16 y, %h2.x; add.u32 x, x, y;\n"
                      "  mov.v2.f32 f, {0f40000000, 0f40400000}; add.f32 s, f.x, f.y;\n"
                      "  cvt.rzi.u32.f32 y, s; mad.lo.u32 x, y, 10000, x;\n"
                      "  setp.lt.u32 q, t, 5; @q mov.v2.b64 d, {p, p}; @!q mov.b64 d.y, p;\n"
                      "  add.u64 d.x, d.y, 0; st.global.u32 [d.x], x; ret; }\n");
    for (uint32_t t = 0; t < 40; t++) {
        cr_assert_eq(out[t], (t + 1) * 100 + t + 7 + 50000, "thread %u: %u", t, out[t]);
    }
}

Test(forms, vectors_where_none_may_stand)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {".reg .v4 .b64 v;", "line 5, column 17: error: a vector register has 2 or 4 components"},
        {".reg .v2 .pred v;", "a vector register has 2 or 4 components"},
        {".reg .v8 .b8 v;", "a vector register has 2 or 4 components"},
        {".reg .v2 .b32 v; add.u32 v, v, v;", "in 'add.u32'"},
        {".reg .v2 .b32 v; .reg .b32 x; mov.b32 x, v.z;", "a component of the vector"},
        {".reg .v2 .b32 v; .reg .b32 x; ld.global.b32 x, [v];", "line 5, column 33: error:"},
        {".reg .v2 .b32 v; .reg .v4 .b32 w; mov.v4.b32 w, v;", "in 'mov.v4.b32'"},
        {".reg .v2 .b32 v; .reg .pred p; @v bra L; L: ret;", "'v' is no predicate"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[400];
        snprintf(text, sizeof text, HEAD ".visible .entry k()\n{ %s }\n", wrong[i].text);
        const char *said = refusal(text, SG_LOAD_SYNTAX);
        cr_expect(strstr(said, wrong[i].says) != NULL, "%s: %s", wrong[i].text, said);
    }
}
