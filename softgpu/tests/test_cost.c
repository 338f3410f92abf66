/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for the timing model: executed instructions of warps, by kind. */
#include <criterion/criterion.h>

#include "model/counts.h"
#include "softgpu/engine/cost.h"
#include "softgpu/tests/engine_fixture.h"

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"

static struct engine engine;
static struct model_counts counts;

static void open_counting(void)
{
    sg_cost_count(true);
    engine_open(&engine, 2);
    engine.counts = &counts;
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(cost, .init = open_counting, .fini = shut);

static uint64_t counted(enum model_count kind)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
    return counts.of[kind];
}

/* 10 rounds for all threads but those below %limit, which leave at once. */
static const char *const loop =
    HEAD ".visible .entry loop(.param .u64 out, .param .u32 limit)\n{\n"
         ".reg .pred %p<3>;\n.reg .b32 %r<6>;\n.reg .f32 %f<3>;\n.reg .b64 %rd<4>;\n"
         "ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [limit];\n"
         "mov.u32 %r2, %tid.x;\nmov.u32 %r3, 0;\nmov.f32 %f1, 0f3F800000;\n"
         "setp.lt.u32 %p1, %r2, %r1;\n@%p1 bra DONE;\n"
         "AGAIN:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s32 %r3, %r3, 1;\n"
         "setp.lt.u32 %p2, %r3, 10;\n@%p2 bra AGAIN;\n"
         "mul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.f32 [%rd3], %f1;\n"
         "DONE:\nret;\n}\n";

Test(cost, loops_count_as_often_as_they_run)
{
    engine_load_text(&engine, loop);
    void *out = engine_memory(&engine, 4096);
    ENGINE_LAUNCH(&engine, "loop", 3, 64, 0, PTR(out), 0);
    const uint64_t warps = 3 * 2;
    cr_assert_eq(counted(MODEL_COUNT_F32), warps * 10);
    cr_assert_eq(counted(MODEL_COUNT_GLOBAL), warps);
    cr_assert_eq(counted(MODEL_COUNT_BYTES), warps * 32 * 4);
    cr_assert_eq(counted(MODEL_COUNT_SHARED), 0);
    cr_assert_eq(counted(MODEL_COUNT_F64), 0);
}

Test(cost, a_warp_counts_whole_and_bytes_by_lane)
{
    engine_load_text(&engine, loop);
    void *out = engine_memory(&engine, 4096);
    ENGINE_LAUNCH(&engine, "loop", 1, 64, 0, PTR(out), 40); /* 24 threads of the second warp stay */
    cr_assert_eq(counted(MODEL_COUNT_F32), 10);
    cr_assert_eq(counted(MODEL_COUNT_GLOBAL), 1);
    cr_assert_eq(counted(MODEL_COUNT_BYTES), 24 * 4);
}

Test(cost, kinds_of_instructions)
{
    engine_load_text(
        &engine,
        HEAD ".visible .entry kinds(.param .u64 out)\n{\n"
             ".reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .f64 %d<4>;\n.reg .b64 %rd<3>;\n"
             ".shared .align 16 .b8 area[512];\n"
             "ld.param.u64 %rd1, [out];\nmov.f64 %d1, 0d3FF0000000000000;\n"
             "mov.u32 %r2, area;\nmov.u32 %r1, %tid.x;\n"
             "fma.rn.f64 %d2, %d1, %d1, %d1;\nadd.f64 %d3, %d2, %d1;\n"
             "cvt.rn.f32.u32 %f1, %r1;\nex2.approx.f32 %f2, %f1;\nsqrt.rn.f32 %f3, %f2;\n"
             "st.shared.v4.f32 [%r2], {%f1, %f2, %f3, %f1};\nld.shared.f32 %f1, [%r2];\n"
             "st.global.f64 [%rd1], %d3;\natom.global.add.u32 %r3, [%rd1], %r1;\nret;\n}\n");
    void *out = engine_memory(&engine, 4096);
    ENGINE_LAUNCH(&engine, "kinds", 1, 32, 0, PTR(out));
    cr_assert_eq(counted(MODEL_COUNT_F64), 2);
    cr_assert_eq(counted(MODEL_COUNT_SPECIAL), 2);
    cr_assert_eq(counted(MODEL_COUNT_SHARED), 4 + 1);
    cr_assert_eq(counted(MODEL_COUNT_GLOBAL), 1 + 2);
    cr_assert_eq(counted(MODEL_COUNT_BYTES), 32 * (8 + 2 * 4));
}

Test(cost, functions_count_where_they_are_called)
{
    engine_load_text(&engine, HEAD
                     ".func (.reg .f32 %b) twice(.reg .f32 %a)\n{\nadd.f32 %b, %a, %a;\nret;\n}\n"
                     ".visible .entry calls()\n{\n.reg .f32 %f<3>;\nmov.f32 %f1, 0f3F800000;\n"
                     "call (%f2), twice, (%f1);\ncall (%f1), twice, (%f2);\nret;\n}\n");
    engine_launch_3d(&engine, "calls", (const uint32_t[3]){4, 1, 1}, (const uint32_t[3]){32, 1, 1},
                     0, NULL, 0);
    cr_assert_eq(counted(MODEL_COUNT_F32), 4 * 2);
}

Test(cost, without_running_each_instruction_counts_once)
{
    engine_load_text(&engine, loop);
    const struct sg_launch launch = {.image = engine.image,
                                     .kernel = sg_program_kernel_find(engine.program, "loop"),
                                     .grid = {5, 1, 1},
                                     .block = {96, 1, 1}};
    sg_grid_estimate(&launch, &counts);
    cr_assert_eq(counts.of[MODEL_COUNT_F32], 5 * 3);
    cr_assert_eq(counts.of[MODEL_COUNT_BYTES], 5 * 96 * 4);
}
