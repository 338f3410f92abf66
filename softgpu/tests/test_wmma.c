/* SPDX-License-Identifier: Apache-2.0 */
/* wmma, ldmatrix, stmatrix and movmatrix: matrices in memory against plain loops. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_engine(void)
{
    engine_open(&engine, 0);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(wmma, .init = open_engine, .fini = shut);

static void no_fault(const char *what)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s: %s at PTX line %u", what,
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

struct shape {
    unsigned m, n, k;
};

struct types {
    const char *a, *c;  /* C and D: the same */
    const char *suffix; /* of wmma.mma: the types */
    unsigned a_bits, c_bits, a_registers, b_registers, c_registers;
    struct shape shape;
};

/* Small non-negative integers in each format */
static uint64_t encode(const char *type, unsigned value)
{
    float single = (float)value;
    double wide = value;
    uint64_t bits = 0;
    if (strcmp(type, "f16") == 0) { /* up to 2047 */
        unsigned width = value ? 32 - (unsigned)__builtin_clz(value) : 0;
        return value ? (uint64_t)(14 + width) << 10 | (value << (11 - width) & 1023) : 0;
    }
    if (strcmp(type, "bf16") == 0 || strcmp(type, "tf32") == 0 || strcmp(type, "f32") == 0) {
        memcpy(&bits, &single, sizeof single);
        return strcmp(type, "bf16") == 0 ? bits >> 16 : bits;
    }
    if (strcmp(type, "f64") == 0) {
        memcpy(&bits, &wide, sizeof wide);
        return bits;
    }
    return value;
}

static void put(void *memory, unsigned bits, size_t at, uint64_t value)
{
    uint8_t *bytes = memory;
    if (bits < 8) {
        bytes[at * bits / 8] |= (uint8_t)(value << at * bits % 8);
    } else {
        memcpy(bytes + at * (bits / 8), &value, bits / 8);
    }
}

static const char *registers(char *text, size_t size, char name, unsigned count)
{
    int used = snprintf(text, size, "{");
    for (unsigned i = 0; i < count; i++) {
        used += snprintf(text + used, size - (size_t)used, "%s%%%c%u", i ? "," : "", name, i);
    }
    snprintf(text + used, size - (size_t)used, "}");
    return text;
}

/* `columns`: bit 0: A is .col, bit 1: B, bit 2: C and D. With `shared` A comes from there. */
static void load_kernel(const struct types *t, unsigned columns, bool shared)
{
    static char text[8192];
    char shape[24], a[80], b[80], c[80], d[80];
    const char *la = columns & 1 ? "col" : "row", *lb = columns & 2 ? "col" : "row";
    const char *lc = columns & 4 ? "col" : "row";
    const char *reg_a = t->a_bits == 64 ? "f64" : "b32";
    const char *reg_c = t->c_bits == 64 ? "f64" : strcmp(t->c, "f32") == 0 ? "f32" : "b32";
    snprintf(shape, sizeof shape, "m%un%uk%u", t->shape.m, t->shape.n, t->shape.k);
    registers(a, sizeof a, 'a', t->a_registers);
    registers(b, sizeof b, 'b', t->b_registers);
    registers(c, sizeof c, 'c', t->c_registers);
    registers(d, sizeof d, 'd', t->c_registers);
    snprintf(text, sizeof text,
             ".version 8.4\n.target sm_80\n.address_size 64\n"
             ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd,\n"
             ".param .u32 sa, .param .u32 sb, .param .u32 sc)\n{\n"
             ".reg .b64 %%p<5>;\n.reg .b32 %%s<4>, %%t<4>;\n.reg .pred %%q;\n"
             ".shared .align 128 .b8 tile[8192];\n"
             ".reg .%s %%a<8>, %%b<8>;\n.reg .%s %%c<8>, %%d<8>;\n"
             "ld.param.u64 %%p0, [pa];\nld.param.u64 %%p1, [pb];\nld.param.u64 %%p2, [pc];\n"
             "ld.param.u64 %%p3, [pd];\nld.param.u32 %%s0, [sa];\nld.param.u32 %%s1, [sb];\n"
             "ld.param.u32 %%s2, [sc];\nmov.u32 %%t0, %%tid.x;\nshl.b32 %%t0, %%t0, 2;\n"
             "mov.u32 %%t1, tile;\nadd.u32 %%t1, %%t1, %%t0;\nmul.wide.u32 %%p4, %%t0, 1;\n"
             "add.u64 %%p4, %%p4, %%p0;\nmov.u32 %%t2, 0;\n"
             "L:\nld.global.b32 %%t3, [%%p4];\nst.shared.b32 [%%t1], %%t3;\n"
             "add.u64 %%p4, %%p4, 128;\nadd.u32 %%t1, %%t1, 128;\nadd.u32 %%t2, %%t2, 1;\n"
             "setp.lt.u32 %%q, %%t2, 64;\n@%%q bra L;\nbar.sync 0;\nmov.u32 %%t1, tile;\n"
             "wmma.load.a.sync.aligned.%s.%s%s.%s %s, [%s], %%s0;\n"
             "wmma.load.b.sync.aligned.%s.%s.%s %s, [%%p1], %%s1;\n"
             "wmma.load.c.sync.aligned.%s.%s.global.%s %s, [%%p2], %%s2;\n"
             "wmma.mma%s.sync.aligned.%s.%s.%s.%s %s, %s, %s, %s;\n"
             "wmma.store.d.sync.aligned.%s.%s.global.%s [%%p3], %s, %%s2;\nret;\n}\n",
             reg_a, reg_c, la, shape, shared ? ".shared" : ".global", t->a, a,
             shared ? "%t1" : "%p0", lb, shape, t->a, b, lc, shape, t->c, c,
             strcmp(t->a, "b1") == 0 ? ".xor.popc" : "", la, lb, shape, t->suffix, d, a, b, c, lc,
             shape, t->c, d);
    engine_load_text(&engine, text);
}

