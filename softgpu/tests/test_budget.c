/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the machine that softgpu takes for a program has a bound. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/engine/budget.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/tests/engine_fixture.h"

#define MIB (UINT64_C(1) << 20)
/* Blocks of arenas that are kept for the next load. */
#define SPARES MIB
#define HEAD   ".version 6.4\n.target sm_75\n.address_size 64\n"

static struct engine engine;

static void begin(void)
{
    engine_open(&engine, 2);
}

static void end(void)
{
    engine_close(&engine);
}

TestSuite(budget, .init = begin, .fini = end, .timeout = 120);

/* The most that 64 MiB may take. ThreadSanitizer has four bytes of its own for each, as they are
 * touched. */
#if defined(__SANITIZE_THREAD__)
#define GROWTH_MAX (5 * 100 * MIB)
#else
#define GROWTH_MAX (100 * MIB)
#endif

/* The most that the process has had in memory. */
static uint64_t peak_bytes(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status) != NULL) {
        (void)sscanf(line, "VmHWM: %llu kB", &kib);
    }
    fclose(status);
    return kib << 10;
}

static enum sg_load_result load(const char *text, char *messages, size_t size)
{
    struct sg_log log = {.text = messages, .size = size};
    struct sg_program *program;
    enum sg_load_result rc = sg_program_load(text, strlen(text), &log, &program);
    if (rc == SG_LOAD_OK) {
        sg_program_destroy(program);
    }
    return rc;
}

Test(budget, a_small_text_does_not_become_gigabytes)
{
    char messages[256];
    uint64_t before = sg_budget_held(), peak = peak_bytes();
    cr_assert_eq(
        load(HEAD ".global .b8 far[2][536870912] = {{1},{1}};\n", messages, sizeof messages),
        SG_LOAD_NO_MEMORY);
    cr_assert_not_null(strstr(messages, "out of memory"), "%s", messages);
    cr_assert_lt(peak_bytes() - peak, GROWTH_MAX);
    cr_assert_eq(
        load(HEAD ".global .b8 near[2][16777216] = {{1},{1}};\n", messages, sizeof messages),
        SG_LOAD_OK, "%s", messages);
    cr_assert_leq(sg_budget_held(), before + SPARES);
}

Test(budget, parsing_ends_at_the_budget)
{
    char messages[256];
    uint64_t before = sg_budget_held();
    sg_budget_set(before + 8 * MIB);
    cr_assert_eq(
        load(HEAD ".global .b8 near[2][16777216] = {{1},{1}};\n", messages, sizeof messages),
        SG_LOAD_NO_MEMORY);
    cr_assert_eq(load(HEAD ".global .b8 near[2][65536] = {{1},{1}};\n", messages, sizeof messages),
                 SG_LOAD_OK, "%s", messages);
    cr_assert_leq(sg_budget_held(), before + SPARES);
}

/* Calls itself `n` times, until all threads of the block have; each call has 64 registers to save,
 * 16 KiB of a warp. The result is n. */
#define EIGHT(one) one("0") one("1") one("2") one("3") one("4") one("5") one("6") one("7")
#define SET(i, k, from)                                                                            \
    "    mul.lo.u64 %v1" i k ", " from ", 3;\n    add.u64 %v1" i k ", %v1" i k ", n;\n"
#define LOAD(i)                                                                                    \
    SET(i, "0", "n")                                                                               \
    SET(i, "1", "%v1" i "0")                                                                       \
    SET(i, "2", "%v1" i "1")                                                                       \
    SET(i, "3", "%v1" i "2")                                                                       \
    SET(i, "4", "%v1" i "3")                                                                       \
    SET(i, "5", "%v1" i "4")                                                                       \
    SET(i, "6", "%v1" i "5")                                                                       \
    SET(i, "7", "%v1" i "6")
