/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation of op.def, as the engine runs it (32 lanes, both instruction sets, full and
 * masked, result in place of an operand) against the same line compiled as scalar code for one
 * lane; and a table of results that the PTX ISA demands and that C would not give by itself. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/exec/half.h"
#include "softgpu/exec/op.h"
#include "softgpu/exec/op_math.h"
#include "softgpu/exec/video.h"
#include "softgpu/tests/engine_fixture.h"
#include "softgpu/tests/op_operands.h"

/* ---- the reference: one lane, operands and result as 64 bits ---- */

typedef uint16_t val_u16, val_f16, val_bf16;
typedef int16_t val_s16;
typedef uint32_t val_u32, val_p, val_f16x2, val_bf16x2;
typedef int32_t val_s32;
typedef float val_f32;
typedef uint64_t val_u64;
typedef int64_t val_s64;
typedef double val_f64;

struct lane {
    uint64_t a, b, c, e;
    int64_t imm;
};

#define TAKE(T, x)                                                                                 \
    volatile val_##T x##_;                                                                         \
    memcpy((void *)&x##_, &lane->x, sizeof x##_);                                                  \
    val_##T x = x##_;                                                                              \
    (void)x
#define IN1(A) TAKE(A, a)
#define IN2(A, B)                                                                                  \
    IN1(A);                                                                                        \
    TAKE(B, b)
#define IN3(A, B, C)                                                                               \
    IN2(A, B);                                                                                     \
    TAKE(C, c)
#define IN4(A, B, C, E)                                                                            \
    IN3(A, B, C);                                                                                  \
    TAKE(E, e)
#define REFERENCE(name, D, MODE, IN, ...)                                                          \
    __attribute__((noinline, optimize("O1"))) static uint64_t ref_##name(const struct lane *lane)  \
    {                                                                                              \
        const int64_t imm = lane->imm;                                                             \
        uint64_t bits = 0;                                                                         \
        (void)imm;                                                                                 \
        fesetround(MODE);                                                                          \
        IN;                                                                                        \
        volatile val_##D d = (val_##D)(__VA_ARGS__);                                               \
        fesetround(FE_TONEAREST);                                                                  \
        memcpy(&bits, (const void *)&d, sizeof d);                                                 \
        return bits;                                                                               \
    }
#define MODE_rz                     FE_TOWARDZERO
#define MODE_rm                     FE_DOWNWARD
#define MODE_rp                     FE_UPWARD
#define OP1(n, D, A, ...)           REFERENCE(n, D, FE_TONEAREST, IN1(A), __VA_ARGS__)
#define OP2(n, D, A, B, ...)        REFERENCE(n, D, FE_TONEAREST, IN2(A, B), __VA_ARGS__)
#define OP3(n, D, A, B, C, ...)     REFERENCE(n, D, FE_TONEAREST, IN3(A, B, C), __VA_ARGS__)
#define OP4(n, D, A, B, C, E, ...)  REFERENCE(n, D, FE_TONEAREST, IN4(A, B, C, E), __VA_ARGS__)
#define RND1(n, R, D, A, ...)       REFERENCE(n, D, MODE_##R, IN1(A), __VA_ARGS__)
#define RND2(n, R, D, A, B, ...)    REFERENCE(n, D, MODE_##R, IN2(A, B), __VA_ARGS__)
#define RND3(n, R, D, A, B, C, ...) REFERENCE(n, D, MODE_##R, IN3(A, B, C), __VA_ARGS__)
#define CMP1(n, A, ...)             REFERENCE(n, p, FE_TONEAREST, IN1(A), (__VA_ARGS__) ? 1 : 0)
#define CMP2(n, A, B, ...)          REFERENCE(n, p, FE_TONEAREST, IN2(A, B), (__VA_ARGS__) ? 1 : 0)
#define CMP3(n, A, B, C, ...)       REFERENCE(n, p, FE_TONEAREST, IN3(A, B, C), !!(__VA_ARGS__))
#define BITS1(n, ...)               REFERENCE(n, p, FE_TONEAREST, IN1(p), (__VA_ARGS__)&1)
#define BITS2(n, ...)               REFERENCE(n, p, FE_TONEAREST, IN2(p, p), (__VA_ARGS__)&1)
#define BITS3(n, ...)               REFERENCE(n, p, FE_TONEAREST, IN3(p, p, p), (__VA_ARGS__)&1)
#define ALIAS(n, same)
#include "softgpu/exec/op.def"
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

struct reference {
    const char *name;
    uint64_t (*run)(const struct lane *);
    unsigned char e; /* type of a fourth operand */
};
#define ROW(n, e)                  {#n, ref_##n, SG_OP_##e},
#define OP1(n, ...)                ROW(n, none)
#define OP2(n, ...)                ROW(n, none)
#define OP3(n, ...)                ROW(n, none)
#define OP4(n, D, A, B, C, E, ...) ROW(n, E)
#define RND1(n, ...)               ROW(n, none)
#define RND2(n, ...)               ROW(n, none)
#define RND3(n, ...)               ROW(n, none)
#define CMP1(n, ...)               ROW(n, none)
#define CMP2(n, ...)               ROW(n, none)
#define CMP3(n, ...)               ROW(n, none)
#define BITS1(n, ...)              ROW(n, none)
#define BITS2(n, ...)              ROW(n, none)
#define BITS3(n, ...)              ROW(n, none)
static const struct reference references[] = {
#include "softgpu/exec/op.def"
};

/* ---- a warp that is only a register file ---- */

enum {
    HEAD = 256,
    ROW_D = HEAD,
    ROW_A = HEAD + 256,
    ROW_B = HEAD + 512,
    ROW_C = HEAD + 768,
    ROW_E = HEAD + 1024,
    FILE_BYTES = HEAD + 1280
};
static _Alignas(256) uint8_t file[FILE_BYTES], before[FILE_BYTES];

static bool is_wide(unsigned type)
{
    return type >= SG_OP_u64;
}

static uint64_t get(const uint8_t *from, unsigned row, unsigned type, int lane)
{
    uint64_t wide = 0;
    if (type == SG_OP_p) {
        uint32_t bits;
        memcpy(&bits, from + row, 4);
        return bits >> lane & 1;
    }
    size_t size = is_wide(type) ? 8 : 4;
    memcpy(&wide, from + row + (size_t)lane * size, size);
    return wide;
}

static void put(unsigned row, unsigned type, int lane, uint64_t value)
{
    if (type == SG_OP_p) {
        uint32_t bits;
        memcpy(&bits, file + row, 4);
        bits = (bits & ~(1u << lane)) | (uint32_t)(value & 1) << lane;
        memcpy(file + row, &bits, 4);
    } else if (type != SG_OP_none) {
        size_t size = is_wide(type) ? 8 : 4;
        memcpy(file + row + (size_t)lane * size, &value, size);
    }
}

static bool is_nan64(uint64_t x)
{
    return (x & UINT64_C(0x7fffffffffffffff)) > UINT64_C(0x7ff0000000000000);
}

/* Rows of 16-bit values are defined in their low half only. */
static bool same(unsigned type, uint64_t got, uint64_t want)
{
    if (type == SG_OP_u16 || type == SG_OP_s16 || type == SG_OP_f16 || type == SG_OP_bf16) {
        return (uint16_t)got == (uint16_t)want;
    }
    if (type == SG_OP_f64 && is_nan64(got)) {
        return is_nan64(want);
    }
    return got == want;
}

static const struct reference *reference_of(const char *name)
{
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        if (strcmp(references[i].name, name) == 0) {
            return &references[i];
        }
    }
    cr_assert_fail("%s has no reference", name);
    return NULL;
}

