/* SPDX-License-Identifier: Apache-2.0 */
/* Undiverged warps run other instructions than diverged ones (exec/fast.h). Both must have the same
 * results: random programs run without divergence, with divergence from the beginning, and with
 * divergence in between. */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/tests/engine_fixture.h"

enum {
    NARROW = 40, /* registers */
    WIDE = 20,
    FIRST = 8, /* of them are set at the beginning */
    RESULTS = NARROW + WIDE + 1,
    PROGRAMS = 150,
    LENGTH = 40,
    BLOCKS = 3,
    TABLE = 4096 /* bytes that programs read */
};

static struct engine engine;

struct text {
    char at[1 << 16];
    size_t used;
};

static void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(text->at + text->used, sizeof text->at - text->used, format, arguments);
    va_end(arguments);
    text->used += (size_t)more;
    cr_assert(text->used < sizeof text->at);
}

static uint64_t state;

static unsigned pick(unsigned count)
{
    return (unsigned)(engine_random(&state) >> 20) % count;
}

/* Small numbers, and those near which something wraps around. */
static long long number(void)
{
    static const long long numbers[] = {0,  1,          2,           3,          4,      8,  12,
                                        16, 64,         -1,          -4,         -8,     31, 100,
                                        5,  2147483640, -2147483641, 2147483600, 0xffff, 7};
    return numbers[pick(sizeof numbers / sizeof numbers[0])];
}

/* Registers that are written once stay even: most results go to a new one. */
static unsigned used_narrow, used_wide;
static unsigned fresh; /* labels, and registers that one place uses alone */

static unsigned narrow_new(void)
{
    return pick(5) && used_narrow < NARROW ? used_narrow++ : pick(used_narrow);
}

static unsigned wide_new(void)
{
    return pick(5) && used_wide < WIDE ? used_wide++ : pick(used_wide);
}

static unsigned narrow_old(void)
{
    return pick(2) ? used_narrow - 1 - pick(4) : pick(used_narrow);
}

/* The lanes with that bit of the lane number in %split branch away for one instruction. */
static void part(struct text *text, unsigned bit, unsigned label)
{
    say(text, "and.b32 %%t0, %%split, %u;\nshl.b32 %%t0, %%t0, 1;\nmov.u32 %%t1, %%laneid;\n",
        1u << bit);
    say(text, "add.s32 %%t1, %%t1, 1;\nand.b32 %%t1, %%t1, %%t0;\nsetp.ne.s32 %%q, %%t1, 0;\n");
    say(text, "@%%q bra PART%u;\nadd.s32 %%r0, %%r0, 0;\nPART%u:\n", label, label);
}

static void narrow(struct text *text)
{
    static const char *const ops[] = {"add.s32", "sub.s32", "mul.lo.s32", "min.s32", "max.u32",
                                      "and.b32", "xor.b32", "or.b32",     "shl.b32", "shr.s32"};
    unsigned a = narrow_old(), b = narrow_old(), d = narrow_new();
    const char *op = ops[pick(3) ? pick(3) : pick(10)];
    switch (pick(6)) {
    case 0:
        say(text, "%s %%r%u, %%r%u, %%r%u;\n", op, d, a, b);
        break;
    case 1:
        say(text, "mad.lo.s32 %%r%u, %%r%u, %lld, %%r%u;\n", d, a, number(), b);
        break;
    case 2:
        say(text, "shl.b32 %%r%u, %%r%u, %u;\n", d, a, pick(5));
        break;
    case 3:
        say(text, "mov.u32 %%r%u, %s;\n", d,
            (const char *[]){"%tid.x", "%ctaid.x", "%laneid", "%ntid.x", "%tid.y"}[pick(5)]);
        break;
    case 4:
        say(text, "cvt.u32.u64 %%r%u, %%d%u;\n", d, pick(used_wide));
        break;
    default:
        say(text, "%s %%r%u, %%r%u, %lld;\n", op, d, a, number());
        break;
    }
}

static void wide(struct text *text)
{
    unsigned a = narrow_old(), b = pick(used_wide), d = wide_new();
    const char *sign = pick(2) ? "s" : "u";
    switch (pick(6)) {
    case 0:
        say(text, "mul.wide.%s32 %%d%u, %%r%u, %u;\n", sign, d, pick(2) ? pick(FIRST) : a, pick(9));
        break;
    case 1:
        say(text, "cvt.%s64.%s32 %%d%u, %%r%u;\n", sign, sign, d, a);
        break;
    case 2:
        say(text, "mad.wide.%s32 %%d%u, %%r%u, %lld, %%d%u;\n", sign, d, a, number() & 15, b);
        break;
    case 3:
        say(text, "shl.b64 %%d%u, %%d%u, %u;\n", d, b, pick(4));
        break;
    case 4:
        say(text, "sub.s64 %%d%u, %%d%u, %lld;\n", d, b, number());
        break;
    default:
        say(text, "add.s64 %%d%u, %%d%u, %%d%u;\n", d, b, pick(d ? d : 1));
        break;
    }
}