#define MIX(i, k) "    xor.b64 %x, %x, %v1" i k ";\n"
#define USE(i)                                                                                     \
    MIX(i, "0")                                                                                    \
    MIX(i, "1")                                                                                    \
    MIX(i, "2")                                                                                    \
    MIX(i, "3")                                                                                    \
    MIX(i, "4")                                                                                    \
    MIX(i, "5")                                                                                    \
    MIX(i, "6")                                                                                    \
    MIX(i, "7")
static const char deep[] = HEAD
    ".visible .func (.reg .u64 r) down(.reg .u64 n)\n{\n"
    "    .reg .u64 %a, %b, %x, %y, %v<178>;\n    .reg .pred %p;\n"
    "    mov.u64 r, 0;\n    setp.ne.u64 %p, n, 0;\n    @%p bra go;\n"
    "    bar.sync 0;\n    ret;\ngo:\n" EIGHT(LOAD) "    mov.u64 %x, 0;\n" EIGHT(
        USE) "    mov.u64 %y, %x;\n"
             "    sub.u64 %a, n, 1;\n    call.uni (%b), down, (%a);\n" EIGHT(
                 USE) "    add.u64 r, %b, 1;\n    add.u64 r, r, %x;\n    ret;\n}\n"
                      ".visible .entry start(.param .u64 out, .param .u64 n)\n{\n"
                      "    .reg .u64 %d, %n, %r;\n"
                      "    ld.param.u64 %d, [out];\n    ld.param.u64 %n, [n];\n"
                      "    call.uni (%r), down, (%n);\n    st.global.u64 [%d], %r;\n    ret;\n}\n";

Test(budget, nested_calls_end_at_the_budget)
{
    uint64_t *result = engine_memory(&engine, 64);
    engine_load_text(&engine, deep);
    ENGINE_LAUNCH(&engine, "start", 1, 32, 0, PTR(result), 500);
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
    cr_assert_eq(*result, 500);
    sg_budget_set(sg_budget_held() + 64 * MIB);
    uint64_t peak = peak_bytes();
    ENGINE_LAUNCH(&engine, "start", 1, 256, 0, PTR(result), 1000);
    cr_assert_eq(engine.fault.code, SG_FAULT_NO_MEMORY, "%s", sg_fault_name(engine.fault.code));
    cr_assert_lt(peak_bytes() - peak, GROWTH_MAX);
    ENGINE_LAUNCH(&engine, "start", 1, 32, 0, PTR(result), 500);
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
    cr_assert_eq(*result, 500);
}

/* Each thread has 128 KiB of local memory, and adds up what it has written there. */
static const char wide[] =
    HEAD ".visible .entry start(.param .u64 out)\n{\n"
         "    .local .align 8 .b8 stack[131072];\n"
         "    .reg .u64 %d, %s;\n    .reg .u32 %v, %old;\n"
         "    ld.param.u64 %d, [out];\n    mov.u64 %s, stack;\n    mov.u32 %v, 1;\n"
         "    st.local.u32 [%s+131064], %v;\n    ld.local.u32 %v, [%s+131064];\n"
         "    atom.global.add.u32 %old, [%d], %v;\n    ret;\n}\n";

Test(budget, a_grid_runs_with_as_many_blocks_as_have_memory)
{
    uint32_t *sum = engine_memory(&engine, 64);
    engine_load_text(&engine, wide);
    uint64_t block = sg_launch_local_bytes(sg_program_kernel_find(engine.program, "start"), 256, 0);
    cr_assert_geq(block, 256 * UINT64_C(131072));
    uint64_t before = sg_budget_held();
    sg_budget_set(before + block + 4 * MIB);
    ENGINE_LAUNCH(&engine, "start", 300, 256, 0, PTR(sum));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
    cr_assert_eq(*sum, 300 * 256);
    sg_budget_set(before + block - 4 * MIB);
    ENGINE_LAUNCH(&engine, "start", 300, 256, 0, PTR(sum));
    cr_assert_eq(engine.fault.code, SG_FAULT_NO_MEMORY);
    sg_budget_set(UINT64_MAX);
    ENGINE_LAUNCH(&engine, "start", 300, 256, 0, PTR(sum));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
}
