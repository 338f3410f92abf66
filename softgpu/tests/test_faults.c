/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of faults: kind and size of the access, space, function, source line; and the output
 * of asserts. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;
static char printed[2][8192];

static void collect(struct sg_printer *printer, enum sg_output output, const char *text,
                    size_t bytes, uint32_t charge)
{
    (void)printer, (void)charge;
    char *to = printed[output == SG_OUTPUT_STDERR];
    strncat(to, text, bytes);
}

static struct sg_printer printer = {collect};

static void open_empty(void)
{
    engine_open(&engine, 0);
    engine.printer = &printer;
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(faults_say, .init = open_empty, .fini = shut, .timeout = 60);

static void fault_is(enum sg_fault_code code, const char *text)
{
    cr_assert_eq(engine.fault.code, code, "%s: %s", sg_fault_name(engine.fault.code),
                 engine.fault.text);
    cr_assert_str_eq(engine.fault.text, text);
}

#define HEAD ".version 9.0\n.target sm_75\n.address_size 64\n"

Test(faults_say, which_access)
{
    static const struct {
        const char *insn, *text;
        enum sg_fault_code code;
    } wrong[] = {
        {"ld.global.u8 r, [p];", "Invalid __global__ read of size 1 bytes",
         SG_FAULT_ILLEGAL_ADDRESS},
        {"ld.v4.u32 {r, r, r, r}, [p+4];", "Invalid __global__ read of size 16 bytes",
         SG_FAULT_MISALIGNED},
        {"st.global.v2.u64 [p], {p, p};", "Invalid __global__ write of size 16 bytes",
         SG_FAULT_ILLEGAL_ADDRESS},
        {"red.global.add.u32 [p], 1;", "Invalid __global__ atomic of size 4 bytes",
         SG_FAULT_ILLEGAL_ADDRESS},
        {"st.shared.u16 [40], h;", "Invalid __shared__ write of size 2 bytes",
         SG_FAULT_ILLEGAL_ADDRESS},
        {"ld.shared.u32 r, [2];", "Invalid __shared__ read of size 4 bytes", SG_FAULT_MISALIGNED},
        {"atom.shared.add.u64 p, [40], 1;", "Invalid __shared__ atomic of size 8 bytes",
         SG_FAULT_ILLEGAL_ADDRESS},
        {"st.local.u64 [1073741824], p;", "Invalid __local__ write of size 8 bytes",
         SG_FAULT_ILLEGAL_ADDRESS},
        {"ld.param.u32 r, [address+8];", "Invalid __param__ read of size 4 bytes",
         SG_FAULT_ILLEGAL_ADDRESS},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 HEAD ".visible .entry k(.param .u64 address)\n{ .reg .u32 r; .reg .u16 h;"
                      ".reg .u64 p; .shared .u32 s[8]; ld.param.u64 p, [address];\n"
                      "st.shared.u32 [s], 1;\n%s\nret; }",
                 wrong[i].insn);
        engine_load_text(&engine, text);
        ENGINE_LAUNCH(&engine, "k", 1, 1, 0, UINT64_C(0x123450000));
        fault_is(wrong[i].code, wrong[i].text);
        cr_assert_eq(engine.fault.line, 7);
        cr_assert_str_eq(engine.fault.source, "");
    }
}

