/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: functions by their addresses, recursion, parameters of every form, brx.idx, alloca. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_calls(void)
{
    engine_open(&engine, 2);
    engine_load_file(&engine, "calls");
}

static void open_empty(void)
{
    engine_open(&engine, 0);
}

static void shut(void)
{
    engine_close(&engine);
}

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

TestSuite(calls, .init = open_calls, .fini = shut, .timeout = 60);
TestSuite(forms, .init = open_empty, .fini = shut, .timeout = 60);

/* ---- through pointers ---- */

static unsigned function(unsigned which, unsigned x)
{
    unsigned digits = 1;
    for (unsigned rest = x; rest >= 10; rest /= 10) {
        digits++;
    }
    return which == 0 ? x + 1 : which == 1 ? 2 * x : which == 2 ? x * x : digits;
}

static unsigned expected_of_pointers(unsigned t, int given)
{
    unsigned r = function(t % 4, t);
    if (t % 3 == 0) {
        r += function(t / 3 % 2 == 0 ? 2 : 0, r) * 1000;
    }
    r += 14 + 6;
    return given < 0 ? r : r ^ function((unsigned)given, t);
}

Test(calls, lanes_of_a_warp_call_different_functions)
{
    unsigned *out = engine_memory(&engine, 4 * 200);
    uint64_t *addresses = engine_memory(&engine, 8 * 4);
    ENGINE_LAUNCH(&engine, "take_addresses", 1, 1, 0, PTR(addresses));
    no_fault();
    const uint64_t *table = engine_variable(&engine, "table");
    cr_assert(addresses[0] == table[0] && addresses[1] == table[1] && addresses[2] == table[2] &&
              addresses[3] == table[2]);
    cr_assert(table[0] && table[0] != table[1] && table[1] != table[2]);
    for (int given = -1; given < 4; given++) {
        ENGINE_LAUNCH(&engine, "pointers", 1, 200, 0, PTR(out), given < 0 ? 0 : table[given]);
        no_fault();
        for (unsigned t = 0; t < 200; t++) {
            cr_assert_eq(out[t], expected_of_pointers(t, given), "thread %u, given %d", t, given);
        }
    }
}

Test(calls, an_address_that_is_no_functions_is_a_fault)
{
    unsigned *out = engine_memory(&engine, 4 * 32);
    const uint64_t *table = engine_variable(&engine, "table");
    const uint64_t *changers = engine_variable(&engine, "changers");
    const uint64_t wrong[] = {
        1,          PTR(out),        table[0] + 8, table[0] + (1u << 20), table[0] - (1u << 20),
        UINT64_MAX, UINT64_MAX - 15, changers[0] /* takes and returns something else */};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ENGINE_LAUNCH(&engine, "pointers", 1, 32, 0, PTR(out), wrong[i]);
        cr_assert_eq(engine.fault.code, SG_FAULT_INVALID_PC, "%zu: %s", i, engine.fault.text);
        cr_assert_eq(engine.fault.address, wrong[i]);
    }
}

Test(calls, functions_of_another_program_are_none)
{
    uint64_t other = *(const uint64_t *)engine_variable(&engine, "table");
    unsigned *out = engine_memory(&engine, 4 * 32);
    engine_load_file(&engine, "calls"); /* the same text, but other functions */
    cr_assert_neq(*(const uint64_t *)engine_variable(&engine, "table"), other);
    ENGINE_LAUNCH(&engine, "pointers", 1, 32, 0, PTR(out), other);
    cr_assert_eq(engine.fault.code, SG_FAULT_INVALID_PC);
}

Test(calls, virtual_functions)
{
    float *out = engine_memory(&engine, 4 * 100);
    ENGINE_LAUNCH(&engine, "virtuals", 1, 100, 0, PTR(out));
    no_fault();
    for (int t = 0; t < 100; t++) {
        int expected = t % 3 == 0 ? 2 * t * t + 400 : t % 3 == 1 ? 6 * (t + 1) * (t + 1) : 0;
        cr_assert_eq((int)out[t], expected, "thread %d: %d", t, (int)out[t]);
    }
}

struct big {
    int a[6];
    double d;
    char c;
};

static struct big rotated(struct big b, int by)
{
    struct big r = b;
    for (int i = 0; i < 6; i++) {
        r.a[i] = b.a[(i + by) % 6];
    }
    r.d = b.d * by;
    r.c = (char)(b.c + 1);
    return r;
}

