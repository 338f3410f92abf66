/* SPDX-License-Identifier: Apache-2.0 */
/* Special registers: each one of the PTX ISA is executed, or refused with its name; and shared
 * memory that is reserved for the system, which some of them tell of. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

#define HEAD(sm) ".version 8.5\n.target sm_" #sm "\n.address_size 64\n"
#define TAKE     "ld.param.u64 p, [out]; "

static struct engine engine;

static void setup(void)
{
    engine_open(&engine, 0);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(special, .init = setup, .fini = shut, .timeout = 60);

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

static char said[400];

static enum sg_load_result load(const char *text)
{
    struct sg_log log = {.text = said, .size = sizeof said};
    struct sg_program *program = NULL;
    enum sg_load_result result = sg_program_load(text, strlen(text), &log, &program);
    if (result == SG_LOAD_OK) {
        sg_program_destroy(program);
    }
    return result;
}

/* ---- all of them ---- */

/* PTX ISA 9.0, 10. Type: u32, u64 or pred. Numbers up to `last` follow the name, -1: none. */
static const struct {
    const char *name, *end, *type;
    int first, last;
    unsigned sm;
    bool refused;
} all[] = {
    {"%tid.x", "", "u32", 0, -1, 0, false},
    {"%tid.y", "", "u32", 0, -1, 0, false},
    {"%tid.z", "", "u32", 0, -1, 0, false},
    {"%tid.w", "", "u32", 0, -1, 0, false},
    {"%ntid.x", "", "u32", 0, -1, 0, false},
    {"%ntid.w", "", "u32", 0, -1, 0, false},
    {"%laneid", "", "u32", 0, -1, 0, false},
    {"%warpid", "", "u32", 0, -1, 0, false},
    {"%nwarpid", "", "u32", 0, -1, 0, false},
    {"%ctaid.z", "", "u32", 0, -1, 0, false},
    {"%ctaid.w", "", "u32", 0, -1, 0, false},
    {"%nctaid.x", "", "u32", 0, -1, 0, false},
    {"%nctaid.w", "", "u32", 0, -1, 0, false},
    {"%smid", "", "u32", 0, -1, 0, false},
    {"%nsmid", "", "u32", 0, -1, 0, false},
    {"%gridid", "", "u64", 0, -1, 0, false},
    {"%is_explicit_cluster", "", "pred", 0, -1, 90, false},
    {"%clusterid.x", "", "u32", 0, -1, 90, false},
    {"%clusterid.w", "", "u32", 0, -1, 90, false},
    {"%nclusterid.y", "", "u32", 0, -1, 90, false},
    {"%cluster_ctaid.x", "", "u32", 0, -1, 90, false},
    {"%cluster_nctaid.z", "", "u32", 0, -1, 90, false},
    {"%cluster_ctarank", "", "u32", 0, -1, 90, false},
    {"%cluster_nctarank", "", "u32", 0, -1, 90, false},
    {"%lanemask_eq", "", "u32", 0, -1, 0, false},
    {"%lanemask_le", "", "u32", 0, -1, 0, false},
    {"%lanemask_lt", "", "u32", 0, -1, 0, false},
    {"%lanemask_ge", "", "u32", 0, -1, 0, false},
    {"%lanemask_gt", "", "u32", 0, -1, 0, false},
    {"%clock", "", "u32", 0, -1, 0, false},
    {"%clock_hi", "", "u32", 0, -1, 0, false},
    {"%clock64", "", "u64", 0, -1, 0, false},
    {"%pm", "", "u32", 0, 7, 0, true},
    {"%pm", "_64", "u64", 0, 7, 0, true},
    {"%envreg", "", "u32", 0, 0, 0, true},
    {"%envreg", "", "u32", 1, 2, 0, false},
    {"%envreg", "", "u32", 3, 31, 0, true},
    {"%globaltimer", "", "u64", 0, -1, 0, false},
    {"%globaltimer_lo", "", "u32", 0, -1, 0, false},
    {"%globaltimer_hi", "", "u32", 0, -1, 0, false},
    {"%reserved_smem_offset_begin", "", "u32", 0, -1, 80, false},
    {"%reserved_smem_offset_end", "", "u32", 0, -1, 80, false},
    {"%reserved_smem_offset_cap", "", "u32", 0, -1, 80, false},
    {"%reserved_smem_offset_", "", "u32", 0, 1, 80, false},
    {"%total_smem_size", "", "u32", 0, -1, 0, false},
    {"%aggr_smem_size", "", "u32", 0, -1, 90, false},
    {"%dynamic_smem_size", "", "u32", 0, -1, 0, false},
    {"%current_graph_exec", "", "u64", 0, -1, 0, true},
};