Test(faults_say, function_and_line_of_the_source)
{
    engine_load_text(&engine, HEAD ".func helper(.param .u64 a)\n{ .reg .u64 p; .reg .u32 r;\n"
                                   "ld.param.u64 p, [a];\n.loc 2 77 3\nst.u32 [p], 1; ret; }\n"
                                   ".visible .entry k(.param .u64 a)\n{ .reg .u64 p;\n"
                                   ".loc 1 12 5\nld.param.u64 p, [a];\n"
                                   ".loc 1 13 5, function_name $x, inlined_at 1 2 3\n"
                                   "call helper, (p);\n.loc\t1 15 2\ntrap;\n}\n"
                                   ".file 1 \"/src/kernel.cu\"\n"
                                   ".file 2 \"helper.h\", 1700000000, 4711\n"
                                   ".section .debug_str { $x: .b8 1,2,0 }\n");
    ENGINE_LAUNCH(&engine, "k", 1, 1, 0, 16);
    fault_is(SG_FAULT_ILLEGAL_ADDRESS, "Invalid __global__ write of size 4 bytes");
    cr_assert_str_eq(engine.fault.kernel, "k");
    cr_assert_str_eq(engine.fault.function, "helper");
    cr_assert_str_eq(engine.fault.source, "helper.h");
    cr_assert_eq(engine.fault.source_line, 77);
    ENGINE_LAUNCH(&engine, "k", 1, 1, 0, PTR(engine_memory(&engine, 4)));
    fault_is(SG_FAULT_TRAP, "trap instruction");
    cr_assert_str_eq(engine.fault.function, "k");
    cr_assert_str_eq(engine.fault.source, "/src/kernel.cu");
    cr_assert_eq(engine.fault.source_line, 15);
}

/* Numbers of files belong to one unit: each of these has its own file 1. */
Test(faults_say, the_file_of_the_unit)
{
    static const char *const texts[] = {
        HEAD ".extern .func g(.param .u64 a);\n.visible .entry k(.param .u64 a)\n{ .reg .u64 p;\n"
             ".loc 1 5 1\nld.param.u64 p, [a];\ncall g, (p);\n.loc 1 6 1\ntrap; }\n"
             ".file 1 \"main.cu\"\n",
        HEAD ".visible .func g(.param .u64 a)\n{ .reg .u64 p; .reg .u32 r; .reg .pred q;\n"
             ".loc 1 41 9\nld.param.u64 p, [a];\nld.u32 r, [p];\n.loc 2 8 1\n"
             "setp.eq.u32 q, r, 0;\n@q bra DONE;\nst.u32 [16], r;\nDONE: ret;\n}\n"
             ".file 1 \"unit_b.cu\"\n.file 2 \"unit_b.h\"\n",
    };
    struct sg_unit units[2] = {{texts[0], strlen(texts[0]), NULL},
                               {texts[1], strlen(texts[1]), NULL}};
    engine_load_units(&engine, units, 2);
    uint32_t *value = engine_memory(&engine, 4);
    ENGINE_LAUNCH(&engine, "k", 1, 1, 0, 16);
    cr_expect_str_eq(engine.fault.source, "unit_b.cu");
    cr_expect_eq(engine.fault.source_line, 41);
    *value = 1;
    ENGINE_LAUNCH(&engine, "k", 1, 1, 0, PTR(value));
    cr_expect_str_eq(engine.fault.source, "unit_b.h");
    cr_expect_eq(engine.fault.source_line, 8);
    *value = 0;
    ENGINE_LAUNCH(&engine, "k", 1, 1, 0, PTR(value));
    cr_expect_str_eq(engine.fault.source, "main.cu");
    cr_expect_eq(engine.fault.source_line, 6);
}