Test(calls, structures_travel_by_value)
{
    double *out = engine_memory(&engine, 8 * 70);
    ENGINE_LAUNCH(&engine, "structures", 1, 70, 0, PTR(out));
    no_fault();
    for (int t = 0; t < 70; t++) {
        struct big b = {.d = 1.5, .c = 'a'};
        for (int i = 0; i < 6; i++) {
            b.a[i] = t * 10 + i;
        }
        struct big r = rotated(b, 2 + t % 3);
        for (int i = 0; (t & 1) && i < 6; i++) {
            r.a[i] = -b.a[5 - i];
        }
        r = rotated(r, 1);
        double expected = r.a[0] * 1000 + r.a[5] + r.d / 8 + r.c;
        cr_assert_eq((int64_t)(out[t] * 64), (int64_t)(expected * 64), "thread %d", t);
    }
}

/* ---- recursion ---- */

static unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static int by_value(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

Test(calls, recursion_in_divergent_code)
{
    unsigned *out = engine_memory(&engine, 4 * 64);
    int *values = engine_memory(&engine, 4 * 64 * 40), sorted[64 * 40];
    uint64_t seed = 7;
    for (int i = 0; i < 64 * 40; i++) {
        values[i] = sorted[i] = (int)(engine_random(&seed) % 1000);
    }
    ENGINE_LAUNCH(&engine, "recursions", 1, 64, 0, PTR(out), PTR(values));
    no_fault();
    for (unsigned t = 0; t < 64; t++) {
        cr_assert_eq(out[t], ackermann(t % 3, t % 5), "thread %u", t);
        qsort(sorted + (size_t)t * 40, 20 + t % 20, sizeof sorted[0], by_value);
    }
    cr_assert_eq(memcmp(values, sorted, sizeof sorted), 0);
}

/* ---- alloca ---- */

static int sum_of(int n, int t)
{
    int sum = n > 3 ? sum_of(n - 3, t) : 0;
    for (int i = 0; i < n; i++) {
        sum += i * t;
    }
    return sum;
}

Test(calls, allocas_of_many_sizes)
{
    int *out = engine_memory(&engine, 4 * 100);
    ENGINE_LAUNCH(&engine, "allocas", 1, 100, 0, PTR(out));
    no_fault();
    for (int t = 0; t < 100; t++) {
        cr_assert_eq(out[t], sum_of(t % 11 + 1, t) + t, "thread %d", t);
    }
}

Test(calls, alloca_beyond_the_stack_is_a_fault)
{
    int *out = engine_memory(&engine, 4);
    ENGINE_LAUNCH(&engine, "too_much_alloca", 1, 1, 0, PTR(out), 60000);
    no_fault();
    static const int sizes[] = {70000, 1 << 30, -1};
    for (int i = 0; i < 3; i++) {
        ENGINE_LAUNCH(&engine, "too_much_alloca", 1, 1, 0, PTR(out), (uint64_t)sizes[i]);
        cr_assert_eq(engine.fault.code, SG_FAULT_STACK, "%d: %s", sizes[i], engine.fault.text);
    }
}

/* ---- what nvcc does not write, but PTX allows ---- */

#define HEAD ".version 9.0\n.target sm_75\n.address_size 64\n"

Test(forms, registers_and_constants_as_parameters)
{
    engine_load_text(
        &engine, HEAD
        ".func (.reg .u32 r) in_registers (.reg .u32 a, .reg .u64 b, .reg .s16 c)\n"
        "{ .reg .u32 x; .reg .pred p; cvt.u32.u64 x, b; add.u32 r, a, x; cvt.s32.s16 x, c;\n"
        "  setp.gt.u32 p, a, 16; @p ret; add.u32 r, r, x; ret; }\n"
        ".func (.param .u32 r, .param .f64 s) two (.param .u8 a, .param .align 8 .b8 b[16])\n"
        "{ .reg .u32 x, y; .reg .f64 d; ld.param.u8 x, [a]; ld.param.u32 y, [b+8];\n"
        "  add.u32 x, x, y; st.param.u32 [r], x; cvt.rn.f64.u32 d, y; st.param.f64 [s], d; ret; }\n"
        ".visible .entry k(.param .u64 out)\n"
        "{ .reg .u32 t, x, y; .reg .u64 p, q; .reg .f64 d; .reg .pred odd, never;\n"
        "  .param .align 8 .b8 array[16];\n"
        "  ld.param.u64 p, [out]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 8, p;\n"
        "  cvt.u64.u32 q, t; mul.lo.u64 q, q, 100;\n"
        "  call (x), in_registers, (t, q, -3);\n"
        "  st.param.u32 [array+8], x; setp.eq.u32 never, t, 99; and.b32 y, t, 1;\n"
        "  setp.ne.u32 odd, y, 0; mov.u32 y, 0;\n"
        "  @odd call (y, d), two, (5, array);\n"
        "  @never call (y, _), two, (5, array);\n"
        "  @odd cvt.rzi.u32.f64 x, d; st.global.u32 [p], x; st.global.u32 [p+4], y; ret; }\n");
    uint32_t *out = engine_memory(&engine, 8 * 40);
    ENGINE_LAUNCH(&engine, "k", 1, 40, 0, PTR(out));
    no_fault();
    for (uint32_t t = 0; t < 40; t++) {
        uint32_t x = t > 16 ? 101 * t : 101 * t - 3;
        cr_assert_eq(out[2 * t], x, "thread %u: %u", t, out[2 * t]);
        cr_assert_eq(out[2 * t + 1], t & 1 ? x + 5 : 0, "thread %u", t);
    }
}

Test(forms, registers_that_differ_from_lane_to_lane)
{
    engine_load_text(&engine,
                     HEAD ".visible .entry k(.param .u64 out)\n"
                          "{ .reg .u32 t, x; .reg .u64 p;\n"
                          "  ld.param.u64 p, [out]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 24, p;\n"
                          "  mov.u32 x, %laneid; st.global.u32 [p], x;\n"
                          "  mov.u32 x, %lanemask_eq; st.global.u32 [p+4], x;\n"
                          "  mov.u32 x, %lanemask_le; st.global.u32 [p+8], x;\n"
                          "  mov.u32 x, %lanemask_lt; st.global.u32 [p+12], x;\n"
                          "  mov.u32 x, %lanemask_ge; st.global.u32 [p+16], x;\n"
                          "  mov.u32 x, %lanemask_gt; st.global.u32 [p+20], x; ret; }\n");
    uint32_t *out = engine_memory(&engine, 24 * 64);
    ENGINE_LAUNCH(&engine, "k", 1, 64, 0, PTR(out));
    no_fault();
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t lane = t % 32, own = 1u << lane;
        const uint32_t due[6] = {lane, own, own | (own - 1), own - 1, ~(own - 1), ~(own - 1) ^ own};
        for (unsigned i = 0; i < 6; i++) {
            cr_expect_eq(out[6 * t + i], due[i], "thread %u, register %u: %x", t, i,
                         out[6 * t + i]);
        }
    }
}

