/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies, mbarriers and clusters. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_kernels(void)
{
    engine_open(&engine, 2);
    engine_load_file(&engine, "async");
}

static void open_engine(void)
{
    engine_open(&engine, 0);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(async, .init = open_kernels, .fini = shut);
TestSuite(async_ptx, .init = open_engine, .fini = shut);

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

static int *numbers(size_t count)
{
    int *memory = engine_memory(&engine, count * sizeof *memory);
    uint64_t seed = count;
    for (size_t i = 0; i < count; i++) {
        memory[i] = (int)(engine_random(&seed) >> 40);
    }
    return memory;
}

Test(async, pipeline_of_a_block)
{
    enum { PARTS = 7 };
    int *in = numbers(256 * PARTS), *out = engine_memory(&engine, 256 * PARTS * 4);
    ENGINE_LAUNCH(&engine, "pipeline_copy", 1, 256, 0, PTR(in), PTR(out), PARTS);
    no_fault();
    for (int i = 0; i < 256 * PARTS; i++) {
        cr_assert_eq(out[i], in[i / 256 * 256 + 255 - i % 256], "at %d", i);
    }
}

Test(async, pipeline_of_a_thread)
{
    int *in = numbers(256), *out = engine_memory(&engine, 256 * 4);
    ENGINE_LAUNCH(&engine, "thread_pipeline", 1, 256, 0, PTR(in), PTR(out));
    no_fault();
    for (int i = 0; i < 256; i++) {
        cr_assert_eq(out[i], in[i ^ 1]);
    }
}

Test(async, groups_copy_reduce_and_scan)
{
    int *in = numbers(256), *out = engine_memory(&engine, 1024 * 4);
    ENGINE_LAUNCH(&engine, "group_copy", 1, 256, 0, PTR(in), PTR(out));
    no_fault();
    for (int warp = 0; warp < 8; warp++) {
        int sum = 0, bits = 0, most = INT32_MIN;
        for (int i = warp * 32; i < warp * 32 + 32; i++) {
            cr_assert_eq(out[256 + i], sum, "sum before %d", i);
            sum += in[i];
            bits ^= in[i];
            most = in[i] > most ? in[i] : most;
        }
        for (int i = warp * 32; i < warp * 32 + 32; i++) {
            cr_assert_eq(out[i], sum);
            cr_assert_eq(out[512 + i], bits);
            cr_assert_eq(out[768 + i], most);
        }
    }
}

Test(async, barriers_with_copies)
{
    enum { ROUNDS = 5 };
    int *in = numbers(256 * ROUNDS), *out = engine_memory(&engine, 256 * ROUNDS * 4);
    ENGINE_LAUNCH(&engine, "barrier_copy", 1, 64, 0, PTR(in), PTR(out), ROUNDS);
    no_fault();
    for (int i = 0; i < 256 * ROUNDS; i++) {
        cr_assert_eq(out[i], in[i / 256 * 256 + 255 - i % 256], "at %d", i);
    }
}

Test(async, bulks)
{
    enum { BLOCKS = 6 };
    int *in = numbers(256 * BLOCKS), *out = engine_memory(&engine, 256 * (BLOCKS + 1) * 4);
    ENGINE_LAUNCH(&engine, "bulk_copy", BLOCKS, 256, 0, PTR(in), PTR(out));
    no_fault();
    for (int i = 0; i < 256; i++) {
        int sum = 0;
        for (int block = 0; block < BLOCKS; block++) {
            int want = in[block * 256 + i] + i;
            cr_assert_eq(out[block * 256 + i], want, "block %d, at %d", block, i);
            sum += want;
        }
        cr_assert_eq(out[BLOCKS * 256 + i], sum, "sum at %d", i);
    }
}

Test(async, clusters_share_their_memory)
{
    enum { CLUSTERS = 5, THREADS = 96, EACH = 7 };
    unsigned count = CLUSTERS * 4 * THREADS * EACH;
    unsigned *in = (unsigned *)numbers(count), want[CLUSTERS][64] = {{0}};
    unsigned *out = engine_memory(&engine, CLUSTERS * 64 * 4);
    for (unsigned i = 0; i < count; i++) {
        want[i / (4 * THREADS * EACH)][in[i] % 64]++;
    }
    ENGINE_LAUNCH(&engine, "cluster_histogram", CLUSTERS * 4, THREADS, 0, PTR(in), PTR(out), EACH);
    no_fault();
    for (unsigned i = 0; i < CLUSTERS * 64; i++) {
        cr_assert_eq(out[i], want[i / 64][i % 64], "cluster %u, bin %u", i / 64, i % 64);
    }
    ENGINE_LAUNCH(&engine, "cluster_histogram", 6, 32, 0, PTR(in), PTR(out), 1);
    cr_expect_eq(engine.fault.code, SG_FAULT_INVALID_LAUNCH); /* 4 does not divide 6 */
}

static void check_facts(const unsigned *out, const uint32_t grid[3], const uint32_t size[3])
{
    for (unsigned block = 0; block < grid[0] * grid[1] * grid[2]; block++) {
        const unsigned at[3] = {block % grid[0], block / grid[0] % grid[1],
                                block / grid[0] / grid[1]};
        const unsigned *fact = out + (size_t)block * 16;
        unsigned in[3], count = size[0] * size[1] * size[2];
        for (int i = 0; i < 3; i++) {
            in[i] = at[i] % size[i];
            cr_assert_eq(fact[2 + i], in[i], "block %u", block);
            cr_assert_eq(fact[5 + i], size[i]);
        }
        unsigned rank = in[0] + size[0] * (in[1] + size[1] * in[2]), next = (rank + 1) % count;
        unsigned x = at[0] - in[0] + next % size[0];
        unsigned y = at[1] - in[1] + next / size[0] % size[1];
        unsigned z = at[2] - in[2] + next / size[0] / size[1];
        cr_assert_eq(fact[0], rank);
        cr_assert_eq(fact[1], count);
        cr_assert_eq(fact[8], x + grid[0] * (y + grid[1] * z), "block %u: whose neighbour", block);
        cr_assert_eq(fact[9], next);
        cr_assert_eq(fact[10], rank);
    }
}

Test(async, what_blocks_know_of_their_cluster)
{
    const uint32_t grid[3] = {6, 4, 2}, block[3] = {40, 1, 1};
    static const uint32_t sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 2, 2}, {1, 4, 1},
                                        {2, 4, 2}, {2, 2, 1}, {3, 1, 2}, {1, 2, 1}};
    unsigned *out = engine_memory(&engine, 48 * 64);
    const uint64_t params[] = {PTR(out)};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memcpy(engine.cluster, sizes[i], sizeof engine.cluster);
        engine_launch_3d(&engine, "cluster_facts", grid, block, 0, params, 1);
        no_fault();
        check_facts(out, grid, sizes[i]);
    }
    memset(engine.cluster, 0, sizeof engine.cluster); /* none: clusters of one block */
    engine_launch_3d(&engine, "cluster_facts", grid, block, 0, params, 1);
    no_fault();
    check_facts(out, grid, sizes[0]);
    const uint32_t too_many[3] = {6, 4, 1};
    memcpy(engine.cluster, too_many, sizeof engine.cluster);
    engine_launch_3d(&engine, "cluster_facts", grid, block, 0, params, 1);
    cr_expect_eq(engine.fault.code, SG_FAULT_INVALID_LAUNCH);
}

