/* SPDX-License-Identifier: Apache-2.0 */
/* atom and red in all types, loads and stores in all forms, .b128, fences. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_engine(void)
{
    engine_open(&engine, 2);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(atom, .init = open_engine, .fini = shut);

static void no_fault(const char *what)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s: %s at PTX line %u", what,
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

/* Runs `body` with %p0 = memory, %p1 = where results go, %r0 = the thread. */
static void run(const char *body, void *memory, void *out, uint32_t blocks, uint32_t threads)
{
    static char text[16384];
    snprintf(text, sizeof text,
             ".version 8.6\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"
             ".reg .b64 %%p<8>, %%l<8>;\n.reg .b32 %%r<16>;\n.reg .b16 %%h<12>;\n"
             ".reg .f32 %%f<12>;\n.reg .f64 %%d<4>;\n.reg .b128 %%w<6>;\n.reg .pred %%q<2>;\n"
             ".shared .align 16 .b8 tile[256];\n"
             "ld.param.u64 %%p0, [pin];\nld.param.u64 %%p1, [pout];\nmov.u32 %%r0, %%tid.x;\n"
             "%s\nret;\n}\n",
             body);
    engine_load_text(&engine, text);
    ENGINE_LAUNCH(&engine, "k", blocks, threads, 0, PTR(memory), PTR(out));
}

/* One thread: `op` on a word that holds `old`, with operand `b`, gives `want` and answers `old`. */
static void check_one(const char *op, const char *type, unsigned bytes, uint64_t old, uint64_t b,
                      uint64_t want)
{
    uint64_t *memory = engine_memory(&engine, 64), *out = engine_memory(&engine, 64);
    const char *reg = bytes == 8 ? "l" : bytes == 4 ? "r" : "h";
    char body[1024];
    snprintf(body, sizeof body,
             "ld.global.b%u %%%s1, [%%p0+8];\n"
             "atom.global.%s.%s %%%s2, [%%p0], %%%s1;\nst.global.b%u [%%p1], %%%s2;\n"
             "@!%%q0 red.relaxed.gpu.%s.%s [%%p0+16], %%%s1;\n"
             "ld.global.b%u %%%s3, [%%p0+24];\nst.shared.b%u [tile+8], %%%s3;\n"
             "atom.acq_rel.cta.shared.%s.%s %%%s4, [tile+8], %%%s1;\n"
             "ld.shared.b%u %%%s4, [tile+8];\nst.global.b%u [%%p1+8], %%%s4;\n",
             8 * bytes, reg, op, type, reg, reg, 8 * bytes, reg, op, type, reg, 8 * bytes, reg,
             8 * bytes, reg, op, type, reg, reg, 8 * bytes, reg, 8 * bytes, reg);
    memory[0] = memory[2] = memory[3] = old;
    memory[1] = b;
    run(body, memory, out, 1, 1);
    no_fault(body);
    cr_expect_eq(out[0], old, "%s.%s: old 0x%llx", op, type, (unsigned long long)out[0]);
    cr_expect_eq(memory[0], want, "%s.%s: 0x%llx", op, type, (unsigned long long)memory[0]);
    cr_expect_eq(memory[2], want, "red %s.%s", op, type);
    cr_expect_eq(out[1], want, "shared %s.%s", op, type);
}

Test(atom, integers)
{
    static const uint64_t m32 = UINT32_MAX;
    check_one("add", "u32", 4, m32, 2, 1);
    check_one("add", "s32", 4, 5, m32, 4);
    check_one("add", "u64", 8, UINT64_MAX, 2, 1);
    check_one("min", "u32", 4, m32, 7, 7);
    check_one("min", "s32", 4, m32, 7, m32);
    check_one("max", "u32", 4, m32, 7, m32);
    check_one("max", "s32", 4, m32, 7, 7);
    check_one("min", "u64", 8, UINT64_MAX, 7, 7);
    check_one("min", "s64", 8, UINT64_MAX, 7, UINT64_MAX);
    check_one("max", "u64", 8, UINT64_MAX, 7, UINT64_MAX);
    check_one("max", "s64", 8, UINT64_MAX, 7, 7);
    check_one("inc", "u32", 4, 4, 5, 5);
    check_one("inc", "u32", 4, 5, 5, 0);
    check_one("dec", "u32", 4, 4, 5, 3);
    check_one("dec", "u32", 4, 0, 5, 5);
    check_one("dec", "u32", 4, 6, 5, 5);
    check_one("and", "b32", 4, 12, 10, 8);
    check_one("or", "b32", 4, 12, 10, 14);
    check_one("xor", "b32", 4, 12, 10, 6);
    check_one("and", "b64", 8, UINT64_C(12) << 40, UINT64_C(10) << 40, UINT64_C(8) << 40);
    check_one("or", "b64", 8, UINT64_C(12) << 40, UINT64_C(10) << 40, UINT64_C(14) << 40);
    check_one("xor", "b64", 8, UINT64_C(12) << 40, UINT64_C(10) << 40, UINT64_C(6) << 40);
}