Test(forms, call_targets_and_functions_never_called)
{
    engine_load_text(
        &engine, HEAD
        ".func (.param .u32 r) f (.param .u32 a) ;\n.func (.param .u32 r) g (.param .u32 a) ;\n"
        ".extern .func nowhere (.param .u32 a) ;\n"
        ".weak .func (.param .u32 r) g (.param .u32 a)\n"
        "{ .reg .u32 x; ld.param.u32 x, [a]; mul.lo.u32 x, x, x; st.param.u32 [r], x; ret; }\n"
        ".func (.param .u32 r) f (.param .u32 a)\n"
        "{ .reg .u32 x; ld.param.u32 x, [a]; add.u32 x, x, 1; st.param.u32 [r], x; ret; }\n"
        ".func stops () .noreturn { exit; }\n"
        ".visible .entry k(.param .u64 out)\n"
        "{ .reg .u32 t, x; .reg .u64 p, q; .reg .pred high, last;\n"
        "  ld.param.u64 p, [out]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 4, p;\n"
        "  setp.gt.u32 high, t, 20; mov.u64 q, f; @high mov.u64 q, g;\n"
        "  targets: .calltargets f, g;\n"
        "  call (x), q, (t), targets; st.global.u32 [p], x;\n"
        "  setp.eq.u32 last, t, 33; @last call stops; st.global.u32 [p+400], x; ret; }\n");
    uint32_t *out = engine_memory(&engine, 800);
    ENGINE_LAUNCH(&engine, "k", 1, 40, 0, PTR(out));
    no_fault();
    for (uint32_t t = 0; t < 40; t++) {
        cr_assert_eq(out[t], t > 20 ? t * t : t + 1, "thread %u", t);
        cr_assert_eq(out[100 + t], t == 33 ? 0 : out[t], "thread %u", t);
    }
}