/* ---- PTX that CUDA C++ makes seldom ---- */

#define HEAD                                                                                       \
    ".version 8.4\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 pin, .param .u64 pout)"
#define REGISTERS                                                                                  \
    "{\n.reg .b64 %p<8>;\n.reg .b32 %r<16>;\n.reg .pred %q<6>;\n"                                  \
    ".shared .align 16 .b8 tile[256];\n.shared .align 8 .b64 bar;\n"                               \
    "ld.param.u64 %p0, [pin];\nld.param.u64 %p1, [pout];\nmov.u32 %r0, %tid.x;\n"

static uint32_t *run(const char *ptx, const void *in, uint32_t blocks, uint32_t threads)
{
    uint32_t *out = engine_memory(&engine, 65536);
    engine_load_text(&engine, ptx);
    ENGINE_LAUNCH(&engine, "k", blocks, threads, 0, PTR(in), PTR(out));
    return out;
}

/* Counts, phases and what the state says, by one thread */
Test(async_ptx, mbarrier_step_by_step)
{
    static const char ptx[] = HEAD REGISTERS
        "mov.u32 %r1, bar;\nmbarrier.init.shared.b64 [%r1], 3;\n"
        "mbarrier.arrive.shared::cta.b64 %p2, [bar];\n"
        "mbarrier.pending_count.b64 %r2, %p2;\nst.global.u32 [%p1], %r2;\n" /* 3: before it */
        "mbarrier.test_wait.shared.b64 %q0, [bar], %p2;\nselp.u32 %r2, 1, 0, %q0;\n"
        "st.global.u32 [%p1+4], %r2;\n" /* 0 */
        "mbarrier.arrive.release.cta.shared::cta.b64 %p3, [%r1], 2;\n"
        "mbarrier.test_wait.acquire.cta.shared::cta.b64 %q0, [%r1], %p2;\n"
        "selp.u32 %r2, 1, 0, %q0;\nst.global.u32 [%p1+8], %r2;\n" /* 1 */
        "mbarrier.try_wait.parity.shared.b64 %q0, [%r1], 0;\nselp.u32 %r2, 1, 0, %q0;\n"
        "st.global.u32 [%p1+12], %r2;\n" /* 1: phase 0 is complete */
        "mbarrier.test_wait.parity.shared.b64 %q0, [%r1], 1;\nselp.u32 %r2, 1, 0, %q0;\n"
        "st.global.u32 [%p1+16], %r2;\n"                       /* 0: phase 1 is not */
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 32;\n" /* 2 missing, 32 bytes */
        "mbarrier.arrive_drop.shared.b64 %p3, [%r1];\n"        /* 1 missing; 2 from then */
        "mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [%r1], 16;\n"
        "mbarrier.arrive.noComplete.shared.b64 %p4, [%r1], 1;\n" /* none; 16 bytes */
        "mbarrier.test_wait.parity.shared.b64 %q0, [%r1], 1;\nselp.u32 %r2, 1, 0, %q0;\n"
        "st.global.u32 [%p1+20], %r2;\n" /* 0 */
        "mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [%r1], 16;\n"
        "mbarrier.test_wait.parity.shared.b64 %q0, [%r1], 1;\nselp.u32 %r2, 1, 0, %q0;\n"
        "st.global.u32 [%p1+24], %r2;\n" /* 1 */
        "mbarrier.arrive.shared.b64 %p4, [%r1];\n"
        "mbarrier.pending_count.b64 %r2, %p4;\nst.global.u32 [%p1+28], %r2;\n" /* 2 */
        "mbarrier.complete_tx.shared::cta.relaxed.cta.b64 [%r1], 64;\n" /* before it is expected */
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 64;\n"
        "mbarrier.test_wait.parity.shared.b64 %q0, [%r1], 0;\nselp.u32 %r2, 1, 0, %q0;\n"
        "st.global.u32 [%p1+32], %r2;\n" /* 0 */
        "mbarrier.arrive.shared.b64 _, [%r1];\n"
        "mbarrier.test_wait.parity.shared.b64 %q0, [%r1], 0;\nselp.u32 %r2, 1, 0, %q0;\n"
        "st.global.u32 [%p1+36], %r2;\n" /* 1 */
        "mbarrier.inval.shared.b64 [%r1];\nret;\n}\n";
    static const uint32_t want[] = {3, 0, 1, 1, 0, 0, 1, 2, 0, 1};
    uint32_t *out = run(ptx, NULL, 1, 1);
    no_fault();
    cr_expect_arr_eq(out, want, sizeof want);
}