/* Kernels that never end: they run, wait, or begin more and more blocks. */
Test(faults_say, a_kernel_that_takes_too_long)
{
    engine_load_text(&engine,
                     HEAD ".visible .entry loop(.param .u64 a)\n{ .reg .u64 p; .reg .u32 r;"
                          " .reg .pred q;\n"
                          "ld.param.u64 p, [a]; mov.u32 r, %ctaid.x;\n"
                          "setp.ne.u32 q, r, 2; @q ret;\n"
                          "AGAIN: ld.volatile.global.u32 r, [p];\n"
                          "setp.eq.u32 q, r, 0; @q bra AGAIN;\nret; }\n"
                          ".visible .entry many(.param .u64 a)\n{ ret; }\n"
                          ".visible .entry sleep(.param .u64 a)\n{ .reg .u64 p;"
                          " .reg .u32 r; .reg .pred q; ld.param.u64 p, [a];\n"
                          "mov.u32 r, %tid.x; setp.eq.u32 q, r, 0; @q bra AGAIN;\n"
                          "bar.sync 0; ret;\nAGAIN: nanosleep.u32 1000; bra AGAIN; }\n");
    uint32_t *zero = engine_memory(&engine, 4);
    engine.limit_ns = UINT64_C(50000000);
    static const struct {
        const char *kernel;
        uint32_t blocks, threads;
    } cases[] = {{"loop", 4, 1}, {"loop", 3, 64}, {"many", 2147483647, 32}, {"sleep", 1, 96}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ENGINE_LAUNCH(&engine, cases[i].kernel, cases[i].blocks, cases[i].threads, 0, PTR(zero));
        double seconds = 0;
        cr_assert_eq(engine.fault.code, SG_FAULT_TIMEOUT, "%s: %s", cases[i].kernel,
                     sg_fault_name(engine.fault.code));
        cr_assert_str_eq(engine.fault.kernel, cases[i].kernel);
        cr_assert_eq(
            sscanf(engine.fault.text, "has run for %lf s, the device's limit is 0.050 s", &seconds),
            1, "%s", engine.fault.text);
        cr_assert_geq(seconds, 0.05);
        if (i < 2) {
            cr_assert_eq(engine.fault.block[0], 2);
            cr_assert(engine.fault.line == 8 || engine.fault.line == 9);
        }
    }
    *zero = 1; /* a kernel that ends in time is not affected */
    ENGINE_LAUNCH(&engine, "loop", 4, 64, 0, PTR(zero));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE);
}

Test(faults_say, every_failing_thread_prints_its_assertion)
{
    engine_load_file(&engine, "torture");
    int *values = engine_memory(&engine, 4 * 40);
    values[3] = values[35] = 1;
    printed[1][0] = 0;
    ENGINE_LAUNCH(&engine, "asserting", 1, 32, 0, PTR(values));
    cr_assert_eq(engine.fault.code, SG_FAULT_ASSERT);
    cr_assert_eq(engine.fault.thread[0], 3);
    const char *rest = strstr(printed[1], "torture.cu:");
    cr_assert_not_null(rest, "%s", printed[1]);
    cr_assert_not_null(strstr(rest, "asserting(int *): block: [0,0,0], thread: [3,0,0] Assertion "
                                    "`p[threadIdx.x] == 0` failed.\n"),
                       "%s", rest);
    cr_assert_null(strstr(strchr(rest, '\n'), "Assertion"));
    values[5] = 1;
    printed[1][0] = 0;
    ENGINE_LAUNCH(&engine, "asserting", 1, 32, 0, PTR(values));
    cr_assert_not_null(strstr(printed[1], "thread: [3,0,0] Assertion"));
    cr_assert_not_null(strstr(printed[1], "thread: [5,0,0] Assertion"));
    cr_assert_eq(printed[0][0], 0);
}

static volatile uint32_t *goes_on;

/* The first time other processes take long; the second time the kernel is told to end. */
static void others_turn(void *turn)
{
    static _Atomic int calls;
    (void)turn;
    if (atomic_fetch_add(&calls, 1) == 0) {
        const struct timespec long_time = {.tv_sec = 1, .tv_nsec = 500000000};
        nanosleep(&long_time, NULL);
    } else {
        *goes_on = 1;
    }
}

Test(faults_say, others_turns_do_not_count)
{
    static const _Atomic uint32_t somebody = 1;
    engine_load_text(&engine, HEAD ".visible .entry loop(.param .u64 a)\n{ .reg .u64 p;"
                                   " .reg .u32 r; .reg .pred q; ld.param.u64 p, [a];\n"
                                   "AGAIN: ld.volatile.global.u32 r, [p];\n"
                                   "setp.eq.u32 q, r, 0; @q bra AGAIN;\nret; }\n");
    goes_on = engine_memory(&engine, 4);
    engine.limit_ns = UINT64_C(1000000000);
    engine.waiting = &somebody;
    engine.give_way = others_turn;
    ENGINE_LAUNCH(&engine, "loop", 1, 32, 0, PTR(goes_on));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
}