static void check(const struct types *t, unsigned columns, bool shared)
{
    enum { BYTES = 65536 };
    const struct shape s = t->shape;
    static unsigned va[32 * 128], vb[128 * 32], vc[32 * 32];
    void *a = engine_memory(&engine, BYTES), *b = engine_memory(&engine, BYTES);
    void *c = engine_memory(&engine, BYTES), *d = engine_memory(&engine, BYTES);
    unsigned pad = t->a_bits < 8 ? 0 : 8;
    unsigned sa = (columns & 1 ? s.m : s.k) + pad, sb = (columns & 2 ? s.k : s.n) + pad;
    unsigned sc = (columns & 4 ? s.m : s.n) + 4;
    unsigned range = t->a_bits == 1 ? 2 : 4;
    uint64_t seed = 99;
    for (unsigned row = 0; row < s.m; row++) {
        for (unsigned k = 0; k < s.k; k++) {
            unsigned value = va[row * s.k + k] = (unsigned)(engine_random(&seed) >> 9) % range;
            put(a, t->a_bits, columns & 1 ? (size_t)k * sa + row : (size_t)row * sa + k,
                encode(t->a, value));
        }
    }
    for (unsigned k = 0; k < s.k; k++) {
        for (unsigned column = 0; column < s.n; column++) {
            unsigned value = vb[k * s.n + column] = (unsigned)(engine_random(&seed) >> 9) % range;
            put(b, t->a_bits, columns & 2 ? (size_t)column * sb + k : (size_t)k * sb + column,
                encode(t->a, value));
        }
    }
    for (unsigned i = 0; i < s.m * s.n; i++) {
        unsigned row = i / s.n, column = i % s.n;
        vc[i] = (unsigned)(engine_random(&seed) >> 9) % 200;
        put(c, t->c_bits, columns & 4 ? (size_t)column * sc + row : (size_t)row * sc + column,
            encode(t->c, vc[i]));
    }
    load_kernel(t, columns, shared);
    ENGINE_LAUNCH(&engine, "k", 1, 32, 0, PTR(a), PTR(b), PTR(c), PTR(d), sa, sb, sc);
    no_fault(t->suffix);
    for (unsigned i = 0; i < s.m * s.n; i++) {
        unsigned row = i / s.n, column = i % s.n, want = vc[i];
        for (unsigned k = 0; k < s.k; k++) {
            unsigned x = va[row * s.k + k], y = vb[k * s.n + column];
            want += t->a_bits == 1 ? x ^ y : x * y;
        }
        size_t at = columns & 4 ? (size_t)column * sc + row : (size_t)row * sc + column;
        uint64_t got = 0;
        memcpy(&got, (uint8_t *)d + at * (t->c_bits / 8), t->c_bits / 8);
        cr_assert_eq(got, encode(t->c, want), "%s m%un%uk%u, layouts %u: row %u column %u: %u",
                     t->suffix, s.m, s.n, s.k, columns, row, column, want);
    }
}

/* All layouts of A, B and C where the type has a choice */
static void check_shapes(struct types t, bool one_layout)
{
    static const struct shape shapes[3] = {{16, 16, 16}, {8, 32, 16}, {32, 8, 16}};
    for (int i = 0; i < 3; i++) {
        bool half = strcmp(t.a, "f16") == 0;
        t.shape = shapes[i];
        t.a_registers = half ? 8 : shapes[i].m * 16 * t.a_bits / 1024;
        t.b_registers = half ? 8 : shapes[i].n * 16 * t.a_bits / 1024;
        t.c_registers = 256 * t.c_bits / 1024;
        for (unsigned columns = 0; columns < 8; columns++) {
            check(&t, one_layout ? 2 | (columns & 4) : columns, columns & 1);
        }
    }
}