Test(async_ptx, mbarrier_faults)
{
    static const char outside[] =
        HEAD REGISTERS "mbarrier.init.b64 [%p1], 1;\nret;\n}\n"; /* not in shared memory */
    static const char zero[] = HEAD REGISTERS "mbarrier.init.shared.b64 [bar], 0;\nret;\n}\n";
    static const char often[] = HEAD REGISTERS
        "mbarrier.init.shared.b64 [bar], 2;\nmbarrier.arrive.shared.b64 _, [bar], 3;\nret;\n}\n";
    run(outside, NULL, 1, 1);
    cr_expect_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    run(zero, NULL, 1, 1);
    cr_expect_eq(engine.fault.code, SG_FAULT_TRAP);
    run(often, NULL, 1, 1);
    cr_expect_eq(engine.fault.code, SG_FAULT_TRAP);
}

/* A part of the source, and none of it */
Test(async_ptx, copies_that_fill_with_zeros)
{
    static const char ptx[] = HEAD REGISTERS
        "mul.wide.u32 %p2, %r0, 16;\nadd.u64 %p0, %p0, %p2;\nadd.u64 %p1, %p1, %p2;\n"
        "mov.u32 %r1, tile;\nshl.b32 %r2, %r0, 4;\nadd.u32 %r1, %r1, %r2;\n"
        "setp.eq.u32 %q0, %r0, 3;\nmov.b64 %p4, 0;\n"
        "createpolicy.fractional.L2::evict_last.b64 %p3, 1.0;\n"
        "@!%q0 cp.async.cg.shared.global.L2::cache_hint [%r1], [%p0], 16, %r0, %p3;\n"
        "@%q0 cp.async.ca.shared.global [%r1], [%p0], 4, %q0;\n"
        "@%q0 cp.async.ca.shared.global.L2::128B [%r1+4], [%p0+4], 4;\n"
        "@%q0 cp.async.ca.shared.global [%r1+8], [%p0+8], 8, 0;\n"
        "cp.async.commit_group;\ncp.async.wait_group 0;\ncp.async.wait_all;\n"
        "ld.shared.v4.b32 {%r4,%r5,%r6,%r7}, [%r1];\n"
        "st.global.v4.b32 [%p1], {%r4,%r5,%r6,%r7};\nret;\n}\n";
    uint8_t *in = engine_memory(&engine, 256), want[16][16] = {{0}};
    for (int i = 0; i < 256; i++) {
        in[i] = (uint8_t)(i + 1);
    }
    uint32_t *out = run(ptx, in, 1, 16);
    no_fault();
    for (int lane = 0; lane < 16; lane++) {
        memcpy(want[lane], in + (size_t)lane * 16, (size_t)lane);
    }
    memset(want[3], 0, 16);
    memcpy(want[3] + 4, in + 3 * 16 + 4, 4);
    cr_expect_arr_eq(out, want, sizeof want);
}

