/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix instructions against plain loops. The fragments of mma are built here from the formulas
 * that the PTX ISA gives for each shape, element by element. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

TestSuite(matrix, .init = open_engine, .fini = shut);

static void no_fault(const char *what)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s: %s at PTX line %u", what,
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

/* ---- numbers: small integers, which every format holds exactly ---- */

static unsigned bits_of(const char *type)
{
    static const struct {
        const char *type;
        unsigned bits;
    } table[] = {{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"e4m3", 8}, {"e5m2", 8},
                 {"f32", 32}, {"f64", 64},  {"s8", 8},    {"u8", 8},   {"s4", 4},
                 {"u4", 4},   {"b1", 1},    {"s32", 32}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].type, type) == 0) {
            return table[i].bits;
        }
    }
    cr_assert_fail("no type %s", type);
    return 0;
}

/* Sign, exponent and mantissa of a small integer in a format of that many bits of each */
static uint64_t encode_float(int value, unsigned exponent_bits, unsigned mantissa_bits)
{
    unsigned magnitude = (unsigned)abs(value), top = 0;
    uint64_t sign = value < 0 ? UINT64_C(1) << (exponent_bits + mantissa_bits) : 0;
    if (magnitude == 0) {
        return 0;
    }
    while (magnitude >> (top + 1)) {
        top++;
    }
    uint64_t exponent = (UINT64_C(1) << (exponent_bits - 1)) - 1 + top;
    uint64_t mantissa = (uint64_t)magnitude << mantissa_bits >> top;
    return sign | exponent << mantissa_bits | (mantissa & ((UINT64_C(1) << mantissa_bits) - 1));
}

static uint64_t encode(const char *type, int value)
{
    if (strcmp(type, "f16") == 0) {
        return encode_float(value, 5, 10);
    }
    if (strcmp(type, "bf16") == 0) {
        return encode_float(value, 8, 7);
    }
    if (strcmp(type, "tf32") == 0) { /* the low bits do not count */
        return encode_float(value, 8, 23) | 0x1555;
    }
    if (strcmp(type, "f32") == 0) {
        return encode_float(value, 8, 23);
    }
    if (strcmp(type, "f64") == 0) {
        return encode_float(value, 11, 52);
    }
    if (strcmp(type, "e4m3") == 0) {
        return encode_float(value, 4, 3);
    }
    if (strcmp(type, "e5m2") == 0) {
        return encode_float(value, 5, 2);
    }
    return (uint64_t)(int64_t)value & ((UINT64_C(1) << bits_of(type)) - 1);
}

static int any_value(const char *type, uint64_t *seed)
{
    unsigned random = (unsigned)(engine_random(seed) >> 20);
    return strcmp(type, "b1") == 0    ? (int)(random & 1)
           : strcmp(type, "u8") == 0  ? (int)(random & 255)
           : strcmp(type, "s8") == 0  ? (int8_t)random
           : strcmp(type, "u4") == 0  ? (int)(random & 15)
           : strcmp(type, "s4") == 0  ? (int)(random & 15) - 8
           : strcmp(type, "s32") == 0 ? (int)(random % 20001) - 10000
                                      : (int)(random % 9) - 4;
}

/* Element `at` of an array of elements of that many bits */
static void put_bits(void *array, unsigned bits, size_t at, uint64_t value)
{
    uint8_t *bytes = array;
    if (bits < 8) {
        unsigned shift = (unsigned)(at * bits % 8);
        uint8_t *byte = &bytes[at * bits / 8];
        *byte = (uint8_t)((*byte & ~(((1u << bits) - 1) << shift)) | (unsigned)value << shift);
    } else {
        memcpy(bytes + at * (bits / 8), &value, bits / 8);
    }
}

static uint64_t get_bits(const void *array, unsigned bits, size_t at)
{
    uint64_t value = 0;
    memcpy(&value, (const uint8_t *)array + at * (bits / 8), bits / 8);
    return value;
}

struct product {
    const char *d, *a, *b, *c; /* types */
    unsigned m, n, k;
    const char *op; /* behind the types */
    int va[32 * 256], vb[256 * 32], vc[32 * 32], vd[32 * 32];
};