Test(wmma, halves)
{
    check_shapes(
        (struct types){.a = "f16", .c = "f32", .suffix = "f32.f32", .a_bits = 16, .c_bits = 32},
        false);
    check_shapes(
        (struct types){.a = "f16", .c = "f16", .suffix = "f16.f16", .a_bits = 16, .c_bits = 16},
        false);
    check_shapes(
        (struct types){
            .a = "bf16", .c = "f32", .suffix = "f32.bf16.bf16.f32", .a_bits = 16, .c_bits = 32},
        false);
}

Test(wmma, bytes)
{
    check_shapes(
        (struct types){.a = "s8", .c = "s32", .suffix = "s32.s8.s8.s32", .a_bits = 8, .c_bits = 32},
        false);
    check_shapes(
        (struct types){
            .a = "u8", .c = "s32", .suffix = "s32.u8.u8.s32.satfinite", .a_bits = 8, .c_bits = 32},
        false);
}

Test(wmma, other_shapes)
{
    static const struct types types[] = {
        {"tf32", "f32", "f32.tf32.tf32.f32", 32, 32, 4, 4, 8, {16, 16, 8}},
        {"f64", "f64", "f64.f64.f64.f64", 64, 64, 1, 1, 2, {8, 8, 4}},
        {"f64", "f64", "f64.f64.f64.f64.rn", 64, 64, 1, 1, 2, {8, 8, 4}},
        {"s4", "s32", "s32.s4.s4.s32", 4, 32, 1, 1, 2, {8, 8, 32}},
        {"u4", "s32", "s32.u4.u4.s32", 4, 32, 1, 1, 2, {8, 8, 32}},
        {"b1", "s32", "s32.b1.b1.s32", 1, 32, 1, 1, 2, {8, 8, 128}},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        bool row_column = types[i].a_bits < 8; /* these have only .row.col */
        for (unsigned columns = 0; columns < 8; columns++) {
            check(&types[i], row_column ? 2 | (columns & 4) : columns, columns & 1);
        }
    }
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

#define HEAD                                                                                       \
    ".version 8.4\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n.reg .b64 %p<6>;\n"                  \
    ".reg .b32 %r<8>, %t<6>;\n.shared .align 128 .b8 tile[512];\n"                                 \
    "ld.param.u64 %p0, [pin];\nld.param.u64 %p1, [pout];\nmov.u32 %t0, %tid.x;\n"                  \
    "mul.wide.u32 %p2, %t0, 16;\nadd.u64 %p0, %p0, %p2;\nadd.u64 %p1, %p1, %p2;\n"                 \
    "shl.b32 %t1, %t0, 4;\nmov.u32 %t2, tile;\nadd.u32 %t1, %t1, %t2;\n"
#define IN_TO_SHARED                                                                               \
    "ld.global.v4.b32 {%r0,%r1,%r2,%r3}, [%p0];\nst.shared.v4.b32 [%t1], {%r0,%r1,%r2,%r3};\n"     \
    "bar.warp.sync -1;\n"
#define OUT "st.global.v4.b32 [%p1], {%r4,%r5,%r6,%r7};\nret;\n}\n"

/* Four matrices of 8 x 8; row r of matrix m at the address that lane 8m + r names */
static void run_matrices(const char *ptx, uint16_t in[4][8][8], uint16_t out[32][4][2])
{
    void *from = engine_memory(&engine, 512), *to = engine_memory(&engine, 512);
    for (unsigned i = 0; i < 256; i++) {
        in[i / 64][i / 8 % 8][i % 8] = (uint16_t)(i * 257 + 3);
    }
    memcpy(from, in, 512);
    engine_load_text(&engine, ptx);
    ENGINE_LAUNCH(&engine, "k", 1, 32, 0, PTR(from), PTR(to));
    no_fault(ptx);
    memcpy(out, to, 512);
}

Test(wmma, ldmatrix)
{
    uint16_t in[4][8][8], out[32][4][2];
    static const char *const kernels[2] = {
        HEAD IN_TO_SHARED
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [%t1];\n" OUT,
        HEAD IN_TO_SHARED
        "cvt.u64.u32 %p3, %t1;\ncvta.shared.u64 %p3, %p3;\n"
        "ldmatrix.sync.aligned.m8n8.x2.trans.b16 {%r4,%r5}, [%p3];\n"
        "ldmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 {%r6}, [%t1];\nmov.b32 %r7, 9;\n" OUT};
    run_matrices(kernels[0], in, out);
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned m = 0; m < 4; m++) {
            for (unsigned i = 0; i < 2; i++) {
                cr_expect_eq(out[lane][m][i], in[m][lane / 4][lane % 4 * 2 + i]);
            }
        }
    }
    run_matrices(kernels[1], in, out);
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned m = 0; m < 3; m++) {
            for (unsigned i = 0; i < 2; i++) {
                cr_expect_eq(out[lane][m][i], in[m % 2][lane % 4 * 2 + i][lane / 4]);
            }
        }
        cr_expect_eq(out[lane][3][0], 9);
    }
}