static void check(const char *isa, const struct sg_op *op, const struct reference *reference,
                  const struct sg_insn *in, uint32_t mask, bool masked)
{
    for (int lane = 0; lane < SG_LANES; lane++) {
        uint64_t got = get(file, in->d, op->types[0], lane);
        uint64_t old = get(before, in->d, op->types[0], lane);
        struct lane operands = {get(before, in->a, op->types[1], lane),
                                get(before, in->b, op->types[2], lane),
                                get(before, in->c, op->types[3], lane),
                                get(before, in->e, reference->e, lane), in->imm};
        if (masked && !(mask >> lane & 1)) {
            cr_assert_eq(got, old, "%s %s changed lane %d, which does not take part", isa, op->name,
                         lane);
            continue;
        }
        uint64_t want = reference->run(&operands);
        cr_assert(same(op->types[0], got, want), "%s %s%s(%llx, %llx, %llx, %llx) = %llx, not %llx",
                  isa, op->name, masked ? " masked" : "", (unsigned long long)operands.a,
                  (unsigned long long)operands.b, (unsigned long long)operands.c,
                  (unsigned long long)operands.e, (unsigned long long)got,
                  (unsigned long long)want);
    }
}

static void run_once(const char *isa, const struct sg_op *op, uint64_t *seed, int round)
{
    const struct reference *reference = reference_of(op->name);
    struct sg_insn in = {.d = ROW_D, .a = ROW_A, .b = ROW_B, .c = ROW_C, .e = ROW_E};
    in.imm = (int64_t)(engine_random(seed) & 255);
    for (int lane = 0; lane < SG_LANES; lane++) {
        put(ROW_D, op->types[0], lane, engine_random(seed));
        put(ROW_A, op->types[1], lane, operand(seed));
        put(ROW_B, op->types[2], lane, operand(seed));
        put(ROW_C, op->types[3], lane, operand(seed));
        put(ROW_E, reference->e, lane, operand(seed));
    }
    unsigned d = op->types[0];
    bool whole = d != SG_OP_p;
    if (round % 3 == 1 && op->types[1] != SG_OP_p && whole && is_wide(d) == is_wide(op->types[1])) {
        in.d = ROW_A;
    } else if (round % 3 == 2 && op->types[2] != SG_OP_none && op->types[2] != SG_OP_p && whole &&
               is_wide(d) == is_wide(op->types[2])) {
        in.d = ROW_B;
    }
    static const uint32_t masks[] = {UINT32_MAX, 1, 0x80000000, 0x0000ffff, 0xaaaaaaaa};
    uint32_t mask = round % 7 < 5 ? masks[round % 7] : (uint32_t)engine_random(seed);
    struct sg_warp *warp = (struct sg_warp *)(void *)file;
    bool masked = round & 1;
    memcpy(before, file, sizeof file);
    (masked ? op->masked : op->full)(warp, &in, masked ? mask : UINT32_MAX);
    check(isa, op, reference, &in, mask, masked);
    memcpy(file + in.d, before + in.d, 256);
    cr_assert_arr_eq(file, before, sizeof file, "%s %s wrote elsewhere", isa, op->name);
}