static void compute(struct product *p, uint64_t *seed)
{
    for (unsigned i = 0; i < p->m * p->k; i++) {
        p->va[i] = any_value(p->a, seed);
    }
    for (unsigned i = 0; i < p->k * p->n; i++) {
        p->vb[i] = any_value(p->b, seed);
    }
    for (unsigned row = 0; row < p->m; row++) {
        for (unsigned column = 0; column < p->n; column++) {
            int sum = p->vc[row * p->n + column] = any_value(p->c, seed);
            for (unsigned k = 0; k < p->k; k++) {
                int x = p->va[row * p->k + k], y = p->vb[k * p->n + column];
                sum += strstr(p->op, "xor") != NULL ? x ^ y : x * y;
            }
            p->vd[row * p->n + column] = sum;
        }
    }
}

/* ---- mma.sync ---- */

enum role { A, B, C };

/* The place in mma.m16n8k* and mma.m8n8k*: element i of a lane, with e elements in a register. */
static void place(enum role role, unsigned m, unsigned e, unsigned lane, unsigned i, unsigned *row,
                  unsigned *column)
{
    unsigned group = lane / 4, thread = lane % 4;
    if (role == A && m == 16) {
        *row = i / e % 2 == 0 ? group : group + 8;
        *column = thread * e + i % e + i / (2 * e) * 4 * e;
    } else if (role == A) {
        *row = group;
        *column = thread * e + i;
    } else if (role == B) {
        *row = thread * e + i % e + i / e * 4 * e;
        *column = group;
    } else {
        *row = i < 2 ? group : group + 8;
        *column = thread * 2 + i % 2;
    }
}

struct registers { /* 8 of 64 bits per lane, of which those of 32 bits use half */
    uint8_t *bytes;
    unsigned count, bits;
};

static struct registers registers_for(const char *type, unsigned elements)
{
    unsigned bits = bits_of(type), count = elements * bits / (bits == 64 ? 2048u : 1024u);
    return (struct registers){engine_memory(&engine, 32 * 64), count, bits};
}

static size_t element_index(const struct registers *r, unsigned lane, unsigned i)
{
    return (size_t)lane * 512 / r->bits + i; /* 64 bytes per lane */
}

static int append(char *text, size_t size, int used, const char *format, const char *prefix,
                  unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        used += snprintf(text + used, size - (size_t)used, format, prefix, i);
    }
    return used;
}

/* ld or st of each register of a fragment at [%rd<pointer> + offset] */
static int accesses(char *text, size_t size, int used, const char *prefix,
                    const struct registers *r, int pointer, bool load)
{
    const char *type = r->bits == 64 ? "b64" : "b32";
    for (unsigned i = 0; i < r->count; i++) {
        unsigned offset = i * (r->bits == 64 ? 8u : 4u);
        used +=
            load ? snprintf(text + used, size - (size_t)used, "ld.global.%s %%%s%u, [%%p%d+%u];\n",
                            type, prefix, i, pointer, offset)
                 : snprintf(text + used, size - (size_t)used, "st.global.%s [%%p%d+%u], %%%s%u;\n",
                            type, pointer, offset, prefix, i);
    }
    return used;
}

static int operand_list(char *text, size_t size, int used, const char *prefix,
                        const struct registers *r, char end)
{
    used += snprintf(text + used, size - (size_t)used, "{");
    used = append(text, size, used, "%%%s%u,", prefix, r->count);
    return used - 1 + snprintf(text + used - 1, size - (size_t)used, "}%c", end);
}

