/* SPDX-License-Identifier: Apache-2.0 */
/* Video instructions in random forms (types, parts, .sat, second operations, masks) against a
 * reference that takes the form as the PTX ISA writes it. Each kernel holds many of them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

typedef __int128 wide;

enum { FORMS = 160, LANES = 128, TEXT = 64 << 10 };

struct form {
    const char *op;
    int d_signed, a_signed, b_signed, sat, mode; /* mode: of shifts, 1: clamp */
    const char *second;                          /* "", "add", "min", "max" */
    const char *relation;
    char a_part[8], b_part[8], d_part[8]; /* with the dot, or empty */
    int scale, po, negate_product, negate_c;
    char text[128];
};

static struct engine engine;
static struct form forms[FORMS];
static char text[TEXT];

static int pick(uint64_t *seed, int below)
{
    return (int)((engine_random(seed) >> 20) % (unsigned)below);
}

/* ---- what the ISA says ---- */

static wide part_of(uint32_t x, const char *part, int is_signed)
{
    int first = 0, bits = 32;
    if (part[0]) {
        bits = part[1] == 'b' ? 8 : 16;
        first = (part[2] - '0') * bits;
    }
    uint64_t value = (x >> first) & ((UINT64_C(1) << bits) - 1);
    return is_signed && value >> (bits - 1) ? (wide)value - ((wide)1 << bits) : (wide)value;
}