/* Reads of the table, within it whatever the registers hold; by even addresses if they are even */
static void load(struct text *text)
{
    unsigned a = narrow_old(), d = narrow_new();
    static const char *const types[] = {"u32", "s32", "u8", "s8", "u16", "s16"};
    static const unsigned scale[] = {4, 4, 1, 1, 2, 2};
    unsigned type = pick(6), vector = pick(4) == 0, at = fresh++, by = fresh++;
    say(text, "mul.wide.%s32 %%b%u, %%tx, %u;\n", pick(2) ? "u" : "s", by,
        vector ? 8 : scale[type] * pick(3));
    if (pick(2)) { /* no product in front of the sum */
        say(text, "sub.s64 %%b%u, %%b%u, 4;\nadd.s64 %%b%u, %%b%u, 4;\n", by, by, by, by);
    }
    say(text, pick(2) ? "add.s64 %%b%u, %%b%u, %%table;\n" : "add.s64 %%b%u, %%table, %%b%u;\n", at,
        by);
    if (vector) {
        say(text, "ld.global.v2.u32 {%%r%u, %%t0}, [%%b%u+%u];\n", d, at, 8 * pick(4));
    } else if (pick(2)) {
        say(text, "ld.global.%s %%r%u, [%%b%u+%u];\n", types[type], d, at, scale[type] * pick(8));
    } else {
        say(text, "and.b32 %%t0, %%r%u, 1020;\ncvt.u64.u32 %%a1, %%t0;\n", a);
        say(text, "add.s64 %%a1, %%a1, %%table;\nld.global.u32 %%r%u, [%%a1];\n", d);
    }
}

/* The loaded value is used once, by the next instruction, or again later. */
static void use(struct text *text, unsigned loaded)
{
    unsigned a = narrow_old(), b = narrow_old(), d = narrow_new();
    switch (pick(6)) {
    case 0:
        say(text, "add.s32 %%r%u, %%l%u, %%r%u;\n", d, loaded, a);
        break;
    case 1:
        say(text, "add.s32 %%r%u, %%r%u, %%l%u;\n", d, a, loaded);
        break;
    case 2:
        say(text, "add.f32 %%r%u, %%r%u, %%l%u;\n", d, a, loaded);
        break;
    case 3:
        say(text, "fma.rn.f32 %%r%u, %%l%u, %%r%u, %%r%u;\n", d, loaded, a, b);
        break;
    case 4:
        say(text, "fma.rn.f32 %%r%u, %%r%u, %%l%u, %%r%u;\n", d, a, loaded, b);
        break;
    default:
        say(text, "fma.rn.f32 %%r%u, %%r%u, %%r%u, %%l%u;\n", d, a, b, loaded);
        break;
    }
    if (pick(8) == 0) {
        say(text, "xor.b32 %%r%u, %%r%u, %%l%u;\n", narrow_new(), d, loaded);
    }
}

static void load_and_use(struct text *text)
{
    const unsigned at = fresh++, by = fresh++, front = pick(3);
    if (front != 2) {
        say(text, "mul.wide.%s32 %%b%u, %%tx, 4;\n", pick(2) ? "u" : "s", by);
    }
    if (front == 1) { /* no product in front of the sum */
        say(text, "mov.u32 %%t0, %%t1;\n");
    }
    if (front == 2) {
        say(text, "add.s64 %%b%u, %%tx4, %%table;\n", at);
    } else {
        say(text, "add.s64 %%b%u, %%table, %%b%u;\n", at, by);
    }
    say(text, "ld.global.u32 %%l%u, [%%b%u+%u];\n", at, at, 4 * pick(8));
    use(text, at);
    say(text, "ld.global.f32 %%l%u, [%%b%u+%u];\n", by, at, 4 * pick(8));
    use(text, by);
}