Test(atom, floats)
{
    check_one("add", "f32", 4, engine_f32(1.5f), engine_f32(2.25f), engine_f32(3.75f));
    check_one("add", "f64", 8, engine_f64(1.5), engine_f64(2.25), engine_f64(3.75));
    check_one("add.noftz", "f16", 2, 0x3c00, 0x4200, 0x4400);  /* 1 + 3 */
    check_one("add.noftz", "f16", 2, 0x0001, 0x0002, 0x0003);  /* subnormals */
    check_one("add.noftz", "f16", 2, 0x3c00, 0x1000, 0x3c00);  /* 1 + 2^-11: to even */
    check_one("add.noftz", "f16", 2, 0x3c01, 0x1000, 0x3c02);  /* and up */
    check_one("add.noftz", "f16", 2, 0x7bff, 0x7bff, 0x7c00);  /* beyond the greatest */
    check_one("add.noftz", "bf16", 2, 0x3f80, 0x4040, 0x4080); /* 1 + 3 */
    check_one("add.noftz", "bf16", 2, 0x3f81, 0x3b80, 0x3f82); /* a tie, up to even */
    check_one("add.noftz", "f16x2", 4, 0x3c004200, 0x3c003c00, 0x40004400);
    check_one("add.noftz", "bf16x2", 4, 0x3f804040, 0x3f803f80, 0x40004080);
}

Test(atom, exchange_and_compare)
{
    uint64_t *memory = engine_memory(&engine, 256), *out = engine_memory(&engine, 256);
    memory[0] = 5;
    memory[1] = UINT64_C(7) << 40;
    memory[2] = 0x12345678;
    memory[4] = 11;
    memory[5] = 12;
    memory[6] = 21;
    memory[7] = 22;
    run("atom.exch.b32 %r1, [%p0], 6;\nst.global.u32 [%p1], %r1;\n"
        "atom.global.cas.b32 %r1, [%p0], 5, 9;\nst.global.u32 [%p1+4], %r1;\n"
        "mov.b64 %l0, 1;\nld.global.b64 %l1, [%p0+8];\n"
        "atom.global.cas.b64 %l2, [%p0+8], %l1, %l0;\nst.global.b64 [%p1+8], %l2;\n"
        "mov.b16 %h0, 0x1234;\nmov.b16 %h1, 0x4321;\n"
        "atom.global.cas.b16 %h2, [%p0+18], %h0, %h1;\nst.global.b16 [%p1+16], %h2;\n"
        "atom.relaxed.sys.global.exch.b64 %l3, [%p0+8], %l1;\nst.global.b64 [%p1+24], %l3;\n"
        "ld.global.b128 %w0, [%p0+32];\nld.global.v2.b64 {%l4, %l5}, [%p0+48];\n"
        "mov.b128 %w1, {%l4, %l5};\n"
        "atom.global.cas.b128 %w2, [%p0+32], %w0, %w1;\nst.global.b128 [%p1+32], %w2;\n"
        "atom.global.cas.b128 %w3, [%p0+32], %w0, %w0;\n"
        "mov.b128 {%l6, %l7}, %w3;\nst.global.v2.b64 [%p1+48], {%l7, %l6};\n"
        "mov.b128 %w4, %w0;\natom.release.gpu.global.exch.b128 %w5, [%p0+48], %w4;\n"
        "st.global.b128 [%p1+64], %w5;\n",
        memory, out, 1, 1);
    no_fault("exch, cas");
    cr_expect_eq((uint32_t)out[0], 5);
    cr_expect_eq(out[0] >> 32, 6);
    cr_expect_eq((uint32_t)memory[0], 6);
    cr_expect_eq(out[1], UINT64_C(7) << 40);
    cr_expect_eq(out[3], 1);
    cr_expect_eq(memory[1], UINT64_C(7) << 40);
    cr_expect_eq((uint16_t)out[2], 0x1234);
    cr_expect_eq(memory[2], 0x43215678);
    cr_expect_eq(out[4], 11);
    cr_expect_eq(out[5], 12);
    cr_expect_eq(memory[4], 21);
    cr_expect_eq(memory[5], 22);
    cr_expect_eq(out[6], 22);
    cr_expect_eq(out[7], 21);
    cr_expect_eq(out[8], 21);
    cr_expect_eq(out[9], 22);
    cr_expect_eq(memory[6], 11);
    cr_expect_eq(memory[7], 12);
    run("atom.global.exch.b128 %w0, [%p0+8], %w1;\n", memory, out, 1, 1);
    cr_expect_eq(engine.fault.code, SG_FAULT_MISALIGNED);
}

