/* SPDX-License-Identifier: Apache-2.0 */
/* Several PTX modules linked to one program: which names are one object, and which definition
 * stays. */
#include <criterion/criterion.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

#define HEAD ".version 9.0\n.target sm_75\n.address_size 64\n"
/* A kernel that stores what `text` leaves in %r1. */
#define KERNEL(name, text)                                                                         \
    ".visible .entry " name "(.param .u64 p)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n" text "\n"  \
    "ld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
/* A function of no parameters that returns `value`. */
#define FUNC(linkage, name, value)                                                                 \
    linkage " .func (.param .b32 r) " name "() { .reg .b32 %a; mov.u32 %a, " value ";"             \
            " st.param.b32 [r], %a; ret; }\n"
#define DECLARE(name) ".extern .func (.param .b32 r) " name "();\n"
#define CALL(name)    "{ .param .b32 r; call (r), " name "; ld.param.b32 %r1, [r]; }\n"

static struct engine engine;

static void load(const char *const *texts, size_t count)
{
    struct sg_unit units[8];
    for (size_t i = 0; i < count; i++) {
        units[i] = (struct sg_unit){texts[i], strlen(texts[i]), NULL};
    }
    engine_open(&engine, 0);
    engine_load_units(&engine, units, count);
}

static uint32_t run_shared(const char *kernel, uint32_t dynamic)
{
    uint32_t *out = engine_memory(&engine, 4);
    ENGINE_LAUNCH(&engine, kernel, 1, 1, dynamic, PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s", kernel, engine.fault.text);
    return *out;
}

static uint32_t run(const char *kernel)
{
    return run_shared(kernel, 0);
}

Test(link, functions_and_variables_of_other_units)
{
    static const char *const texts[] = {
        HEAD DECLARE("seven") ".extern .const .align 4 .b8 table[];\n.extern .global .u32 "
                              "count;\n" KERNEL("first",
                                                CALL("seven") "ld.const.u32 %r2, "
                                                              "[table+4];\nadd.u32 %r1, %r1, %r2;\n"
                                                              "ld.global.u32 %r2, "
                                                              "[count];\nadd.u32 %r1, %r1, %r2;"),
        HEAD FUNC(".visible", "seven",
                  "7") ".visible .const .align 4 .b8 table[8] = {1,0,0,0,50};\n"
                       ".visible .global .u32 count = 300;\n",
        /* declared again where it is known, in both orders */
        HEAD DECLARE("seven") DECLARE(
            "seven") ".extern .global .u32 count;\n"
                     ".extern .global .u32 count;\n" KERNEL(
                         "second",
                         CALL(
                             "seven") "mov.u32 %r1, 1000;\natom.global.add.u32 %r1, [count], %r1;"),
    };
    load(texts, 3);
    cr_assert_eq(run("first"), 357);
    cr_assert_eq(run("second"), 300);
    cr_assert_eq(run("first"), 1357);
    cr_assert_eq(sg_program_variable_count(engine.program), 2);
    cr_assert_eq(*(uint32_t *)engine_variable(&engine, "count"), 1300);
    engine_close(&engine);
}

Test(link, what_is_not_linked_belongs_to_its_unit)
{
    static const char *const texts[] = {
        HEAD FUNC("", "mine", "1") ".global .u32 v = 10;\n" KERNEL(
            "first", CALL("mine") "ld.global.u32 %r2, [v];\nadd.u32 %r1, %r1, %r2;"),
        HEAD FUNC("", "mine", "2") ".global .u32 v = 20;\n" KERNEL(
            "second", CALL("mine") "ld.global.u32 %r2, [v];\nadd.u32 %r1, %r1, %r2;"),
        HEAD FUNC(".visible", "mine", "3") ".visible .global .u32 v = 30;\n" KERNEL(
            "third", CALL("mine") "ld.global.u32 %r2, [v];\nadd.u32 %r1, %r1, %r2;"),
    };
    load(texts, 3);
    cr_assert_eq(run("first"), 11);
    cr_assert_eq(run("second"), 22);
    cr_assert_eq(run("third"), 33);
    cr_assert_eq(sg_program_variable_count(engine.program), 3);
    size_t found = sg_program_variable_find(engine.program, "v");
    cr_assert(sg_program_variable_at(engine.program, found)->visible);
    engine_close(&engine);
}

#define BOTH(function_linkage, variable_linkage, value, kernel)                                    \
    HEAD FUNC(function_linkage, "f", value) variable_linkage                                       \
        " .global .u32 v = " value                                                                 \
        ";\n" KERNEL(kernel, CALL("f") "ld.global.u32 %r2, [v];\nmad.lo.u32 %r1, %r1, 100, %r2;")

Test(link, of_weak_ones_the_first_stays_unless_there_is_a_strong_one)
{
    static const char *const weak[] = {BOTH(".weak", ".weak", "5", "first"),
                                       BOTH(".weak", ".weak", "6", "second")};
    load(weak, 2);
    cr_assert_eq(run("first"), 505);
    cr_assert_eq(run("second"), 505);
    engine_close(&engine);
    static const char *const strong[] = {BOTH(".weak", ".weak", "5", "first"),
                                         BOTH(".visible", ".visible", "6", "second"),
                                         BOTH(".weak", ".weak", "7", "third")};
    load(strong, 3);
    cr_assert_eq(run("first"), 606);
    cr_assert_eq(run("second"), 606);
    cr_assert_eq(run("third"), 606);
    cr_assert_eq(sg_program_variable_count(engine.program), 1);
    engine_close(&engine);
}

Test(link, of_common_ones_the_largest_stays)
{
    static const char *const texts[] = {
        HEAD ".common .global .align 4 .b8 c[4];\n" KERNEL(
            "first", "mov.u32 %r1, 9;\nst.global.u32 [c], %r1;"),
        HEAD ".common .global .align 4 .b8 c[400];\n.common .global .u32 d;\n" KERNEL(
            "second", "ld.global.u32 %r1, [c];"),
        HEAD ".common .global .align 4 .b8 c[40];\n.visible .global .u32 d = 4;\n",
    };
    load(texts, 3);
    run("first");
    cr_assert_eq(run("second"), 9);
    size_t c = sg_program_variable_find(engine.program, "c");
    cr_assert_eq(sg_program_variable_at(engine.program, c)->bytes, 400);
    cr_assert_eq(*(uint32_t *)engine_variable(&engine, "d"), 4);
    engine_close(&engine);
}

Test(link, addresses_in_initialisers_and_dynamic_shared_memory)
{
    static const char *const texts[] = {
        HEAD ".extern .global .align 4 .b8 far[];\n.visible .global .u64 where = generic(far)+4;\n"
             ".extern .shared .align 4 .b8 dyn[];\n.extern .func set();\n" KERNEL(
                 "first", "call set;\nld.shared.u32 %r1, [dyn];\nld.global.u64 %rd2, [where];\n"
                          "ld.u32 %r2, [%rd2];\nadd.u32 %r1, %r1, %r2;"),
        HEAD ".visible .global .align 4 .b8 far[8] = {1, 0, 0, 0, 2, 0, 0, 0};\n"
             ".extern .shared .align 16 .b8 dyn[];\n"
             ".visible .func set() { .reg .b32 %a; mov.u32 %a, 60; st.shared.u32 [dyn], %a; ret; }",
    };
    load(texts, 2);
    cr_assert_eq(run_shared("first", 16), 62);
    engine_close(&engine);
}

/* Each body is kept or dropped as a whole: the dropped one's registers and labels are its own. */
Test(link, bodies_of_copies_do_not_meet)
{
    static const char *const texts[] = {
        HEAD ".weak .func (.param .b32 r) f(.param .b32 x) { .reg .b32 %a<3>; .reg .pred %p;\n"
             "ld.param.u32 %a1, [x]; setp.eq.u32 %p, %a1, 0; @%p bra L; add.u32 %a1, %a1, 1;\n"
             "L: st.param.b32 [r], %a1; ret; }\n" KERNEL(
                 "first", "{ .param .b32 x; .param .b32 r; mov.u32 %r1, 4; st.param.b32 [x], %r1;"
                          " call (r), f, (x); ld.param.b32 %r1, [r]; }"),
        HEAD ".weak .func (.param .b32 r) f(.param .b32 x) { .reg .b32 %b<9>;\n"
             "ld.param.u32 %b7, [x]; bra M; L: bra L; M: add.u32 %b8, %b7, 2;\n"
             "st.param.b32 [r], %b8; ret; }\n" KERNEL(
                 "second", "{ .param .b32 x; .param .b32 r; mov.u32 %r1, 4; st.param.b32 [x], "
                           "%r1; call (r), f, (x); ld.param.b32 %r1, [r]; }"),
    };
    load(texts, 2);
    cr_assert_eq(run("first"), 5);
    cr_assert_eq(run("second"), 5);
    engine_close(&engine);
}

struct refusal {
    const char *texts[3];
    enum sg_load_result result;
    const char *message;
};

static const struct refusal refusals[] = {
    {{HEAD FUNC(".visible", "f", "1"), HEAD FUNC(".visible", "f", "2")},
     SG_LOAD_SYNTAX,
     "b.cu, line 4, column 32: error: 'f' is defined twice, first in unit 1, line 4, column 32\n"},
    {{HEAD ".visible .global .u32 v = 1;", HEAD ".visible .global .u32 v;"},
     SG_LOAD_SYNTAX,
     "b.cu, line 4, column 23: error: 'v' is defined twice, first in unit 1, line 4, column 23\n"},
    {{HEAD ".visible .entry k() { ret; }", HEAD, HEAD ".visible .entry k() { ret; }"},
     SG_LOAD_SYNTAX,
     "unit 3, line 4, column 17: error: 'k' is defined twice, first in unit 1, line 4, column "
     "17\n"},
    {{HEAD ".visible .global .u32 v;", HEAD ".extern .const .u32 v;"},
     SG_LOAD_SYNTAX,
     "b.cu, line 4, column 21: error: 'v' is something else in unit 1, line 4, column 23\n"},
    {{HEAD FUNC(".visible", "x", "1"), HEAD ".extern .global .u32 x;"},
     SG_LOAD_SYNTAX,
     "b.cu, line 4, column 22: error: 'x' is something else in unit 1, line 4, column 32\n"},
    {{HEAD FUNC("", "f", "1"), HEAD DECLARE("f") KERNEL("k", CALL("f"))},
     SG_LOAD_UNRESOLVED,
     "b.cu, line 9, column 18: error: function 'f' is called but not defined\n"},
    {{HEAD ".global .u32 v;", HEAD ".extern .global .u32 v;\n.global .u64 p = v;"},
     SG_LOAD_UNRESOLVED,
     "b.cu, line 5, column 14: error: 'p' holds the address of 'v', which is not defined\n"},
    {{HEAD, "nonsense"},
     SG_LOAD_SYNTAX,
     "b.cu, line 1, column 1: error: '.version' expected, found 'nonsense'\n"},
    {{HEAD ".global .u32 v; .global .u32 v;", HEAD},
     SG_LOAD_SYNTAX,
     "unit 1, line 4, column 30: error: 'v' is declared twice\n"},
};

Test(link, refusals_name_the_unit)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct sg_unit units[3];
        size_t count = 0;
        for (; count < 3 && refusals[i].texts[count] != NULL; count++) {
            const char *text = refusals[i].texts[count];
            units[count] = (struct sg_unit){text, strlen(text), count == 1 ? "b.cu" : NULL};
        }
        char messages[256] = "";
        struct sg_log log = {messages, sizeof messages, 0};
        struct sg_program *program = NULL;
        enum sg_load_result rc = sg_program_link(units, count, &log, &program);
        sg_program_destroy(program);
        cr_expect_eq(rc, refusals[i].result, "%zu: %d: %s", i, (int)rc, messages);
        cr_expect_str_eq(messages, refusals[i].message, "%zu: %s", i, messages);
    }
    struct sg_program *program = NULL;
    cr_assert_eq(sg_program_link(NULL, 0, NULL, &program), SG_LOAD_UNSUPPORTED);
}