/* A kernel in which every lane loads its registers, executes `opcode`, and stores the result. */
static void run_mma(const char *opcode, struct registers r[4], const char *version)
{
    static char text[16384];
    static const char *const prefix[4] = {"d", "a", "b", "c"};
    int used = snprintf(text, sizeof text,
                        ".version %s\n.address_size 64\n.visible .entry k(.param .u64 pd, "
                        ".param .u64 pa, .param .u64 pb, .param .u64 pc)\n{\n.reg .b32 %%t;\n"
                        ".reg .b64 %%p<4>, %%o;\n",
                        version);
    for (int i = 0; i < 4; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, ".reg .%s %%%s<8>;\n",
                         r[i].bits == 64 ? "f64" : "b32", prefix[i]);
    }
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "mov.u32 %%t, %%tid.x;\nmul.wide.u32 %%o, %%t, 64;\n");
    for (int i = 0; i < 4; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "ld.param.u64 %%p%d, [p%s];\nadd.u64 %%p%d, %%p%d, %%o;\n", i, prefix[i],
                         i, i);
        used = i ? accesses(text, sizeof text, used, prefix[i], &r[i], i, true) : used;
    }
    used += snprintf(text + used, sizeof text - (size_t)used, "%s ", opcode);
    for (int i = 0; i < 4; i++) {
        used = operand_list(text, sizeof text, used, prefix[i], &r[i], i == 3 ? ';' : ',');
    }
    used += snprintf(text + used, sizeof text - (size_t)used, "\n");
    used = accesses(text, sizeof text, used, "d", &r[0], 0, false);
    snprintf(text + used, sizeof text - (size_t)used, "ret;\n}\n");
    engine_load_text(&engine, text);
    ENGINE_LAUNCH(&engine, "k", 1, 32, 0, PTR(r[0].bytes), PTR(r[1].bytes), PTR(r[2].bytes),
                  PTR(r[3].bytes));
    no_fault(opcode);
}

static void check_mma(const char *d, const char *a, const char *b, const char *c, unsigned m,
                      unsigned n, unsigned k, const char *op)
{
    static struct product p;
    uint64_t seed = m * 977 + n * 131 + k;
    char opcode[160];
    p = (struct product){.d = d, .a = a, .b = b, .c = c, .m = m, .n = n, .k = k, .op = op};
    compute(&p, &seed);
    struct registers r[4] = {registers_for(d, m * n), registers_for(a, m * k),
                             registers_for(b, k * n), registers_for(c, m * n)};
    const char *types[4] = {d, a, b, c};
    const int *values[4] = {p.vd, p.va, p.vb, p.vc};
    const unsigned columns[4] = {n, k, n, n};
    static const enum role roles[4] = {C, A, B, C};
    for (int f = 1; f < 4; f++) {
        unsigned e = r[f].bits == 64 ? 1 : 32 / r[f].bits;
        for (unsigned lane = 0; lane < 32; lane++) {
            for (unsigned i = 0; i < r[f].count * e; i++) {
                unsigned row, column;
                place(roles[f], m, e, lane, i, &row, &column);
                put_bits(r[f].bytes, r[f].bits, element_index(&r[f], lane, i),
                         encode(types[f], values[f][row * columns[f] + column]));
            }
        }
    }
    snprintf(opcode, sizeof opcode, "mma.sync.aligned.m%un%uk%u.row.col.%s.%s.%s.%s%s", m, n, k, d,
             a, b, c, op);
    run_mma(opcode, r, "8.4\n.target sm_90");
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned i = 0; i < m * n / 32; i++) {
            unsigned row, column;
            place(C, m, 1, lane, i, &row, &column);
            uint64_t got = get_bits(r[0].bytes, r[0].bits, element_index(&r[0], lane, i));
            cr_assert_eq(got, encode(d, p.vd[row * n + column]),
                         "%s: row %u, column %u: 0x%llx, %d wanted", opcode, row, column,
                         (unsigned long long)got, p.vd[row * n + column]);
        }
    }
}

