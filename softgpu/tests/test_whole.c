/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions with a fast path for whole warps: shuffles, atomics in shared memory. Each is
 * compared with the same done lane by lane, for whole warps and for one that lacks a lane. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_engine(void)
{
    engine_open(&engine, 1);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(whole, .init = open_engine, .fini = shut);

#define HEAD                                                                                       \
    ".version 8.6\n.target sm_75\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"                                    \
    ".reg .b64 %p<8>, %l<8>;\n.reg .b32 %r<16>;\n.reg .pred %q<2>;\n"                              \
    ".shared .align 8 .b8 tile[64];\n"                                                             \
    "ld.param.u64 %p0, [pin];\nld.param.u64 %p1, [pout];\nmov.u32 %r0, %tid.x;\n"                  \
    "mul.wide.u32 %p2, %r0, 4;\nadd.u64 %p3, %p0, %p2;\nadd.u64 %p4, %p1, %p2;\n"

static void check_fault(enum sg_fault_code code, const char *what)
{
    cr_assert_eq(engine.fault.code, code, "%s: %s: %s", what, sg_fault_name(engine.fault.code),
                 engine.fault.text);
}

/* PTX ISA 9.0, 9.7.9.6 "shfl.sync" */
static uint32_t shuffled(char mode, const uint32_t *in, uint32_t lane, uint32_t lanes, bool *valid)
{
    const uint32_t b = in[32 + lane] & 31, c = in[64 + lane] & 31, mask = in[64 + lane] >> 8 & 31;
    const int high = (int)((lane & mask) | (c & ~mask)), low = (int)(lane & mask);
    const int self = (int)lane, by = (int)b;
    int from = mode == 'u'   ? self - by
               : mode == 'd' ? self + by
               : mode == 'b' ? self ^ by
                             : low | (by & ~(int)mask);
    *valid = mode == 'u' ? from >= high : from <= high;
    from = *valid ? from : self;
    return (uint32_t)from < lanes ? in[from] : 0;
}

/* `result`: a register, maybe that of an operand */
static void check_shuffle(const char *mode, const char *result, uint64_t *state, uint32_t lanes)
{
    char text[2048];
    snprintf(text, sizeof text,
             "%sld.global.u32 %%r1, [%%p3];\nld.global.u32 %%r2, [%%p3+128];\n"
             "ld.global.u32 %%r3, [%%p3+256];\nmov.u32 %%r4, 7;\n"
             "shfl.sync.%s.b32 %s|%%q0, %%r1, %%r2, %%r3, %u;\n"
             "st.global.u32 [%%p4], %s;\nselp.u32 %%r5, 1, 0, %%q0;\n"
             "st.global.u32 [%%p4+128], %%r5;\nret;\n}\n",
             HEAD, mode, result, lanes == 32 ? UINT32_MAX : (1u << lanes) - 1, result);
    engine_load_text(&engine, text);
    uint32_t *in = engine_memory(&engine, 384), *out = engine_memory(&engine, 256);
    for (int round = 0; round < 10; round++) {
        const uint32_t same = (uint32_t)engine_random(state);
        for (int i = 0; i < 96; i++) {
            in[i] = round & 1 && i >= 32 ? same : (uint32_t)engine_random(state);
        }
        ENGINE_LAUNCH(&engine, "k", 1, lanes, 0, PTR(in), PTR(out));
        check_fault(SG_FAULT_NONE, mode);
        for (uint32_t lane = 0; lane < lanes; lane++) {
            bool valid;
            const uint32_t want = shuffled(mode[0], in, lane, lanes, &valid);
            cr_assert_eq(out[lane], want, "%s %s lane %u of %u", mode, result, lane, lanes);
            cr_assert_eq(out[32 + lane], valid, "%s predicate of lane %u", mode, lane);
        }
    }
}

Test(whole, shuffles)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const char *const results[] = {"%r4", "%r1", "%r2", "%r3"};
    uint64_t state = 7;
    for (int m = 0; m < 4; m++) {
        for (int r = 0; r < 4; r++) {
            check_shuffle(modes[m], results[r], &state, 32);
        }
        check_shuffle(modes[m], "%r4", &state, 31);
    }
}