static size_t run_all(const struct sg_isa *isa)
{
    uint64_t seed = 42;
    size_t count = 0;
    for (size_t l = 0; l < sizeof isa->lists / sizeof isa->lists[0]; l++) {
        struct sg_op_list list = isa->lists[l]();
        for (size_t i = 0; i < list.count; i++) {
            if (strchr(list.ops[i].name, '=') != NULL) {
                continue;
            }
            count++;
            for (int round = 0; round < 60; round++) {
                run_once(isa->name, &list.ops[i], &seed, round);
            }
        }
    }
    return count;
}

Test(ops, every_line_in_vector_form, .timeout = 240)
{
    size_t count = sizeof references / sizeof references[0];
    cr_assert_gt(count, 300);
    cr_assert_eq(run_all(sg_isa_base()), count);
    if (sg_isa_v3_runs_here()) {
        cr_assert_eq(run_all(sg_isa_v3()), count);
    }
}

/* ---- what the ISA demands ---- */

struct demand {
    const char *name;
    uint64_t a, b, c, want;
};

static const struct demand demands[] = {
    {"shl_b32", 1, 32, 0, 0},
    {"shl_b32", 1, 0xffffffff, 0, 0},
    {"shr_u32", 0x80000000, 32, 0, 0},
    {"shr_s32", 0x80000000, 99, 0, 0xffffffff},
    {"shl_b64", 1, 64, 0, 0},
    {"shr_s64", UINT64_C(1) << 63, 64, 0, UINT64_MAX},
    {"shl_b16", 0xffff, 15, 0, 0x8000},
    {"shr_s16", 0x8000, 16, 0, 0xffff},
    {"div_u32", 5, 0, 0, 0xffffffff},
    {"rem_u32", 5, 0, 0, 5},
    {"div_s32", 0x80000000, 0xffffffff, 0, 0x80000000},
    {"rem_s32", 0x80000000, 0xffffffff, 0, 0},
    {"abs_s32", 0x80000000, 0, 0, 0x80000000},
    {"mul_hi_s32", 0xffffffff, 2, 0, 0xffffffff},
    {"mul_wide_s16", 0x8000, 2, 0, 0xffff0000},
    {"add_sat_s32", 0x7fffffff, 1, 0, 0x7fffffff},
    {"bfe_u32", 0xabcd1234, 28, 8, 0xa},
    {"bfe_s32", 0xabcd1234, 28, 8, 0xfffffffa},
    {"bfe_s32", 0x80000000, 40, 4, 0xffffffff},
    {"bfe_u32", 0xffffffff, 0, 0, 0},
    {"bfind_u32", 0, 0, 0, 0xffffffff},
    {"bfind_s32", 0xffffffff, 0, 0, 0xffffffff},
    {"bfind_shiftamt_u32", 0x00010000, 0, 0, 15},
    {"clz_b64", 0, 0, 0, 64},
    {"prmt_b32", 0x33221180, 0x77665544, 0x8888, 0xffffffff},
    {"prmt_b32_b4e", 0x33221100, 0x77665544, 0, 0x55667700},
    {"prmt_b32_rc16", 0x33221100, 0, 1, 0x33223322},
    {"shf_l_clamp_b32", 0x11111111, 0x22222222, 40, 0x11111111},
    {"shf_r_wrap_b32", 0x11111111, 0x22222222, 36, 0x21111111},
    {"bmsk_clamp_b32", 28, 40, 0, 0xf0000000},
    {"x_addc_u32", 0xffffffff, 0, 1, 0},
    {"x_addc_carry_u32", 0xffffffff, 0, 1, 1},
    {"x_addc_carry_u32", 0xffffffff, 0, 0, 0},
    {"x_addc_carry_u64", UINT64_MAX, 0, 1, 1},
    {"x_addc_carry_u64", UINT64_MAX, 0, 0, 0},
    {"x_subc_borrow_u32", 5, 5, 1, 1},
    {"x_subc_borrow_u64", 5, 5, 1, 1},
    {"x_subc_borrow_u64", 5, 5, 0, 0},
    {"sad_s32", 0xffffffff, 1, 10, 12},
    {"min_f32", 0x7fc00001, 0x3f800000, 0, 0x3f800000},
    {"min_f32", 0x7fc00001, 0xffc00000, 0, 0x7fffffff},
    {"min_f32", 0, 0x80000000, 0, 0x80000000},
    {"max_f32", 0x80000000, 0, 0, 0},
    {"min_NaN_f32", 0x7fc00001, 0x3f800000, 0, 0x7fffffff},
    {"add_f32", 0x7f800000, 0xff800000, 0, 0x7fffffff},
    {"add_f32", 0x00000001, 0x00000001, 0, 2},
    {"add_ftz_f32", 0x00000001, 0x80000001, 0, 0},
    {"mul_ftz_f32", 0x80800000, 0x3f000000, 0, 0x80000000},
    {"fma_f32", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
    {"x_sat_f32", 0x7fc00000, 0, 0, 0},
    {"x_sat_f32", 0x80000000, 0, 0, 0},
    {"copysign_f32", 0x80000000, 0x3f800000, 0, 0xbf800000},
    {"cvt_rzi_s32_f32", 0x7fc00000, 0, 0, 0},
    {"cvt_rzi_s32_f32", 0x4f000000, 0, 0, 0x7fffffff},
    {"cvt_rzi_s32_f32", 0xff800000, 0, 0, 0x80000000},
    {"cvt_rzi_u32_f32", 0xbf800000, 0, 0, 0},
    {"cvt_rzi_s64_f32", 0x7fc00000, 0, 0, UINT64_C(1) << 63},
    {"cvt_rni_s32_f32", 0x40200000, 0, 0, 2},
    {"cvt_rni_s32_f32", 0x40600000, 0, 0, 4},
    {"cvt_rmi_s32_f32", 0xbf000000, 0, 0, 0xffffffff},
    {"cvt_rpi_s32_f32", 0xbf000000, 0, 0, 0},
    {"cvt_rzi_s32_f64", 0xc1e0000000000000, 0, 0, 0x80000000},
    {"cvt_rz_f32_s32", 0x01000001, 0, 0, 0x4b800000},
    {"cvt_rp_f32_s32", 0x01000001, 0, 0, 0x4b800001},
    {"add_rz_f32", 0x3f800000, 0x33800001, 0, 0x3f800000},
    {"add_rp_f32", 0x3f800000, 0x00000001, 0, 0x3f800001},
    {"add_rm_f32", 0x3f800000, 0x80000001, 0, 0x3f7fffff},
    {"x_lt_f32", 0x7fc00000, 0, 0, 0},
    {"x_ltu_f32", 0x7fc00000, 0, 0, 1},
    {"x_ne_f32", 0x7fc00000, 0, 0, 0},
    {"x_neu_f32", 0x7fc00000, 0, 0, 1},
    {"x_eq_f32", 0x80000000, 0, 0, 1},
    {"ex2_approx_f32", 0xff800000, 0, 0, 0},
    {"ex2_approx_f32", 0x40400000, 0, 0, 0x41000000},
    {"lg2_approx_f32", 0, 0, 0, 0xff800000},
    {"lg2_approx_f32", 0xbf800000, 0, 0, 0x7fffffff},
    {"lg2_approx_f32", 0x41000000, 0, 0, 0x40400000},
    {"rcp_approx_f32", 0x80000000, 0, 0, 0xff800000},
    {"sin_approx_f32", 0x7f800000, 0, 0, 0x7fffffff},
    {"cos_approx_f32", 0, 0, 0, 0x3f800000},
    {"mul24_lo_s32", 0x00ffffff, 3, 0, 0xfffffffd},
    {"dp4a_s32_s32", 0xff010203, 0x01010101, 10, 15},
    {"slct_b32_f32", 1, 2, 0x80000000, 1},
    {"slct_b32_f32", 1, 2, 0x7fc00000, 2},
};

Test(ops, results_the_isa_demands)
{
    for (size_t i = 0; i < sizeof demands / sizeof demands[0]; i++) {
        const struct demand *demand = &demands[i];
        const struct sg_op *op = sg_op_find(demand->name);
        cr_assert(op, "%s", demand->name);
        struct sg_insn in = {.d = ROW_D, .a = ROW_A, .b = ROW_B, .c = ROW_C, .e = ROW_E};
        for (int lane = 0; lane < SG_LANES; lane++) {
            put(ROW_A, op->types[1], lane, demand->a);
            put(ROW_B, op->types[2], lane, demand->b);
            put(ROW_C, op->types[3], lane, demand->c);
        }
        op->full((struct sg_warp *)(void *)file, &in, UINT32_MAX);
        uint64_t got = get(file, ROW_D, op->types[0], 13);
        cr_expect(same(op->types[0], got, demand->want), "%s(%llx, %llx, %llx) = %llx, not %llx",
                  demand->name, (unsigned long long)demand->a, (unsigned long long)demand->b,
                  (unsigned long long)demand->c, (unsigned long long)got,
                  (unsigned long long)demand->want);
    }
}