Test(matrix, mma_of_floats)
{
    check_mma("f32", "f16", "f16", "f32", 16, 8, 8, "");
    check_mma("f16", "f16", "f16", "f16", 16, 8, 8, "");
    check_mma("f32", "f16", "f16", "f32", 16, 8, 16, "");
    check_mma("f16", "f16", "f16", "f16", 16, 8, 16, "");
    check_mma("f32", "bf16", "bf16", "f32", 16, 8, 8, "");
    check_mma("f32", "bf16", "bf16", "f32", 16, 8, 16, "");
    check_mma("f32", "tf32", "tf32", "f32", 16, 8, 4, "");
    check_mma("f32", "tf32", "tf32", "f32", 16, 8, 8, "");
    check_mma("f32", "e4m3", "e4m3", "f32", 16, 8, 32, "");
    check_mma("f32", "e4m3", "e5m2", "f32", 16, 8, 32, "");
    check_mma("f32", "e5m2", "e5m2", "f32", 16, 8, 32, "");
    check_mma("f64", "f64", "f64", "f64", 8, 8, 4, "");
    check_mma("f64", "f64", "f64", "f64", 16, 8, 4, "");
    check_mma("f64", "f64", "f64", "f64", 16, 8, 8, "");
    check_mma("f64", "f64", "f64", "f64", 16, 8, 16, "");
}

Test(matrix, mma_of_integers)
{
    static const char *const pairs8[4][2] = {
        {"s8", "s8"}, {"s8", "u8"}, {"u8", "s8"}, {"u8", "u8"}};
    static const char *const pairs4[4][2] = {
        {"s4", "s4"}, {"s4", "u4"}, {"u4", "s4"}, {"u4", "u4"}};
    for (int i = 0; i < 4; i++) {
        check_mma("s32", pairs8[i][0], pairs8[i][1], "s32", 8, 8, 16, "");
        check_mma("s32", pairs8[i][0], pairs8[i][1], "s32", 16, 8, 16, "");
        check_mma("s32", pairs8[i][0], pairs8[i][1], "s32", 16, 8, 32, "");
        check_mma("s32", pairs4[i][0], pairs4[i][1], "s32", 8, 8, 32, "");
        check_mma("s32", pairs4[i][0], pairs4[i][1], "s32", 16, 8, 32, "");
        check_mma("s32", pairs4[i][0], pairs4[i][1], "s32", 16, 8, 64, "");
    }
    for (int i = 0; i < 2; i++) {
        const char *op = i ? ".and.popc" : ".xor.popc";
        check_mma("s32", "b1", "b1", "s32", 8, 8, 128, op);
        check_mma("s32", "b1", "b1", "s32", 16, 8, 128, op);
        check_mma("s32", "b1", "b1", "s32", 16, 8, 256, op);
    }
}

/* mma.m8n8k4 of .f16 computes four products: of lanes 0-3 and 16-19, and so on. */
static void check_quad(bool a_column, bool b_column, const char *c, const char *d)
{
    struct registers r[4] = {registers_for(d, 256), registers_for("f16", 128),
                             registers_for("f16", 128), registers_for(c, 256)};
    static int va[4][8][4], vb[4][4][8], vc[4][8][8];
    uint64_t seed = 5;
    char opcode[100];
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned quad = lane / 4 % 4, low = lane % 4, high = lane < 16 ? 0 : 4;
        for (unsigned i = 0; i < 4; i++) {
            int x = any_value("f16", &seed), y = any_value("f16", &seed);
            *(a_column ? &va[quad][i + high][low] : &va[quad][low + high][i]) = x;
            *(b_column ? &vb[quad][i][low + high] : &vb[quad][low][i + high]) = y;
            put_bits(r[1].bytes, 16, element_index(&r[1], lane, i), encode("f16", x));
            put_bits(r[2].bytes, 16, element_index(&r[2], lane, i), encode("f16", y));
        }
        for (unsigned i = 0; i < 8; i++) {
            bool half = strcmp(c, "f16") == 0;
            unsigned row = half ? low + high : (lane & 1) + (i & 2) + high;
            unsigned column = half ? i : (i & 4) + (lane & 2) + (i & 1);
            vc[quad][row][column] = any_value("f16", &seed);
            put_bits(r[3].bytes, r[3].bits, element_index(&r[3], lane, i),
                     encode(c, vc[quad][row][column]));
        }
    }
    snprintf(opcode, sizeof opcode, "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s",
             a_column ? "col" : "row", b_column ? "col" : "row", d, c);
    run_mma(opcode, r, "8.4\n.target sm_70");
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned i = 0; i < 8; i++) {
            bool half = strcmp(d, "f16") == 0;
            unsigned quad = lane / 4 % 4, low = lane % 4, high = lane < 16 ? 0 : 4;
            unsigned row = half ? low + high : (lane & 1) + (i & 2) + high;
            unsigned column = half ? i : (i & 4) + (lane & 2) + (i & 1);
            int want = vc[quad][row][column];
            for (unsigned k = 0; k < 4; k++) {
                want += va[quad][row][k] * vb[quad][k][column];
            }
            cr_assert_eq(get_bits(r[0].bytes, r[0].bits, element_index(&r[0], lane, i)),
                         encode(d, want), "%s: product %u, row %u, column %u", opcode, quad, row,
                         column);
        }
    }
}