/* A function's address is the same in all units: one uses it before another defines it, a third
 * holds it in a variable. */
Test(link, a_kernel_is_for_what_its_unit_is_for)
{
    static const char *const texts[] = {
        HEAD KERNEL("first", "mov.u32 %r1, 1;"),
        ".version 9.0\n.target sm_80, debug\n.address_size 64\n" KERNEL("second",
                                                                        "mov.u32 %r1, 2;")};
    load(texts, 2);
    cr_assert_eq(sg_program_kernel_find(engine.program, "first")->sm, 75);
    cr_assert_eq(sg_program_kernel_find(engine.program, "second")->sm, 80);
    cr_assert_eq(sg_program_target(engine.program).sm, 80);
    engine_close(&engine);
}

Test(link, addresses_of_functions_of_other_units)
{
    static const char *const texts[] = {
        HEAD DECLARE("seven") ".extern .global .u64 held;\n" KERNEL(
            "first",
            "mov.u64 %rd2, seven;\nld.global.u64 %rd3, [held];\nsub.u64 %rd3, %rd3, %rd2;\n"
            "cvt.u32.u64 %r2, %rd3;\n{ .param .b32 r; p: .callprototype (.param .b32 _) _ "
            "();\ncall (r), %rd2, (), p; ld.param.b32 %r1, [r]; }\nadd.u32 %r1, %r1, %r2;"),
        HEAD DECLARE("seven") ".visible .global .u64 held = seven;\n",
        HEAD FUNC(".weak", "seven", "8") FUNC("", "other", "9"),
        HEAD FUNC(".visible", "seven", "7"),
    };
    load(texts, 4);
    cr_assert_eq(run("first"), 7);
    engine_close(&engine);
}