static void expect_register(size_t which, int number)
{
    char name[64], text[400], due[160];
    if (all[which].last >= 0) {
        snprintf(name, sizeof name, "%s%d%s", all[which].name, number, all[which].end);
    } else {
        snprintf(name, sizeof name, "%s", all[which].name);
    }
    snprintf(text, sizeof text,
             "%s.visible .entry k()\n{ .reg .%s r;\n\n  mov.%s r, %s;\n  ret; }\n", HEAD(90),
             all[which].type, all[which].type, name);
    enum sg_load_result result = load(text);
    cr_expect_eq(result, all[which].refused ? SG_LOAD_UNSUPPORTED : SG_LOAD_OK, "%s: %d: %s", name,
                 result, said);
    if (all[which].refused) {
        snprintf(due, sizeof due,
                 "line 7, column %d: error: special register '%s' is not supported: ",
                 strlen(all[which].type) == 3 ? 14 : 15, name);
        cr_expect_eq(strncmp(said, due, strlen(due)), 0, "%s: %s", name, said);
    }
    if (all[which].sm > 0) {
        char *sm = strstr(text, "sm_90");
        sm[3] = '7';
        sm[4] = '5';
        snprintf(due, sizeof due, "special register '%s' requires .target sm_%u or higher", name,
                 all[which].sm);
        cr_expect_eq(load(text), SG_LOAD_SYNTAX);
        cr_expect(strstr(said, due) != NULL, "%s: %s", name, said);
    }
}

Test(special, each_register_is_executed_or_refused_by_its_name)
{
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (int number = all[i].first; number <= (all[i].last >= 0 ? all[i].last : 0); number++) {
            expect_register(i, number);
        }
    }
}

Test(special, names_that_are_none)
{
    static const char *const names[] = {
        "%pm8",   "%pm07",     "%pm",     "%envreg32", "%envreg", "%reserved_smem_offset_2",
        "%tid.v", "%laneid.x", "%pm3_65", "%nothing"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 HEAD(90) ".visible .entry k()\n{ .reg .u32 r;\nmov.u32 r, %s; }", names[i]);
        cr_expect_neq(load(text), SG_LOAD_OK, "%s", names[i]);
        cr_expect(strstr(said, "line 6, column ") != NULL, "%s: %s", names[i], said);
    }
    cr_expect_eq(load(HEAD(90) ".visible .entry k()\n{ .reg .u32 r; add.u32 r, %clock, 1; }"),
                 SG_LOAD_UNSUPPORTED);
    cr_expect(strstr(said, "'%clock' is not supported: a clock can be read by mov alone"), "%s",
              said);
}

/* ---- values ---- */

Test(special, sizes_of_shared_memory)
{
    engine_load_text(&engine, HEAD(90) ".extern .shared .align 16 .b8 d[];\n"
                                       ".visible .entry k(.param .u64 out)\n"
                                       "{ .reg .u32 r; .reg .u64 p; .shared .u32 s[5];\n" TAKE
                                       "st.shared.u32 [s], 1; st.shared.u32 [d], 1;\n"
                                       "mov.u32 r, %total_smem_size; st.global.u32 [p], r;\n"
                                       "mov.u32 r, %aggr_smem_size; st.global.u32 [p+4], r;\n"
                                       "mov.u32 r, %dynamic_smem_size; st.global.u32 [p+8], r;\n"
                                       "mov.u32 r, %nwarpid; st.global.u32 [p+12], r; ret; }\n");
    uint32_t *out = engine_memory(&engine, 64);
    engine.shared_unit = 128;
    engine.shared_reserved = 1024;
    engine.warps_sm = 64;
    ENGINE_LAUNCH(&engine, "k", 1, 1, 100, PTR(out));
    no_fault();
    cr_expect_eq(out[0], 256, "%u", out[0]); /* 32 + 100, in units of 128 */
    cr_expect_eq(out[1], 256 + 1024, "%u", out[1]);
    cr_expect_eq(out[2], 100, "%u", out[2]);
    cr_expect_eq(out[3], 64, "%u", out[3]);
    engine.shared_unit = 256;
    ENGINE_LAUNCH(&engine, "k", 1, 1, 225, PTR(out));
    cr_expect_eq(out[0], 512, "%u", out[0]);
}

Test(special, all_components_at_once)
{
    engine_load_text(&engine, HEAD(75) ".visible .entry k(.param .u64 out)\n"
                                       "{ .reg .v4 .u32 v; .reg .u32 t; .reg .u64 p; " TAKE
                                       "mov.v4.u32 v, %tid; mad.lo.u32 t, v.y, 8, v.x;\n"
                                       "mad.wide.u32 p, t, 32, p; st.global.v4.u32 [p], v;\n"
                                       "mov.v4.u32 v, %ntid; st.global.v4.u32 [p+16], v; ret; }\n");
    uint32_t *out = engine_memory(&engine, 8 * 4 * 32);
    const uint64_t params[] = {PTR(out)};
    engine_launch_3d(&engine, "k", (const uint32_t[3]){1, 1, 1}, (const uint32_t[3]){8, 4, 1}, 0,
                     params, 1);
    no_fault();
    for (uint32_t t = 0; t < 32; t++) {
        const uint32_t due[8] = {t % 8, t / 8, 0, 0, 8, 4, 1, 0};
        cr_assert_eq(memcmp(out + (size_t)8 * t, due, sizeof due), 0, "thread %u", t);
    }
}