/* Where its elements would be aligned, but not all of it */
Test(atom, vectors_are_aligned_as_a_whole)
{
    uint32_t *memory = engine_memory(&engine, 64);
    static const struct {
        const char *op;
        unsigned at, bytes;
    } cases[] = {
        {"atom.global.add.v2.f32 {%%f0, %%f1}, [%%p0+%u], {%%f2, %%f3};\n", 4, 8},
        {"red.global.add.v4.f32 [%%p0+%u], {%%f0, %%f1, %%f2, %%f3};\n", 8, 16},
        {"red.global.max.noftz.v2.f16x2 [%%p0+%u], {%%r1, %%r2};\n", 4, 8},
        {"red.global.add.noftz.v2.f16 [%%p0+%u], {%%h1, %%h2};\n", 2, 4},
        {"red.global.add.noftz.v8.bf16 [%%p0+%u], {%%h1, %%h1, %%h1, %%h1, %%h2, %%h2, %%h2, "
         "%%h2};\n",
         8, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[256], text[96];
        snprintf(body, sizeof body, cases[i].op, 32);
        run(body, memory, memory, 1, 1);
        no_fault(body);
        snprintf(body, sizeof body, cases[i].op, cases[i].at);
        run(body, memory, memory, 1, 1);
        snprintf(text, sizeof text, "Invalid __global__ atomic of size %u bytes", cases[i].bytes);
        cr_expect_eq(engine.fault.code, SG_FAULT_MISALIGNED, "%s", body);
        cr_expect_str_eq(engine.fault.text, text, "%s: %s", body, engine.fault.text);
        cr_expect_eq(engine.fault.address, PTR(memory) + cases[i].at);
        /* lanes that do not execute it are not asked */
        snprintf(body, sizeof body, "setp.ne.u32 %%q0, %%r0, %%r0;\n@%%q0 ");
        snprintf(body + strlen(body), sizeof body - strlen(body), cases[i].op, cases[i].at);
        run(body, memory, memory, 1, 1);
        no_fault(body);
    }
}

/* Several blocks at once: nothing may be lost. Sums are small enough to be exact in each format. */
Test(atom, sums_of_many_threads)
{
    enum { BLOCKS = 16, THREADS = 64 };
    uint16_t *memory = engine_memory(&engine, 256);
    float single;
    run("mov.b16 %h0, 0x3c00;\nmov.b16 %h1, 0x4000;\nmov.b32 %r1, 0x40003c00;\n"
        "mov.f32 %f0, 0f3F800000;\nmov.f32 %f1, 0f40000000;\ncreatepolicy.range.global"
        ".L2::evict_first.b64 %p2, [%p0], 64, 64;\n"
        "red.global.add.noftz.f16 [%p0], %h0;\n"
        "red.relaxed.gpu.global.add.noftz.L2::cache_hint.f16x2 [%p0+4], %r1, %p2;\n"
        "red.global.add.v4.f32 [%p0+16], {%f0, %f1, %f0, %f1};\n"
        "atom.global.add.v2.f32 {%f2, _}, [%p0+32], {%f1, %f1};\n"
        "red.global.add.noftz.v4.f16 [%p0+40], {%h0, %h1, %h0, %h1};\n"
        "red.global.max.noftz.v2.f16x2 [%p0+48], {%r1, %r0};\n"
        "red.global.min.noftz.v8.bf16 [%p0+64], {%h0, %h1, %h0, %h1, %h0, %h1, %h0, %h1};\n",
        memory, memory, BLOCKS, THREADS);
    no_fault("sums");
    cr_expect_eq(memory[0], 0x6400); /* 1024 */
    cr_expect_eq(memory[2], 0x6400);
    cr_expect_eq(memory[3], 0x6800); /* 2048 */
    for (int i = 0; i < 6; i++) {
        memcpy(&single, memory + 8 + 2 * i, sizeof single);
        cr_expect_eq(single, i % 2 || i == 4 ? 2048.0f : 1024.0f, "at %d: %g", i, (double)single);
    }
    cr_expect_eq(memory[20], 0x6400);
    cr_expect_eq(memory[21], 0x6800);
    cr_expect_eq(memory[24], 0x3c00);
    cr_expect_eq(memory[25], 0x4000);
    cr_expect_eq(memory[32], 0);
}

/* Every order, scope and hint that a load or a store may name */
Test(atom, loads_and_stores_in_all_forms)
{
    static const char *const loads[] = {"ld.weak.global.u32",
                                        "ld.relaxed.cta.global.u32",
                                        "ld.relaxed.cluster.global.u32",
                                        "ld.relaxed.gpu.global.u32",
                                        "ld.relaxed.sys.u32",
                                        "ld.acquire.cta.global.u32",
                                        "ld.acquire.cluster.u32",
                                        "ld.acquire.gpu.global.u32",
                                        "ld.acquire.sys.u32",
                                        "ld.volatile.global.u32",
                                        "ld.mmio.relaxed.sys.global.u32",
                                        "ld.global.nc.u32",
                                        "ld.global.nc.L1::no_allocate.L2::128B.u32",
                                        "ld.global.ca.u32",
                                        "ld.global.cv.u32",
                                        "ld.global.L1::evict_last.u32",
                                        "ld.global.L2::256B.u32"};
    static const char *const stores[] = {"st.weak.global.u32",
                                         "st.relaxed.cta.global.u32",
                                         "st.relaxed.gpu.u32",
                                         "st.release.cta.global.u32",
                                         "st.release.cluster.u32",
                                         "st.release.gpu.global.u32",
                                         "st.release.sys.u32",
                                         "st.volatile.global.u32",
                                         "st.mmio.relaxed.sys.global.u32",
                                         "st.global.wb.u32",
                                         "st.global.wt.u32",
                                         "st.global.cs.u32",
                                         "st.global.cg.u32",
                                         "st.global.L1::no_allocate.u32"};
    enum { LOADS = sizeof loads / sizeof loads[0], STORES = sizeof stores / sizeof stores[0] };
    uint32_t *memory = engine_memory(&engine, 256), *out = engine_memory(&engine, 256);
    char body[4096];
    int used = snprintf(body, sizeof body, "createpolicy.fractional.L2::evict_first.b64 %%l0;\n");
    for (int i = 0; i < LOADS; i++) {
        memory[i] = (uint32_t)(i + 100);
        used += snprintf(body + used, sizeof body - (size_t)used,
                         "%s %%r1, [%%p0+%d];\n%s [%%p1+%d], %%r1;\n", loads[i], 4 * i,
                         stores[i % STORES], 4 * i);
    }
    snprintf(body + used, sizeof body - (size_t)used,
             "ld.global.L1::evict_first.L2::cache_hint.v2.u32 {%%r1, %%r2}, [%%p0], %%l0;\n"
             "st.global.L2::cache_hint.v2.u32 [%%p1+128], {%%r2, %%r1}, %%l0;\n"
             "fence.sc.cta;\nfence.sc.gpu;\nfence.acq_rel.sys;\nfence.acquire.sync_restrict"
             "::shared::cluster.cluster;\nfence.release.sync_restrict::shared::cta.cluster;\n"
             "fence.proxy.alias;\nfence.proxy.async.global;\nmembar.gl;\n");
    run(body, memory, out, 1, 1);
    no_fault("loads and stores");
    cr_expect_arr_eq(out, memory, LOADS * 4);
    cr_expect_eq(out[32], 101);
    cr_expect_eq(out[33], 100);
}

Test(atom, what_is_wrong_is_refused)
{
    static const char *const wrong[] = {"add.u64 %l0, %w0, %l1;",
                                        "ld.global.b128 %l0, [%p0];",
                                        "atom.global.add.b128 %w0, [%p0], %w1;",
                                        "atom.shared.add.v2.f32 {%f0, %f1}, [tile], {%f0, %f1};",
                                        "red.global.cas.b32 [%p0], 1, 2;",
                                        "atom.global.min.f32 %f0, [%p0], %f1;",
                                        "mov.b128 %w0, {%l0, %l1, %l2};",
                                        "cp.async.bulk.prefetch.tensor.1d.L2.global [%p0, {%r1}];",
                                        "cp.async.ca.shared.global [%r0], [%p0], 12;",
                                        "wgmma.fence.sync.aligned;",
                                        "fence.proxy.tensormap::generic.acquire.gpu [%p0], 128;"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[1024], messages[256] = "";
        struct sg_log log = {messages, sizeof messages, 0};
        struct sg_program *program = NULL;
        snprintf(text, sizeof text,
                 ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
                 ".reg .b64 %%p<4>, %%l<4>;\n.reg .b32 %%r<4>;\n.reg .f32 %%f<4>;\n"
                 ".reg .b128 %%w<4>;\n.shared .b8 tile[64];\n%s\nret;\n}\n",
                 wrong[i]);
        enum sg_load_result rc = sg_program_load(text, strlen(text), &log, &program);
        cr_expect(rc == SG_LOAD_SYNTAX || rc == SG_LOAD_UNSUPPORTED, "%s: %d", wrong[i], (int)rc);
        cr_expect_not_null(strstr(messages, "line 11"), "%s: %s", wrong[i], messages);
        sg_program_destroy(program);
    }
}