Test(link, functions_at_given_addresses)
{
    static const char text[] = HEAD KERNEL("first", "mov.u32 %r1, 1;");
    const struct sg_unit unit = {.text = text, .bytes = sizeof text};
    struct sg_program *program, *other = NULL;
    uint64_t bytes, same, base;
    cr_assert_eq(sg_program_link(&unit, 1, NULL, &program), SG_LOAD_OK);
    base = sg_program_code(program, &bytes);
    cr_assert(base != 0 && bytes != 0);
    cr_assert_eq(sg_program_link_at(&unit, 1, base, NULL, &other), SG_LOAD_OCCUPIED);
    cr_assert_eq(sg_program_link_at(&unit, 1, base + 16, NULL, &other), SG_LOAD_MISPLACED);
    cr_assert_eq(sg_program_link_at(&unit, 1, 16, NULL, &other), SG_LOAD_MISPLACED);
    cr_assert_null(other);
    sg_program_destroy(program);
    cr_assert_eq(sg_program_link_at(&unit, 1, base, NULL, &program), SG_LOAD_OK);
    cr_assert_eq(sg_program_code(program, &same), base);
    cr_assert_eq(sg_program_link(&unit, 1, NULL, &other), SG_LOAD_OK);
    cr_assert_gt(sg_program_code(other, &same), base);
    sg_program_destroy(other);
    /* A refused program gives the addresses back. */
    const struct sg_unit wrong = {.text = "wrong", .bytes = 5};
    cr_assert_eq(sg_program_link_at(&wrong, 1, base + 9 * bytes, NULL, &other), SG_LOAD_SYNTAX);
    cr_assert_eq(sg_program_link_at(&unit, 1, base + 9 * bytes, NULL, &other), SG_LOAD_OK);
    sg_program_destroy(other);
    sg_program_destroy(program);
}
