/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of add.cc, sub.cc and mad.cc: numbers of several words, as kernels compute with them,
 * against the same in C with one number. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

typedef unsigned __int128 number;

static struct engine engine;

static void open_engine(void)
{
    engine_open(&engine, 1);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(carry, .init = open_engine, .fini = shut);

#define EDGES 8u
static const uint64_t edges[EDGES] = {
    0, 1, 0x7fffffff, 0xffffffff, 0x100000000, 0xffffffff00000000, 0x8000000000000000, UINT64_MAX};

/* Thread t has a = edges[t0]:edges[t1] and b = edges[t2]:edges[t3], of its digits in base EDGES. */
#define THREADS (EDGES * EDGES * EDGES * EDGES)
#define BLOCK   256u

static number operand(unsigned thread, unsigned which)
{
    unsigned digits = thread / (which == 0 ? 1 : EDGES * EDGES);
    return (number)edges[digits % EDGES] << 64 | edges[digits / EDGES % EDGES];
}

/* Three words of 64 bits for each thread: what `text` makes in r0 to r2 of a0, a1, b0 and b1. */
static const uint64_t *results_of(const char *registers, const char *text)
{
    static char ptx[4096];
    snprintf(ptx, sizeof ptx,
             ".version 9.0\n.target sm_75\n.address_size 64\n"
             ".visible .entry k(.param .u64 in, .param .u64 out)\n"
             "{ .reg .u32 t, x; .reg .u64 p, a0, a1, b0, b1, r0, r1, r2; %s\n"
             "  mov.u32 t, %%ctaid.x; mov.u32 x, %%tid.x; mad.lo.u32 t, t, 256, x;\n"
             "  ld.param.u64 p, [in]; mad.wide.u32 p, t, 32, p;\n"
             "  ld.global.v2.u64 {a0, a1}, [p]; ld.global.v2.u64 {b0, b1}, [p+16];\n"
             "  %s\n"
             "  ld.param.u64 p, [out]; mad.wide.u32 p, t, 24, p;\n"
             "  st.global.u64 [p], r0; st.global.u64 [p+8], r1; st.global.u64 [p+16], r2; ret; }\n",
             registers, text);
    engine_load_text(&engine, ptx);
    uint64_t *in = engine_memory(&engine, THREADS * 32),
             *out = engine_memory(&engine, THREADS * 24);
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned which = 0; which < 2; which++) {
            number value = operand(t, which);
            memcpy(in + 4 * t + 2 * which, &value, sizeof value);
        }
    }
    ENGINE_LAUNCH(&engine, "k", THREADS / BLOCK, BLOCK, 0, PTR(in), PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
    return out;
}

static void expect(const uint64_t *got, unsigned thread, number low, uint64_t high)
{
    number found;
    memcpy(&found, got + 3 * thread, sizeof found);
    cr_assert(found == low && got[3 * thread + 2] == high, "thread %u: %llx %016llx %016llx",
              thread, (unsigned long long)got[3 * thread + 2], (unsigned long long)(found >> 64),
              (unsigned long long)found);
}

#define SPLIT                                                                                      \
    "mov.b64 {x0, x1}, a0; mov.b64 {x2, x3}, a1; mov.b64 {y0, y1}, b0; mov.b64 {y2, y3}, b1;"
#define JOIN   "mov.b64 r0, {x0, x1}; mov.b64 r1, {x2, x3};"
#define HALVES ".reg .u32 x0, x1, x2, x3, x4, y0, y1, y2, y3;"

Test(carry, sums_of_four_and_of_two_words)
{
    static const struct {
        const char *registers, *text;
    } forms[] = {
        {"", "add.cc.u64 r0, a0, b0; addc.cc.u64 r1, a1, b1; addc.u64 r2, 0, 0;"},
        {HALVES, SPLIT "add.cc.u32 x0, x0, y0; addc.cc.u32 x1, x1, y1; addc.cc.s32 x2, x2, y2;"
                       "addc.cc.u32 x3, x3, y3; addc.u32 x4, 0, 0; cvt.u64.u32 r2, x4;" JOIN},
    };
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t *got = results_of(forms[i].registers, forms[i].text);
        for (unsigned t = 0; t < THREADS; t++) {
            number sum = operand(t, 0) + operand(t, 1);
            expect(got, t, sum, sum < operand(t, 0));
        }
    }
}

Test(carry, differences_of_four_and_of_two_words)
{
    static const struct {
        const char *registers, *text;
    } forms[] = {
        {"", "sub.cc.u64 r0, a0, b0; subc.cc.u64 r1, a1, b1; subc.u64 r2, 0, 0;"},
        {HALVES, SPLIT "sub.cc.u32 x0, x0, y0; subc.cc.u32 x1, x1, y1; subc.cc.s32 x2, x2, y2;"
                       "subc.cc.u32 x3, x3, y3; subc.s32 x4, 0, 0; cvt.s64.s32 r2, x4;" JOIN},
    };
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t *got = results_of(forms[i].registers, forms[i].text);
        for (unsigned t = 0; t < THREADS; t++) {
            number a = operand(t, 0), b = operand(t, 1);
            expect(got, t, a - b, a < b ? UINT64_MAX : 0);
        }
    }
}

/* a0 * b0 + b1:a1, which needs three words; and with words of 32 bits. */
Test(carry, products_and_sums)
{
    const uint64_t *got =
        results_of("", "mad.lo.cc.u64 r0, a0, b0, a1; madc.hi.cc.u64 r1, a0, b0, b1;"
                       "addc.u64 r2, 0, 0;");
    for (unsigned t = 0; t < THREADS; t++) {
        number a = operand(t, 0), b = operand(t, 1), sum;
        number product = (number)(uint64_t)a * (uint64_t)b;
        number plus = (b >> 64 << 64) | a >> 64;
        bool carry = __builtin_add_overflow(product, plus, &sum);
        expect(got, t, sum, carry);
    }
    got = results_of(HALVES, SPLIT "mad.lo.cc.u32 x0, x0, y0, x2; madc.hi.cc.u32 x1, y1, y0, x3;"
                                   "madc.lo.u32 x2, y2, y3, 0; mov.u32 x3, 0; mov.u64 r2, 0;" JOIN);
    for (unsigned t = 0; t < THREADS; t++) {
        number a = operand(t, 0), b = operand(t, 1);
        uint32_t y[4], x[4];
        memcpy(x, &a, sizeof x);
        memcpy(y, &b, sizeof y);
        uint64_t low = (uint64_t)(uint32_t)(x[0] * y[0]) + x[2];
        uint64_t high = ((uint64_t)y[1] * y[0] >> 32) + x[3] + (low >> 32);
        uint32_t top = y[2] * y[3] + (uint32_t)(high >> 32);
        expect(got, t, (number)top << 64 | (high & 0xffffffff) << 32 | (low & 0xffffffff), 0);
    }
}