Test(forms, branches_by_index)
{
    engine_load_text(
        &engine,
        HEAD ".visible .entry k(.param .u64 out, .param .u32 by)\n"
             "{ .reg .u32 t, x, i, b; .reg .u64 p; .reg .pred g;\n"
             "  ld.param.u64 p, [out]; ld.param.u32 b, [by]; mov.u32 t, %tid.x;\n"
             "  mad.wide.u32 p, t, 4, p; rem.u32 i, t, 5; add.u32 i, i, b; mov.u32 x, 1000;\n"
             "  setp.lt.u32 g, t, 25;\n"
             "  list: .branchtargets L0, L1, L2, L1, L4;\n"
             "  @g brx.idx i, list;\n"
             "  add.u32 x, x, 5000; bra END;\n"
             "L0: mov.u32 x, 1; bra END;\nL1: mov.u32 x, 2; bra END;\nL2: mov.u32 x, 3;\n"
             "L4: add.u32 x, x, 40;\nEND: st.global.u32 [p], x; ret; }\n");
    static const uint32_t results[] = {1, 2, 43, 2, 1040};
    uint32_t *out = engine_memory(&engine, 400);
    ENGINE_LAUNCH(&engine, "k", 1, 40, 0, PTR(out), 0);
    no_fault();
    for (uint32_t t = 0; t < 40; t++) {
        cr_assert_eq(out[t], t < 25 ? results[t % 5] : 6000, "thread %u: %u", t, out[t]);
    }
    ENGINE_LAUNCH(&engine, "k", 1, 40, 0, PTR(out), 1);
    cr_assert_eq(engine.fault.code, SG_FAULT_INVALID_PC);
    cr_assert_eq(engine.fault.thread[0], 4);
}

Test(forms, stacks_saved_and_restored)
{
    engine_load_text(
        &engine,
        HEAD ".visible .entry k(.param .u64 out, .param .u64 wild)\n"
             "{ .reg .u32 t, i, x; .reg .u64 p, s, w; .reg .u32 a, a0, n; .reg .pred q;\n"
             "  ld.param.u64 p, [out]; ld.param.u64 w, [wild]; mov.u32 t, %tid.x;\n"
             "  mad.wide.u32 p, t, 4, p; mov.u32 i, 0; mad.lo.u32 n, t, 64, 64;\n"
             "AGAIN: stacksave.u64 s; alloca.u32 a, n, 64; @!q mov.u32 a0, a;\n"
             "  setp.eq.u32 q, i, 0; @q mov.u32 a0, a; st.local.u32 [a], i;\n"
             "  stackrestore.u64 s; add.u32 i, i, 1; setp.lt.u32 q, i, 1000; @q bra AGAIN;\n"
             "  ld.local.u32 x, [a0]; and.b32 a, a0, 63; add.u32 x, x, a; st.global.u32 [p], x;\n"
             "  setp.ne.u64 q, w, 0; @q stackrestore.u64 w; ret; }\n");
    uint32_t *out = engine_memory(&engine, 400);
    ENGINE_LAUNCH(&engine, "k", 1, 40, 0, PTR(out), 0); /* 1000 times more than the stack */
    no_fault();
    for (uint32_t t = 0; t < 40; t++) {
        cr_assert_eq(out[t], 999, "thread %u: %u", t, out[t]);
    }
    ENGINE_LAUNCH(&engine, "k", 1, 40, 0, PTR(out), UINT64_MAX);
    cr_assert_eq(engine.fault.code, SG_FAULT_STACK);
}