static wide limited(wide x, int bits, int is_signed)
{
    wide high = ((wide)1 << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -high - 1 : 0;
    return x > high ? high : x < low ? low : x;
}

static int related(const char *relation, wide a, wide b)
{
    return strcmp(relation, "eq") == 0   ? a == b
           : strcmp(relation, "ne") == 0 ? a != b
           : strcmp(relation, "lt") == 0 ? a < b
           : strcmp(relation, "le") == 0 ? a <= b
           : strcmp(relation, "gt") == 0 ? a > b
                                         : a >= b;
}

static wide primary(const struct form *f, const char *op, wide a, wide b)
{
    if (strncmp(op, "vadd", 4) == 0) {
        return a + b;
    }
    if (strncmp(op, "vsub", 4) == 0) {
        return a - b;
    }
    if (strncmp(op, "vabsdiff", 8) == 0) {
        return a - b < 0 ? b - a : a - b;
    }
    if (strncmp(op, "vmin", 4) == 0) {
        return a < b ? a : b;
    }
    if (strncmp(op, "vmax", 4) == 0) {
        return a < b ? b : a;
    }
    if (strncmp(op, "vset", 4) == 0) {
        return related(f->relation, a, b);
    }
    if (strncmp(op, "vavrg", 5) == 0) {
        wide sum = a + b, twice = sum >= 0 ? sum + 1 : sum; /* halved downwards */
        return twice >= 0 ? twice / 2 : -((-twice + 1) / 2);
    }
    wide shift = f->mode ? (b > 32 ? 32 : b) : b % 32, power = (wide)1 << shift;
    if (strcmp(op, "vshl") == 0) {
        return a * power;
    }
    return a >= 0 ? a / power : -((-a + power - 1) / power);
}

static uint32_t scalar(const struct form *f, uint32_t ra, uint32_t rb, uint32_t c)
{
    wide a = part_of(ra, f->a_part, f->a_signed), b = part_of(rb, f->b_part, f->b_signed);
    wide t = primary(f, f->op, a, b), third = f->d_signed ? (wide)(int32_t)c : (wide)c;
    int bits = !f->d_part[0] ? 32 : f->d_part[1] == 'b' ? 8 : 16;
    if (f->sat) {
        t = limited(t, bits, f->d_signed);
    }
    if (strcmp(f->second, "add") == 0) {
        t += third;
    } else if (strcmp(f->second, "min") == 0) {
        t = t < third ? t : third;
    } else if (strcmp(f->second, "max") == 0) {
        t = t > third ? t : third;
    } else if (f->d_part[0]) {
        int first = (f->d_part[2] - '0') * bits;
        uint32_t ones = ((1u << bits) - 1) << first;
        return (c & ~ones) | ((uint32_t)t << first & ones);
    }
    return (uint32_t)t;
}

static uint32_t vmad(const struct form *f, uint32_t ra, uint32_t rb, uint32_t rc)
{
    wide a = part_of(ra, f->a_part, f->a_signed), b = part_of(rb, f->b_part, f->b_signed);
    int is_signed = f->a_signed || f->b_signed || f->negate_product || f->negate_c;
    wide c = is_signed ? (wide)(int32_t)rc : (wide)rc;
    wide sum = (f->negate_product ? -(a * b) : a * b) + (f->negate_c ? -c : c) + f->po;
    wide power = (wide)1 << f->scale;
    wide result = sum >= 0 ? sum / power : -((-sum + power - 1) / power);
    return (uint32_t)(f->sat ? limited(result, 32, is_signed) : result);
}

static uint32_t simd(const struct form *f, uint32_t a, uint32_t b, uint32_t c)
{
    int lanes = f->op[strlen(f->op) - 1] - '0', bits = 32 / lanes;
    uint32_t result = c, ones = (1u << bits) - 1;
    for (int i = 0; i < lanes; i++) {
        int which[2] = {i, lanes + i};
        wide v[2];
        for (int k = 0; k < 2; k++) {
            const char *part = k ? f->b_part : f->a_part;
            which[k] = part[0] ? part[strlen(part) - 1 - (size_t)i] - '0' : which[k];
            uint32_t from = which[k] < lanes ? a : b;
            int64_t value = from >> (which[k] % lanes * bits) & ones;
            v[k] =
                (k ? f->b_signed : f->a_signed) && value >> (bits - 1) ? value - ones - 1 : value;
        }
        wide t = primary(f, f->op, v[0], v[1]);
        t = f->sat ? limited(t, bits, f->d_signed) : t;
        if (f->d_part[0] && strchr(f->d_part + 2, '0' + i) == NULL) {
            continue;
        }
        if (strcmp(f->second, "add") == 0) {
            result += (uint32_t)t;
        } else {
            result = (result & ~(ones << (i * bits))) | ((uint32_t)t & ones) << (i * bits);
        }
    }
    return result;
}

/* ---- forms ---- */

static const char *type_of(int is_signed)
{
    return is_signed ? ".s32" : ".u32";
}

static void random_part(char *part, uint64_t *seed)
{
    static const char *const parts[] = {"", "", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
    strcpy(part, parts[pick(seed, 8)]);
}

static void random_lanes(char *part, uint64_t *seed, int lanes)
{
    part[0] = '\0';
    if (pick(seed, 2)) {
        strcpy(part, lanes == 2 ? ".h" : ".b");
        for (int i = 0; i < lanes; i++) {
            part[2 + i] = (char)('0' + pick(seed, 2 * lanes));
            part[3 + i] = '\0';
        }
    }
}

static void make_scalar(struct form *f, uint64_t *seed, char words[128])
{
    static const char *const ops[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax",
                                      "vset", "vshl", "vshr",     "vmad"};
    f->op = ops[pick(seed, 9)];
    bool set = strcmp(f->op, "vset") == 0, shift = strncmp(f->op, "vsh", 3) == 0;
    f->d_signed = set ? 0 : f->d_signed;
    f->b_signed = shift ? 0 : f->b_signed;
    random_part(f->a_part, seed);
    random_part(f->b_part, seed);
    if (strcmp(f->op, "vmad") == 0) {
        f->scale = (int[]){0, 7, 15}[pick(seed, 3)];
        int sign = pick(seed, 4);
        f->po = sign == 1;
        f->negate_product = sign == 2;
        f->negate_c = sign == 3;
        f->d_signed = f->a_signed || f->b_signed || sign > 1;
        snprintf(words, 128, "vmad%s%s%s%s%s%s %%d, %s%%a%s, %%b%s, %s%%c;", type_of(f->d_signed),
                 type_of(f->a_signed), type_of(f->b_signed), f->po ? ".po" : "",
                 f->sat ? ".sat" : "",
                 f->scale == 7    ? ".shr7"
                 : f->scale == 15 ? ".shr15"
                                  : "",
                 f->negate_product ? "-" : "", f->a_part, f->b_part, f->negate_c ? "-" : "");
        return;
    }
    int then = pick(seed, 5);
    static const char *const seconds[] = {"", "add", "min", "max", ""};
    f->second = seconds[then];
    if (then == 4) {
        do {
            random_part(f->d_part, seed);
        } while (!f->d_part[0]);
    }
    f->sat = set ? 0 : f->sat;
    char types[48], end[24] = "";
    snprintf(types, sizeof types, "%s%s%s", set ? "" : type_of(f->d_signed), type_of(f->a_signed),
             type_of(f->b_signed));
    if (set || shift) {
        snprintf(end, sizeof end, ".%s", set ? f->relation : f->mode ? "clamp" : "wrap");
    }
    snprintf(words, 128, "%s%s%s%s%s%s %%d%s, %%a%s, %%b%s%s;", f->op, types, f->sat ? ".sat" : "",
             end, f->second[0] ? "." : "", f->second, f->d_part, f->a_part, f->b_part,
             then ? ", %c" : "");
}

static void make_simd(struct form *f, uint64_t *seed, char words[128])
{
    static const char *const ops[] = {"vadd2", "vsub2",  "vabsdiff2", "vmin2", "vmax2",
                                      "vset2", "vavrg2", "vadd4",     "vsub4", "vabsdiff4",
                                      "vmin4", "vmax4",  "vset4",     "vavrg4"};
    static const char *const masks[2][6] = {{"", ".h0", ".h1", ".h10", "", ""},
                                            {"", ".b0", ".b31", ".b210", ".b3210", ".b2"}};
    f->op = ops[pick(seed, 14)];
    int lanes = f->op[strlen(f->op) - 1] - '0';
    bool set = strncmp(f->op, "vset", 4) == 0;
    f->d_signed = set ? 0 : f->d_signed;
    f->second = pick(seed, 3) == 0 ? "add" : "";
    f->sat = set || f->second[0] ? 0 : f->sat;
    random_lanes(f->a_part, seed, lanes);
    random_lanes(f->b_part, seed, lanes);
    strcpy(f->d_part, masks[lanes / 4][pick(seed, 6)]);
    snprintf(words, 128, "%s%s%s%s%s%s%s%s %%d%s, %%a%s, %%b%s, %%c;", f->op,
             set ? "" : type_of(f->d_signed), type_of(f->a_signed), type_of(f->b_signed),
             set      ? "."
             : f->sat ? ".sat"
                      : "",
             set ? f->relation : "", f->second[0] ? "." : "", f->second, f->d_part, f->a_part,
             f->b_part);
}

static void make(struct form *f, uint64_t *seed)
{
    static const char *const relations[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    *f = (struct form){.d_signed = pick(seed, 2),
                       .a_signed = pick(seed, 2),
                       .b_signed = pick(seed, 2),
                       .sat = pick(seed, 2),
                       .mode = pick(seed, 2),
                       .second = "",
                       .relation = relations[pick(seed, 6)]};
    char words[128];
    if (pick(seed, 2)) {
        make_scalar(f, seed, words);
    } else {
        make_simd(f, seed, words);
    }
    strcpy(f->text, words);
}

static void run_forms(uint64_t *seed, const uint32_t *in, uint32_t *out)
{
    int used = snprintf(text, sizeof text,
                        ".version 8.1\n.target sm_75\n.address_size 64\n"
                        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                        ".reg .b64 %%in, %%to, %%at; .reg .b32 %%t, %%a, %%b, %%c, %%d;\n"
                        "ld.param.u64 %%in, [in]; ld.param.u64 %%to, [out]; mov.u32 %%t, %%tid.x;\n"
                        "mul.wide.u32 %%at, %%t, 16; add.u64 %%in, %%in, %%at;\n"
                        "mul.wide.u32 %%at, %%t, 4; add.u64 %%to, %%to, %%at;\n"
                        "ld.global.v2.u32 {%%a, %%b}, [%%in]; ld.global.u32 %%c, [%%in+8];\n");
    for (int i = 0; i < FORMS; i++) {
        make(&forms[i], seed);
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "%s\nst.global.u32 [%%to+%d], %%d;\n", forms[i].text, i * LANES * 4);
    }
    used += snprintf(text + used, sizeof text - (size_t)used, "ret;\n}\n");
    cr_assert_lt((size_t)used, sizeof text);
    engine_load_units(&engine, &(struct sg_unit){text, (size_t)used, NULL}, 1);
    ENGINE_LAUNCH(&engine, "k", 1, LANES, 0, PTR(in), PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
}

Test(video, random_forms, .timeout = 60)
{
    static const uint32_t edges[] = {0,          1,          0x7fffffff, 0x80000000, 0xffffffff,
                                     0x7fff8000, 0x80017fff, 0x7f80ff00, 0x00ff807f, 32};
    uint64_t seed = 21;
    engine_open(&engine, 1);
    uint32_t *in = engine_memory(&engine, LANES * 16),
             *out = engine_memory(&engine, FORMS * LANES * 4);
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < LANES * 4; i++) {
            uint32_t r = (uint32_t)(engine_random(&seed) >> 16);
            in[i] = i % 3 == 0 ? edges[r % 10] : i % 3 == 1 ? r >> r % 32 : r;
        }
        run_forms(&seed, in, out);
        for (int i = 0; i < FORMS; i++) {
            const struct form *f = &forms[i];
            size_t length = strlen(f->op);
            bool several = f->op[length - 1] == '2' || f->op[length - 1] == '4';
            for (int lane = 0; lane < LANES; lane++) {
                uint32_t a = in[4 * lane], b = in[4 * lane + 1], c = in[4 * lane + 2];
                uint32_t want = several                      ? simd(f, a, b, c)
                                : strcmp(f->op, "vmad") == 0 ? vmad(f, a, b, c)
                                                             : scalar(f, a, b, c);
                cr_assert_eq(out[i * LANES + lane], want, "%s of %x, %x, %x: %x, not %x", f->text,
                             a, b, c, out[i * LANES + lane], want);
            }
        }
    }
    engine_close(&engine);
}