Test(async_ptx, a_bulk_must_be_whole)
{
    static const char ptx[] = HEAD REGISTERS
        "mbarrier.init.shared.b64 [bar], 1;\nmov.u32 %r1, tile;\nmov.u32 %r2, bar;\nmov.u32 %r3, "
        "24;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%p0], %r3, "
        "[%r2];\nret;\n}\n";
    run(ptx, engine_memory(&engine, 256), 1, 1);
    cr_expect_eq(engine.fault.code, SG_FAULT_MISALIGNED);
}

/* Rank 0 sends to both blocks at once; then each stores into the other and signals it. */
Test(async_ptx, multicast_and_stores_that_signal)
{
    static const char ptx[] = HEAD
        ".reqnctapercluster 2, 1, 1" REGISTERS
        "mov.u32 %r1, tile;\nmov.u32 %r2, bar;\nmov.u32 %r3, %cluster_ctarank;\n"
        "mbarrier.init.shared.b64 [%r2], 1;\nfence.mbarrier_init.release.cluster;\n"
        "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 64;\n"
        "setp.eq.u32 %q0, %r3, 0;\nmov.u16 %h0, 3;\n"
        "@%q0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%r1], [%p0], 64, [%r2], %h0;\n"
        "A:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q1, [%r2], 0, 1000;\n"
        "@!%q1 bra A;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 12;\n"
        "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n"
        "xor.b32 %r4, %r3, 1;\nmapa.shared::cluster.u32 %r5, %r1, %r4;\n"
        "mapa.shared::cluster.u32 %r6, %r2, %r4;\nadd.u32 %r7, %r3, 70;\n"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r5+64], {%r7, %r4}, "
        "[%r6];\n"
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], "
        "%r7, [%r6];\n"
        "B:\nmbarrier.try_wait.parity.shared.b64 %q1, [%r2], 1;\n@!%q1 bra B;\n"
        "mul.wide.u32 %p2, %r3, 128;\nadd.u64 %p1, %p1, %p2;\n"
        "ld.shared.u32 %r8, [%r1];\nst.global.u32 [%p1], %r8;\n"
        "ld.shared::cluster.u32 %r8, [%r5+4];\nst.global.u32 [%p1+4], %r8;\n"
        "ld.shared.v2.u32 {%r8, %r9}, [%r1+64];\nst.global.v2.u32 [%p1+8], {%r8, %r9};\n"
        "getctarank.shared::cluster.u32 %r8, %r5;\nst.global.u32 [%p1+16], %r8;\n"
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n";
    char text[4096];
    const char *at = strstr(ptx, "{\n.reg");
    snprintf(text, sizeof text, "%.*s{\n.reg .b16 %%h<2>;\n%s", (int)(at - ptx), ptx, at + 2);
    uint32_t *in = engine_memory(&engine, 64);
    in[0] = 1000;
    in[1] = 2000;
    uint32_t *out = run(text, in, 2, 1);
    no_fault();
    for (uint32_t rank = 0; rank < 2; rank++) {
        const uint32_t want[] = {1000 + 70 + (rank ^ 1), 2000, 70 + (rank ^ 1), rank, rank ^ 1};
        cr_expect_arr_eq(out + (size_t)rank * 32, want, sizeof want, "rank %u", rank);
    }
}