/* With 8 or 16 rows, the row addresses of the other lanes do not count. */
static void run_with_lanes_beyond(unsigned count, const char *text, uint16_t in[4][8][8],
                                  uint16_t out[32][4][2])
{
    char whole[4096];
    snprintf(whole, sizeof whole,
             "%s.reg .pred %%q;\n.reg .b32 %%all;\n%smov.b32 %%all, %%t1;\nmov.b32 %%r4, 0;\n"
             "mov.b32 %%r5, 0;\nmov.b32 %%r6, 0;\nmov.b32 %%r7, 0;\nsetp.ge.u32 %%q, %%t0, %u;\n"
             "@%%q mov.b32 %%t1, -15;\n%s%s",
             HEAD, IN_TO_SHARED, 8 * count, text, OUT);
    run_matrices(whole, in, out);
}

Test(wmma, lanes_without_a_row_may_name_anything)
{
    uint16_t in[4][8][8], out[32][4][2];
    static const char *const loads[2] = {
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%t1];\n",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4,%r5}, [%t1];\n"};
    static const char *const stores[2] = {
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%t1], {%r4};\nbar.warp.sync -1;\n"
        "ld.shared.v4.b32 {%r4,%r5,%r6,%r7}, [%all];\n",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%t1], {%r4,%r5};\nbar.warp.sync -1;\n"
        "ld.shared.v4.b32 {%r4,%r5,%r6,%r7}, [%all];\n"};
    static const uint16_t zeros[8];
    for (unsigned count = 1; count <= 2; count++) {
        run_with_lanes_beyond(count, loads[count - 1], in, out);
        for (unsigned lane = 0; lane < 32; lane++) {
            for (unsigned i = 0; i < 2 * count; i++) {
                cr_expect_eq(out[lane][i / 2][i % 2], in[i / 2][lane / 4][lane % 4 * 2 + i % 2]);
            }
        }
        run_with_lanes_beyond(count, stores[count - 1], in, out);
        for (unsigned row = 0; row < 32; row++) {
            cr_expect_arr_eq(out[row], row < 8 * count ? zeros : in[row / 8][row % 8], 16);
        }
    }
}

Test(wmma, stmatrix_and_movmatrix)
{
    uint16_t in[4][8][8], out[32][4][2];
    static const char *const plain = HEAD IN_TO_SHARED
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%t1];\n"
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%t1], {%r1,%r0};\n" /* the first two swapped */
        "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%t1+256], {%r2};\n"
        "movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r3;\n"
        "bar.warp.sync -1;\nld.shared.v4.b32 {%r4,%r5,%r6,%r7}, [%t1];\n"
        "mov.b32 %t3, %t0;\nsetp.lt.u32 %q, %t0, 24;\n@!%q mov.b32 %r4, %r3;\n" OUT;
    char text[4096];
    const char *at = strstr(plain, ".shared .align");
    snprintf(text, sizeof text, "%.*s.reg .pred %%q;\n%s", (int)(at - plain), plain, at);
    run_matrices(text, in, out);
    for (unsigned row = 0; row < 8; row++) {
        cr_expect_arr_eq(out[row], in[1][row], 16);
        cr_expect_arr_eq(out[8 + row], in[0][row], 16);
        for (unsigned column = 0; column < 8; column++) {
            cr_expect_eq(out[16 + row][column / 2][column % 2], in[2][column][row]);
        }
    }
    for (unsigned lane = 24; lane < 32; lane++) { /* the transposed fragment */
        cr_expect_eq(out[lane][0][0], in[3][lane % 4 * 2][lane / 4]);
        cr_expect_eq(out[lane][0][1], in[3][lane % 4 * 2 + 1][lane / 4]);
    }
}

Test(wmma, faults)
{
    static const char *const misaligned =
        HEAD "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%t1+4];\n" OUT;
    static const char *const outside =
        HEAD "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%t1+512];\n" OUT;
    void *memory = engine_memory(&engine, 512);
    engine_load_text(&engine, misaligned);
    ENGINE_LAUNCH(&engine, "k", 1, 32, 0, PTR(memory), PTR(memory));
    cr_expect_eq(engine.fault.code, SG_FAULT_MISALIGNED);
    engine_load_text(&engine, outside);
    ENGINE_LAUNCH(&engine, "k", 1, 32, 0, PTR(memory), PTR(memory));
    cr_expect_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
}