Test(matrix, mma_of_quad_pairs)
{
    for (int layouts = 0; layouts < 4; layouts++) {
        check_quad(layouts & 1, layouts & 2, "f32", "f32");
        check_quad(layouts & 1, layouts & 2, "f16", "f16");
        check_quad(layouts & 1, layouts & 2, "f16", "f32");
    }
}

Test(matrix, satfinite_stops_at_the_ends)
{
    struct registers r[4] = {registers_for("s32", 64), registers_for("s8", 128),
                             registers_for("s8", 128), registers_for("s32", 64)};
    memset(r[1].bytes, 127, 32 * 64);
    memset(r[2].bytes, 127, 32 * 64);
    for (unsigned lane = 0; lane < 32; lane++) {
        put_bits(r[3].bytes, 32, element_index(&r[3], lane, 0), INT32_MAX - 5);
        put_bits(r[3].bytes, 32, element_index(&r[3], lane, 1), 7);
    }
    run_mma("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32", r, "8.4\n.target sm_80");
    cr_expect_eq(get_bits(r[0].bytes, 32, element_index(&r[0], 9, 0)), INT32_MAX);
    cr_expect_eq(get_bits(r[0].bytes, 32, element_index(&r[0], 9, 1)), 7 + 16 * 127 * 127);
    run_mma("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", r, "8.4\n.target sm_80");
    cr_expect_eq((int32_t)get_bits(r[0].bytes, 32, element_index(&r[0], 9, 0)),
                 (int32_t)((uint32_t)(INT32_MAX - 5) + 16u * 127 * 127));
}

/* One column of f16 numbers of all sizes: the sum is made in single precision and rounded once. */
Test(matrix, halves_are_rounded_once)
{
    struct registers r[4] = {registers_for("f16", 128), registers_for("f16", 128),
                             registers_for("f16", 64), registers_for("f16", 128)};
    /* row 0 of A: 1 + 2^-10, 2^-24 (a subnormal); column 0 of B: 1, 2^13 */
    put_bits(r[1].bytes, 16, element_index(&r[1], 0, 0), 0x3c01);
    put_bits(r[1].bytes, 16, element_index(&r[1], 0, 1), 0x0001);
    put_bits(r[2].bytes, 16, element_index(&r[2], 0, 0), 0x3c00);
    put_bits(r[2].bytes, 16, element_index(&r[2], 0, 1), 0x7000);
    put_bits(r[3].bytes, 16, element_index(&r[3], 0, 1), 0x7bff); /* column 1 of row 0 */
    run_mma("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", r, "8.4\n.target sm_80");
    /* 1 + 2^-10 + 2^-11 is in the middle; the even neighbour is 1 + 2^-9 */
    cr_expect_eq(get_bits(r[0].bytes, 16, element_index(&r[0], 0, 0)), 0x3c02);
    cr_expect_eq(get_bits(r[0].bytes, 16, element_index(&r[0], 0, 1)), 0x7bff);
    put_bits(r[2].bytes, 16, element_index(&r[2], 0, 0), 0x7bff);
    put_bits(r[1].bytes, 16, element_index(&r[1], 0, 0), 0x7bff);
    run_mma("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", r, "8.4\n.target sm_80");
    cr_expect_eq(get_bits(r[0].bytes, 16, element_index(&r[0], 0, 0)), 0x7c00);
}