/* Threads that have exited are not waited for; memory of a block that is not there is a fault. */
Test(async_ptx, clusters_at_the_edge)
{
    static const char early[] =
        HEAD ".reqnctapercluster 4, 1, 1" REGISTERS
             "mov.u32 %r3, %cluster_ctarank;\nsetp.eq.u32 %q0, %r3, 2;\n@%q0 ret;\n"
             "setp.gt.u32 %q1, %r0, 40;\n@%q1 ret;\n"
             "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
             "mov.u32 %r4, 1;\natom.global.add.u32 %r5, [%p1], %r4;\n"
             "barrier.cluster.arrive;\nbarrier.cluster.wait;\nld.global.u32 %r6, [%p1];\n"
             "mov.u32 %r7, %ctaid.x;\nmul.wide.u32 %p2, %r7, 4;\nadd.u64 %p1, %p1, %p2;\n"
             "st.global.u32 [%p1+64], %r6;\nret;\n}\n";
    static const char beyond[] =
        HEAD ".reqnctapercluster 2, 1, 1" REGISTERS
             "mov.u32 %r1, tile;\nmapa.shared::cluster.u32 %r2, %r1, 2;\n"
             "ld.shared::cluster.u32 %r3, [%r2];\nst.global.u32 [%p1], %r3;\nret;\n}\n";
    uint32_t *out = run(early, NULL, 4, 64);
    no_fault();
    cr_expect_eq(out[0], 3 * 41);
    cr_expect_eq(out[16], 3 * 41);
    cr_expect_eq(out[18], 0);
    cr_expect_eq(out[19], 3 * 41);
    run(beyond, NULL, 2, 32);
    cr_expect_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
}

Test(async_ptx, one_is_elected_and_advice_is_taken)
{
    static const char ptx[] = HEAD REGISTERS
        "griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n"
        "prefetch.global.L2 [%p1];\ndiscard.global.L2 [%p1], 128;\n"
        "applypriority.global.L2::evict_normal [%p1], 128;\npmevent 3;\n"
        "fence.proxy.async;\nfence.proxy.async.shared::cta;\nfence.acq_rel.cluster;\n"
        "setp.gt.u32 %q0, %r0, 4;\n@!%q0 bra E;\n"
        "elect.sync %r1|%q1, 0xffffffe0;\nmov.u32 %r2, 7;\nselp.u32 %r2, %r2, %r1, %q1;\n"
        "mul.wide.u32 %p2, %r0, 4;\nadd.u64 %p1, %p1, %p2;\nst.global.u32 [%p1], %r2;\n"
        "E:\nret;\n}\n";
    uint32_t *out = run(ptx, NULL, 1, 32);
    no_fault();
    cr_expect_eq(out[4], 0);
    cr_expect_eq(out[5], 7);
    cr_expect_eq(out[6], 5);
    cr_expect_eq(out[31], 5);
}