/* A sum, a comparison and a branch: a loop with as many turns in all lanes, or a forward branch. */
static void step(struct text *text)
{
    const unsigned at = fresh++;
    const bool is_wide = pick(2) != 0, moves = pick(2) != 0;
    const char *kind = pick(2) ? "s" : "u", *reg = is_wide ? "b" : "l";
    const int bits = is_wide ? 64 : 32;
    say(text, is_wide ? "cvt.u64.u32 %%b%u, %s;\n" : "mov.u32 %%l%u, %s;\n", at,
        moves ? "%tx" : "%e2");
    if (pick(4)) {
        const bool down = pick(2) != 0;
        say(text, "STEP%u:\nadd.s32 %%r%u, %%r%u, %lld;\n", at, pick(used_narrow), narrow_old(),
            number());
        if (down) {
            say(text, "add.s%d %%%s%u, %%%s%u, -64;\nsetp.gt.s%d %%p, %%%s%u, -%u;\n", bits, reg,
                at, reg, at, bits, reg, at, 64 * pick(5) + 1);
        } else {
            say(text, "add.s%d %%%s%u, %%%s%u, 64;\nsetp.lt.%s%d %%p, %%%s%u, %u;\n", bits, reg, at,
                reg, at, kind, bits, reg, at, 64 * pick(5));
        }
        say(text, "@%%p bra STEP%u;\n", at);
        return;
    }
    static const char *const tests[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    say(text, "add.s%d %%%s%u, %%%s%u, %lld;\n", bits, reg, at, reg, at, number());
    say(text, "setp.%s.%s%d %%p, %%%s%u, %lld;\n@%s%%p bra OVER%u;\n", tests[pick(6)], kind, bits,
        reg, at, pick(2) ? 4096 : number(), pick(2) ? "!" : "", at);
    say(text, "add.s32 %%r%u, %%r%u, 1;\nOVER%u:\n", pick(used_narrow), narrow_old(), at);
}

static void shared(struct text *text)
{
    unsigned a = narrow_old(), d = narrow_new();
    say(text, "shl.b32 %%t0, %%lin, 2;\nmov.u32 %%t1, room;\nadd.s32 %%t0, %%t0, %%t1;\n");
    say(text, "st.shared.u32 [%%t0], %%r%u;\nbar.sync 0;\nld.shared.u32 %%r%u, [%%t0];\n", a, d);
    const unsigned own = fresh++, same = fresh++; /* the place as a pair, what lies there; one */
    say(text, "shl.b32 %%l%u, %%lin, 2;\nadd.s32 %%l%u, %%l%u, room;\n", 4 * LENGTH + own,
        8 * LENGTH + own, 4 * LENGTH + own);
    say(text, "ld.shared.u32 %%l%u, [%%l%u];\n", own, 8 * LENGTH + own);
    use(text, own);
    say(text, "ld.shared.u32 %%l%u, [room+%u];\n", same, 4 * pick(16));
    use(text, same);
    say(text, "ld.shared.u32 %%r%u, [room+%u];\nbar.sync 0;\n", narrow_new(), 4 * pick(16));
}

static void decide(struct text *text)
{
    static const char *const tests[] = {"lt.s32", "le.s32", "gt.s32", "ge.u32",
                                        "lt.u32", "eq.s32", "ne.s32"};
    say(text, "setp.%s %%p, %%r%u, %%r%u;\n", tests[pick(7)], narrow_old(), narrow_old());
    if (pick(8) == 0) { /* evenly spaced rows and plain numbers: no lane goes elsewhere */
        say(text, "setp.%s %%p, %s;\n@%s%%p bra OVER%u;\n", tests[pick(7)],
            (const char *[]){"%tx, 4096", "4096, %tx", "%e1, %e5", "%tx, %tx"}[pick(4)],
            pick(2) ? "!" : "", fresh);
        say(text, "add.s32 %%r%u, %%r%u, 1;\nOVER%u:\n", pick(used_narrow), narrow_old(), fresh++);
    } else if (pick(2)) {
        say(text, "selp.b32 %%r%u, %%r%u, %lld, %%p;\n", pick(used_narrow), narrow_old(), number());
    } else {
        say(text, "@%%p add.s32 %%r%u, %%r%u, %lld;\n", pick(used_narrow), narrow_old(), number());
    }
}

static void collective(struct text *text)
{
    say(text, "shfl.sync.bfly.b32 %%r%u, %%r%u, %u, 31, -1;\n", narrow_new(), narrow_old(),
        1 + pick(31));
}

static void body(struct text *text, bool whole)
{
    switch (pick(whole ? 13 : 8)) {
    case 0:
    case 1:
    case 2:
        narrow(text);
        break;
    case 3:
    case 4:
        wide(text);
        break;
    case 5:
        load(text);
        break;
    case 6:
    case 7:
        decide(text);
        break;
    case 8:
        shared(text);
        break;
    case 9:
    case 10:
        load_and_use(text);
        break;
    case 11:
        step(text);
        break;
    default:
        collective(text);
        break;
    }
}

static void begin(struct text *text)
{
    say(text, ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry random(.param .u64 "
              "out, .param .u64 table, .param .u32 split)\n{\n.shared .align 4 .b8 room[1024];\n");
    say(text,
        ".reg .b32 %%r<%u>, %%t<2>, %%e<6>, %%l<%u>, %%tx, %%lin, %%split, %%i;\n"
        ".reg .b64 %%d<%u>, %%a<2>, %%o<2>, %%b<%u>, %%table, %%out, %%tx4;\n"
        ".reg .pred %%p, %%q;\n",
        NARROW, 12 * LENGTH, WIDE, 4 * LENGTH);
    fresh = 0;
    say(text, "ld.param.u64 %%out, [out];\nld.param.u64 %%table, [table];\n"
              "ld.param.u32 %%split, [split];\nmov.u32 %%tx, %%tid.x;\n"
              "mov.u32 %%e5, %%tid.y;\nmov.u32 %%e1, %%ntid.x;\n"
              "mad.lo.s32 %%lin, %%e5, %%e1, %%tx;\nmov.u32 %%i, 0;\n"
              "mul.wide.u32 %%tx4, %%tx, 4;\n");
    /* only as pairs, and from here to the end */
    say(text,
        "mov.u32 %%e0, %%ctaid.x;\nmov.u32 %%e2, %%ntid.y;\n"
        "mul.lo.s32 %%e3, %%e1, %%e2;\nmad.lo.s32 %%e4, %%e0, %%e3, %%lin;\n"
        "mul.wide.u32 %%o0, %%e4, %u;\nadd.s64 %%o1, %%o0, %%out;\n",
        8 * RESULTS);
    used_narrow = used_wide = FIRST;
    for (unsigned k = 0; k < FIRST; k++) {
        if (pick(3)) {
            say(text, "add.s32 %%r%u, %%tx, %lld;\n", k, number());
        } else {
            say(text, "mov.u32 %%r%u, %lld;\n", k, number());
        }
    }
    for (unsigned k = 0; k < FIRST; k++) {
        say(text, "mov.u64 %%d%u, %lld;\n", k, number());
    }
}

/* Everything is stored: the results of thread t of block b are together. */
static void end(struct text *text)
{
    say(text,
        "setp.eq.u32 %%p, %%e0, 1;\nselp.u32 %%t0, 7, 9, %%p;\n"
        "st.global.u32 [%%o1+%u], %%t0;\n",
        8 * (RESULTS - 1));
    for (unsigned k = 0; k < used_narrow; k++) {
        say(text, "st.global.u32 [%%o1+%u], %%r%u;\n", 8 * k, k);
    }
    for (unsigned k = 0; k < used_wide; k++) {
        say(text, "st.global.u64 [%%o1+%u], %%d%u;\n", 8 * (NARROW + k), k);
    }
    say(text, "ret;\n}\n");
}

static void random_program(struct text *text, unsigned seed)
{
    state = 88172645463325252u + seed * 2654435761u;
    text->used = 0;
    begin(text);
    part(text, 0, 0);
    for (unsigned k = 0; k < LENGTH; k++) {
        body(text, true);
    }
    part(text, 1, 1);
    say(text, "AGAIN:\n");
    for (unsigned k = 0; k < LENGTH / 4; k++) {
        body(text, false);
    }
    part(text, 2, 2);
    /* as many turns in all lanes, or not */
    say(text, "add.s32 %%i, %%i, 1;\n%s\nsetp.lt.u32 %%p, %%t0, 5;\n@%%p bra AGAIN;\n",
        pick(2) ? "mov.u32 %t0, %i;" : "and.b32 %t0, %tx, 3;\nadd.s32 %t0, %t0, %i;");
    end(text);
}

static void run(uint32_t split, const uint32_t block[3], uint64_t *out, const uint8_t *table)
{
    const uint64_t params[] = {PTR(out), PTR(table), split};
    engine_launch_3d(&engine, "random", (uint32_t[]){BLOCKS, 1, 1}, block, 0, params, 3);
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

Test(fast, comes_to_the_same_as_diverged_warps, .timeout = 120)
{
    static struct text text;
    static const uint32_t blocks[][3] = {{64, 1, 1}, {16, 4, 1}, {48, 2, 1}, {32, 1, 1}};
    engine_open(&engine, 0);
    size_t bytes = (size_t)BLOCKS * 96 * RESULTS * 8;
    uint64_t *want = engine_memory(&engine, bytes), *got = engine_memory(&engine, bytes);
    uint8_t *table = engine_memory(&engine, TABLE);
    for (int i = 0; i < TABLE; i++) {
        table[i] = (uint8_t)engine_random(&state);
    }
    for (unsigned seed = 0; seed < PROGRAMS; seed++) {
        random_program(&text, seed);
        const struct sg_unit unit = {.text = text.at, .bytes = text.used};
        engine_load_units(&engine, &unit, 1);
        const uint32_t *block = blocks[seed % 4];
        memset(want, 0, bytes);
        run(1, block, want, table);
        for (uint32_t split = 0; split < 8; split = split ? split * 2 : 2) {
            memset(got, 0, bytes);
            run(split, block, got, table);
            for (size_t i = 0; i < bytes / 8; i++) {
                cr_assert_eq(got[i], want[i],
                             "program %u, split %u, result %zu of thread %zu: %llx, not %llx:\n%s",
                             seed, split, i % RESULTS, i / RESULTS, (unsigned long long)got[i],
                             (unsigned long long)want[i], text.at);
            }
        }
    }
    engine_close(&engine);
}

static const char reach[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry reach(.param .u64 to, .param .s32 step)\n{\n"
    ".reg .u32 %r<4>; .reg .u64 %d<4>;\n"
    "ld.param.u64 %d0, [to]; ld.param.u32 %r0, [step];\n"
    "mov.u32 %r1, %tid.x; add.s32 %r1, %r1, %r0; mul.wide.s32 %d1, %r1, 4;\n"
    "add.s64 %d2, %d0, %d1; st.global.u32 [%d2], %r1; ret;\n}\n";

/* The faults of even addresses are those of any. */
Test(fast, faults_say_where)
{
    engine_open(&engine, 0);
    const struct sg_unit unit = {.text = reach, .bytes = sizeof reach - 1};
    engine_load_units(&engine, &unit, 1);
    uint32_t *memory = engine_memory(&engine, SG_MAP_CHUNK);
    const uint32_t words = SG_MAP_CHUNK / 4;
    ENGINE_LAUNCH(&engine, "reach", 1, 32, 0, PTR(memory), words - 32);
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE);
    cr_assert_eq(memory[words - 1], words - 1);
    ENGINE_LAUNCH(&engine, "reach", 1, 32, 0, PTR(memory), words - 20);
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    cr_assert_eq(engine.fault.address, PTR(memory) + SG_MAP_CHUNK);
    cr_assert_eq(engine.fault.thread[0], 20);
    cr_assert_eq(engine.fault.line, 9);
    ENGINE_LAUNCH(&engine, "reach", 1, 32, 0, PTR(memory) + 2, 0);
    cr_assert_eq(engine.fault.code, SG_FAULT_MISALIGNED);
    cr_assert_eq(engine.fault.address, PTR(memory) + 2);
    engine_close(&engine);
}

#define ENDING(text)                                                                               \
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 to)\n{\n"        \
    ".reg .b32 x, i; .reg .b64 d; .reg .pred second, on;\n"                                        \
    "ld.param.u64 d, [to]; mov.u32 x, %tid.x; setp.ge.u32 second, x, 32; mov.u32 i, 0;\n" text     \
    "ret;\n}\n"
#define ARRIVE "red.global.add.u32 [d], 1;\n"
#define WAIT   "AGAIN: add.u32 i, i, 1; setp.lt.u32 on, i, 20000; @on bra AGAIN;\n"

/* The first of two warps ends while the second one continues, at once or by a predicate, or while
 * the second one is at a barrier, after which it writes what it sees. */
static const char *const endings[] = {
    ENDING(ARRIVE "@second bra AGAIN;\nret;\n" WAIT),
    ENDING(ARRIVE "@!second ret;\n" WAIT),
    ENDING("@second bra STAND;\n" WAIT ARRIVE "ret;\n"
           "STAND: bar.sync 0;\nld.global.u32 i, [d]; st.global.u32 [d+4], i;\n"),
};

Test(fast, warps_end_once)
{
    engine_open(&engine, 0);
    for (int k = 0; k < 3; k++) {
        uint32_t *arrived = engine_memory(&engine, 8), *seen = arrived + 1;
        engine_load_text(&engine, endings[k]);
        ENGINE_LAUNCH(&engine, "k", 1, 64, 0, PTR(arrived));
        cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%d: %s", k, engine.fault.text);
        cr_assert_eq(*arrived, k < 2 ? 64 : 32, "%d: %u", k, *arrived);
        cr_assert_eq(*seen, k < 2 ? 0 : 32, "%d: %u", k, *seen);
    }
    engine_close(&engine);
}