/* ---- reserved shared memory ---- */

/* The reserved words count up; the program's own, in front of and behind each other, stay. */
Test(special, reserved_memory_is_zeros_and_nobody_elses)
{
    engine_load_text(
        &engine,
        HEAD(80) ".extern .shared .align 16 .b8 d[];\n.visible .entry k(.param .u64 out)\n"
                 "{ .reg .u32 t, a, b, r, e, i, x; .reg .u64 p, q; .reg .pred g;\n"
                 "  .shared .align 16 .b8 s[64];\n" TAKE
                 "  mov.u32 t, %tid.x; mov.u32 x, %ctaid.x; mad.lo.u32 i, x, 32, t;\n"
                 "  mad.wide.u32 p, i, 16, p; shl.b32 i, t, 1; mov.u32 a, s; add.u32 a, a, i;\n"
                 "  st.shared.u16 [a], 7; mov.u32 b, d; add.u32 b, b, i; st.shared.u16 [b], 8;\n"
                 "  bar.sync 0; mov.u32 r, %reserved_smem_offset_begin;\n"
                 "  mov.u32 e, %reserved_smem_offset_end; mov.u32 x, 0;\n"
                 "LOOP: ld.shared.u32 i, [r]; or.b32 x, x, i; add.u32 r, r, 4;\n"
                 "  setp.lt.u32 g, r, e; @g bra LOOP; bar.sync 0;\n"
                 "  mov.u32 r, %reserved_smem_offset_1; atom.shared.add.u32 i, [r+284], 1;\n"
                 "  mov.u32 r, %reserved_smem_offset_0; red.shared.add.u32 [r], 1; bar.sync 0;\n"
                 "  ld.shared.u32 i, [r]; st.global.u32 [p], x; st.global.u32 [p+4], i;\n"
                 "  ld.shared.u16 r, [a]; st.global.u32 [p+8], r; ld.shared.u16 r, [b];\n"
                 "  st.global.u32 [p+12], r; ret; }\n");
    uint32_t *out = engine_memory(&engine, 5 * 32 * 16);
    ENGINE_LAUNCH(&engine, "k", 5, 32, 64, PTR(out));
    no_fault();
    for (uint32_t t = 0; t < 5 * 32; t++) {
        static const uint32_t due[4] = {0, 32, 7, 8};
        cr_assert_eq(memcmp(out + (size_t)4 * t, due, sizeof due), 0, "thread %u: %u %u %u %u", t,
                     out[4 * t], out[4 * t + 1], out[4 * t + 2], out[4 * t + 3]);
    }
}

#define PLACES                                                                                     \
    ".extern .shared .align 4096 .b8 d[];\n.visible .entry k(.param .u64 out)\n"                   \
    "{ .reg .u32 a; .reg .u64 p; .shared .align 4 .b8 s[4]; .shared .align 2048 .b8 t[4];\n" TAKE  \
    "mov.u32 a, s; st.global.u32 [p], a; mov.u32 a, t; st.global.u32 [p+4], a;\n"                  \
    "mov.u32 a, d; st.global.u32 [p+8], a; st.shared.u32 [a+60], a; ret; }\n"

/* The program's own begins behind it, aligned as it is declared, and ends where it did. */
Test(special, places_of_shared_memory)
{
    uint32_t *out = engine_memory(&engine, 64);
    engine_load_text(&engine, HEAD(75) PLACES);
    ENGINE_LAUNCH(&engine, "k", 1, 1, 64, PTR(out));
    no_fault();
    cr_expect(out[0] == 0 && out[1] == 2048 && out[2] == 4096, "%u %u %u", out[0], out[1], out[2]);
    ENGINE_LAUNCH(&engine, "k", 1, 1, 60, PTR(out));
    cr_expect_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    engine_load_text(&engine, HEAD(80) PLACES);
    ENGINE_LAUNCH(&engine, "k", 1, 1, 64, PTR(out));
    no_fault();
    cr_expect(out[0] == 1024 && out[1] == 2048 && out[2] == 4096, "%u %u %u", out[0], out[1],
              out[2]);
    cr_expect_eq(sg_program_kernel_find(engine.program, "k")->shared_bytes, 3072);
    ENGINE_LAUNCH(&engine, "k", 1, 1, 60, PTR(out));
    cr_expect_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
}