Test(forms, initialisers_nest)
{
    engine_load_text(&engine, HEAD
                     ".global .u32 grid[2][3] = {{1, 2, 3}, {4, 5, 6}};\n"
                     ".global .u16 short_rows[3][4] = {{1}, {2, 3}, 4, 5};\n"
                     ".global .v4 .f32 vectors[2] = {{1.0, 2.0}, {0f40400000, 4.0, 5.0, 6.0}};\n"
                     ".global .s8 cube[][2][2] = {{{1, 2}, {3}}, {{-5, 6}}};\n"
                     ".global .u64 pointer = generic(cube)+4;\n"
                     ".visible .entry k() { ret; }\n");
    const uint32_t grid[] = {1, 2, 3, 4, 5, 6};
    const uint16_t rows[] = {1, 0, 0, 0, 2, 3, 0, 0, 4, 5, 0, 0};
    const float vectors[] = {1, 2, 0, 0, 3, 4, 5, 6};
    const int8_t cube[] = {1, 2, 3, 0, -5, 6, 0, 0};
    cr_assert_eq(memcmp(engine_variable(&engine, "grid"), grid, sizeof grid), 0);
    cr_assert_eq(memcmp(engine_variable(&engine, "short_rows"), rows, sizeof rows), 0);
    const float *got = engine_variable(&engine, "vectors");
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(got[i], vectors[i]);
    }
    cr_assert_eq(memcmp(engine_variable(&engine, "cube"), cube, sizeof cube), 0);
    cr_assert_eq(*(uint64_t *)engine_variable(&engine, "pointer"),
                 PTR(engine_variable(&engine, "cube")) + 4);
}

Test(forms, one_half_precision_to_the_other)
{
    static const uint16_t in[4] = {0x3fc1, 0x3e01, 0x7f7f, 0x7e00}; /* bf16, f16, bf16, f16 */
    uint16_t *at = engine_memory(&engine, 64);
    engine_load_text(&engine,
                     HEAD ".visible .entry k(.param .u64 out)\n{ .reg .b16 h; .reg .u64 p;\n"
                          "ld.param.u64 p, [out];\n"
                          "ld.global.b16 h, [p]; cvt.rn.f16.bf16 h, h;\n"
                          "st.global.b16 [p+8], h;\n"
                          "ld.global.b16 h, [p+2]; cvt.rn.bf16.f16 h, h;\n"
                          "st.global.b16 [p+10], h;\n"
                          "ld.global.b16 h, [p+4]; cvt.rn.f16.bf16 h, h;\n"
                          "st.global.b16 [p+12], h;\n"
                          "ld.global.b16 h, [p+6]; cvt.rn.bf16.f16 h, h;\n"
                          "st.global.b16 [p+14], h;\nret; }\n");
    memcpy(at, in, sizeof in);
    ENGINE_LAUNCH(&engine, "k", 1, 1, 0, PTR(at));
    no_fault();
    cr_expect_eq(at[4], 0x3e08, "0x%x", at[4]); /* 1 + 65/128 */
    cr_expect_eq(at[5], 0x3fc0, "0x%x", at[5]); /* 1.5 + 1/1024 */
    cr_expect_eq(at[6], 0x7c00, "0x%x", at[6]); /* too large */
    cr_expect_eq(at[7], 0x7fff, "0x%x", at[7]); /* NaN */
}

Test(forms, clocks_and_votes)
{
    engine_load_text(
        &engine,
        HEAD ".visible .entry k(.param .u64 out)\n"
             "{ .reg .u32 t, lo, hi, x; .reg .u64 p, a, b, c; .reg .pred q, r;\n"
             "  ld.param.u64 p, [out]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 8, p;\n"
             "  mov.u64 a, %globaltimer; mov.u32 hi, %globaltimer_hi; mov.u32 lo, "
             "%globaltimer_lo;\n"
             "  mov.b64 b, {lo, hi}; sub.u64 c, b, a; shr.u64 c, c, 36; cvt.u32.u64 x, c;\n"
             "  setp.lt.u32 q, t, 5; vote.sync.any.pred r, !q, -1; selp.u32 hi, 1, 0, r;\n"
             "  vote.sync.all.pred r, !q, -1; selp.u32 lo, 2, 0, r; add.u32 hi, hi, lo;\n"
             "  vote.sync.ballot.b32 lo, !q, -1; setp.eq.u32 r, lo, 0xffffffe0;\n"
             "  selp.u32 lo, 4, 0, r; add.u32 hi, hi, lo; st.global.v2.u32 [p], {x, hi}; ret; }\n");
    uint32_t *out = engine_memory(&engine, 8 * 32);
    ENGINE_LAUNCH(&engine, "k", 1, 32, 0, PTR(out));
    no_fault();
    for (uint32_t t = 0; t < 32; t++) {
        cr_assert_eq(out[2 * t], 0, "the halves are of another time: %u", out[2 * t]);
        cr_assert_eq(out[2 * t + 1], 5, "thread %u: %u", t, out[2 * t + 1]);
    }
}