/* Lanes come one after the other. in[0..31]: where, in[32..63]: operands */
static void check_atomics(uint64_t *state, uint32_t lanes)
{
    engine_load_text(&engine, HEAD "ld.global.u32 %r1, [%p3];\nld.global.u32 %r2, [%p3+128];\n"
                                   "shl.b32 %r5, %r0, 1;\nmov.u32 %r3, tile;\n"
                                   "and.b32 %r5, %r5, 60;\nadd.u32 %r6, %r3, %r5;\n"
                                   "st.shared.u32 [%r6], 0;\nadd.u32 %r3, %r3, %r1;\n"
                                   "atom.shared.add.u32 %r4, [%r3+4], %r2;\n"
                                   "red.shared.max.u32 [%r3+4], 99;\n"
                                   "st.global.u32 [%p4], %r4;\nld.shared.u32 %r7, [%r6];\n"
                                   "st.global.u32 [%p4+128], %r7;\nret;\n}\n");
    uint32_t *in = engine_memory(&engine, 256), *out = engine_memory(&engine, 256);
    for (int round = 0; round < 8; round++) {
        uint32_t tile[16] = {0};
        for (uint32_t i = 0; i < lanes; i++) {
            in[i] = round == 0 ? 8 : (uint32_t)(engine_random(state) % 15) * 4;
            in[32 + i] = (uint32_t)(engine_random(state) % 50);
        }
        ENGINE_LAUNCH(&engine, "k", 1, lanes, 0, PTR(in), PTR(out));
        check_fault(SG_FAULT_NONE, "atomics");
        for (uint32_t i = 0; i < lanes; i++) {
            uint32_t *word = &tile[in[i] / 4 + 1];
            cr_assert_eq(out[i], *word, "lane %u of %u, round %d", i, lanes, round);
            *word += in[32 + i];
        }
        for (uint32_t i = 0; i < lanes; i++) {
            uint32_t *word = &tile[in[i] / 4 + 1];
            *word = *word > 99 ? *word : 99;
        }
        for (uint32_t i = 0; i < lanes; i++) {
            cr_assert_eq(out[32 + i], tile[i / 2], "word %u of %u, round %d", i / 2, lanes, round);
        }
    }
}

Test(whole, atomics_in_shared_memory)
{
    uint64_t state = 11;
    check_atomics(&state, 32);
    check_atomics(&state, 31);
}

/* One lane's address is wrong: which, and how, is said as ever. */
Test(whole, one_lane_leaves_shared_memory)
{
    engine_load_text(&engine, HEAD "ld.global.u32 %r1, [%p3];\nmov.u32 %r3, tile;\n"
                                   "add.u32 %r3, %r3, %r1;\natom.shared.add.u32 %r4, [%r3], 1;\n"
                                   "st.global.u32 [%p4], %r4;\nret;\n}\n");
    uint32_t *in = engine_memory(&engine, 256), *out = engine_memory(&engine, 256);
    static const struct {
        uint32_t lane, offset;
        enum sg_fault_code code;
    } cases[] = {{31, 64, SG_FAULT_ILLEGAL_ADDRESS},
                 {0, UINT32_MAX - 3, SG_FAULT_ILLEGAL_ADDRESS},
                 {17, 2, SG_FAULT_MISALIGNED},
                 {5, 60, SG_FAULT_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(in, 0, 128);
        in[cases[i].lane] = cases[i].offset;
        ENGINE_LAUNCH(&engine, "k", 1, 32, 0, PTR(in), PTR(out));
        check_fault(cases[i].code, "a lane's address");
        if (cases[i].code != SG_FAULT_NONE) {
            cr_assert_eq(engine.fault.thread[0], cases[i].lane);
        }
    }
}
