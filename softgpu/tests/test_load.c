/* SPDX-License-Identifier: Apache-2.0 */
/* Loading: which modules are refused, with which message and place; and the properties of programs.
 * */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/tests/engine_fixture.h"

#define HEAD ".version 9.0\n.target sm_75\n.address_size 64\n"
#define BODY(text)                                                                                 \
    HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n"              \
         ".reg .b64 %rd<9>;\n.reg .f32 %f<4>;\n.reg .b16 %rs<3>;\n" text "\nret;\n}\n"
#define LINE "line 11, column " /* where the text of BODY begins */

static enum sg_load_result load(const char *text, char *messages, size_t size)
{
    struct sg_log log = {messages, size, 0};
    struct sg_program *program = NULL;
    enum sg_load_result rc = sg_program_load(text, strlen(text), &log, &program);
    sg_program_destroy(program);
    return rc;
}

struct refusal {
    const char *text;
    enum sg_load_result result;
    const char *message;
};

static const struct refusal refusals[] = {
    {"", SG_LOAD_SYNTAX, "line 1, column 1: error: '.version' expected, the text ends here\n"},
    {"ELF", SG_LOAD_SYNTAX, "line 1, column 1: error: '.version' expected, found 'ELF'\n"},
    {".version 9.0\n\x01", SG_LOAD_SYNTAX, "line 2, column 1: error: stray byte 0x01\n"},
    {HEAD ".visible .entry k(", SG_LOAD_SYNTAX,
     "line 4, column 19: error: '.param' expected, the text ends here\n"},
    {HEAD "/* open", SG_LOAD_SYNTAX, "line 4, column 1: error: comment without end\n"},
    {HEAD ".global .samplerref t;", SG_LOAD_UNSUPPORTED,
     "line 4, column 9: error: '.samplerref' in a declaration is not supported\n"},
    {HEAD ".global .texref t[2];", SG_LOAD_UNSUPPORTED,
     "line 4, column 17: error: texture and surface references are supported as single .global "
     "variables, without initialisers\n"},
    {HEAD ".global .texref t = {filter_mode = nearest};", SG_LOAD_UNSUPPORTED,
     "line 4, column 17: error: texture and surface references are supported as single .global "
     "variables, without initialisers\n"},
    {HEAD ".global .u32 x[2] = {1, 2, 3};", SG_LOAD_SYNTAX,
     "line 4, column 28: error: more initialisers than elements\n"},
    {HEAD ".global .u32 x; .global .u32 x;", SG_LOAD_SYNTAX,
     "line 4, column 30: error: 'x' is declared twice\n"},
    {BODY("frobnicate.u32 %r1, %r2;"), SG_LOAD_SYNTAX,
     LINE "1: error: 'frobnicate' is no instruction\n"},
    {BODY("tex.2dms.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd1, {%r1, %r2, %r1, %r1}];"),
     SG_LOAD_UNSUPPORTED,
     LINE "1: error: instruction 'tex.2dms.v4.f32.s32' is not supported in this form\n"},
    {BODY("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, %rd2, {%f1}];"), SG_LOAD_UNSUPPORTED,
     LINE "1: error: instruction 'tex.1d.v4.f32.f32' is not supported in this form\n"},
    {BODY("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%f1}], %f2;"), SG_LOAD_UNSUPPORTED,
     LINE "1: error: instruction 'tex.1d.v4.f32.f32' is not supported in this form\n"},
    {BODY("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f1}, [%rd1, {%f1}];"), SG_LOAD_SYNTAX,
     LINE "1: error: a vector of the wrong length in 'tex.2d.v4.f32.f32'\n"},
    {BODY("ld.global.u32 %r1, [%rd1, {%r2}];"), SG_LOAD_SYNTAX,
     LINE "1: error: an address in brackets must stand here in 'ld.global.u32'\n"},
    {BODY("mov.b64 {%r1, %r2}|%p1, %rd1;"), SG_LOAD_SYNTAX,
     LINE "20: error: '|' after a list that cannot have one\n"},
    {BODY("suld.p.1d.v4.b32.trap {%r1, %r2, %r3, %r1}, [%rd1, {%r1}];"), SG_LOAD_UNSUPPORTED,
     LINE "1: error: instruction 'suld.p.1d.v4.b32.trap' is not supported in this form\n"},
    {BODY("txq.channel_order.b32 %r1, [%rd1];"), SG_LOAD_UNSUPPORTED,
     LINE "1: error: instruction 'txq.channel_order.b32' is not supported in this form\n"},
    {BODY("  add.f32x2 %r1, %r2, %r3;"), SG_LOAD_UNSUPPORTED,
     LINE "3: error: instruction 'add.f32x2' is not supported in this form\n"},
    {BODY("@%p1 tcgen05.fence %r1;"), SG_LOAD_UNSUPPORTED,
     LINE "6: error: instruction 'tcgen05.fence' is not supported\n"},
    {BODY("add.u32 %r1, %r2;"), SG_LOAD_SYNTAX,
     LINE "1: error: the wrong number of operands in 'add.u32'\n"},
    {BODY("add.u32 %r1, %r2, %rd3;"), SG_LOAD_SYNTAX,
     LINE "1: error: a register of the wrong size in 'add.u32'\n"},
    {BODY("add.u32 %r1, %r2, %r99;"), SG_LOAD_UNSUPPORTED,
     LINE "19: error: special register '%r99' is unknown or not supported\n"},
    {BODY("add.u32 %r1, %r2, nothing;"), SG_LOAD_SYNTAX,
     LINE "19: error: unknown name 'nothing'\n"},
    {BODY("add.u32 %r1, %r2, %r3"), SG_LOAD_SYNTAX,
     "line 12, column 1: error: ';' expected, found 'ret'\n"},
    {BODY("bra nowhere;"), SG_LOAD_SYNTAX, LINE "5: error: unknown label 'nowhere'\n"},
    {BODY("L: bra L; L: bra L;"), SG_LOAD_SYNTAX, LINE "11: error: 'L' is declared twice\n"},
    {BODY("@%r1 bra L; L:"), SG_LOAD_SYNTAX, LINE "2: error: '%r1' is no predicate\n"},
    {BODY("mov.u32 %r1, 99999999999999999999;"), SG_LOAD_SYNTAX,
     LINE "14: error: integer constant exceeds 64 bits\n"},
    {BODY("mov.f32 %f1, 0f123;"), SG_LOAD_SYNTAX,
     LINE "14: error: a floating-point constant needs 8 hexadecimal digits\n"},
    {BODY("mov.u32 %r1, %envreg32;"), SG_LOAD_UNSUPPORTED,
     LINE "14: error: special register '%envreg32' is unknown or not supported\n"},
    {BODY("ld.global.u128 %rd1, [%rd2];"), SG_LOAD_UNSUPPORTED,
     LINE "1: error: instruction 'ld.global.u128' is not supported in this form\n"},
    {BODY("st.const.u32 [%rd1], %r1;"), SG_LOAD_SYNTAX,
     LINE "1: error: constant memory cannot be written in 'st.const.u32'\n"},
    {BODY("call helper;"), SG_LOAD_SYNTAX, LINE "6: error: unknown name 'helper'\n"},
    {HEAD ".extern .func malloc;\n.visible .entry k() { call malloc; ret; }", SG_LOAD_SYNTAX,
     "line 5, column 23: error: function 'malloc' of the driver is declared in another way\n"},
    {HEAD ".extern .func vprintf;\n.visible .entry k() { call vprintf; ret; }", SG_LOAD_SYNTAX,
     "line 5, column 23: error: function 'vprintf' of the driver is declared in another way\n"},
    {HEAD ".extern .func other;\n.visible .entry k() { call other; ret; }", SG_LOAD_UNRESOLVED,
     "line 5, column 23: error: function 'other' is called but not defined\n"},
    {HEAD ".extern .global .u32 far;\n.visible .entry k() { .reg .u32 r; ld.global.u32 r, [far]; }",
     SG_LOAD_UNRESOLVED, "line 5, column 36: error: variable 'far' is used but not defined\n"},
    /* in no kernel's reach, and refused all the same */
    {HEAD ".func f() { .reg .b32 r; add.f32x2 r, r, r; ret; }", SG_LOAD_UNSUPPORTED,
     "line 4, column 26: error: instruction 'add.f32x2' is not supported in this form\n"},
};

Test(load, refusals_say_what_and_where)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        char messages[512];
        enum sg_load_result rc = load(refusals[i].text, messages, sizeof messages);
        cr_expect_eq(rc, refusals[i].result, "%zu: %d: %s", i, (int)rc, messages);
        cr_expect_str_eq(messages, refusals[i].message, "%zu: %s", i, messages);
    }
}

Test(load, sizes_that_no_gpu_has_are_refused)
{
    static const struct {
        const char *version, *body;
        enum sg_load_result result;
        const char *message;
    } cases[] = {
        {"8.1", ".visible .entry k(.param .b8 a[32760], .param .b32 b) { ret; }", SG_LOAD_OK, ""},
        {"8.1", ".visible .entry k(.param .b8 a[32762], .param .b32 b) { ret; }", SG_LOAD_SYNTAX,
         "kernel 'k' has more than 32764 bytes of parameters"},
        {"8.0", ".visible .entry k(.param .b8 a[4352]) { ret; }", SG_LOAD_OK, ""},
        {"8.0", ".visible .entry k(.param .b8 a[4353]) { ret; }", SG_LOAD_SYNTAX,
         "more than 4352 bytes of parameters, the most that there can be (32764 from PTX ISA 8.1"},
        {"9.0", ".visible .entry k(.param .b8 a[4294967297]) { ret; }", SG_LOAD_SYNTAX, "32764"},
        {"9.0", ".visible .func f(.param .b8 a[40000]) { ret; }", SG_LOAD_OK, ""},
        {"9.0", ".visible .entry k() { .shared .b8 s[49152]; st.shared.u8 [s], 1; ret; }",
         SG_LOAD_OK, ""},
        {"9.0", ".visible .entry k() { .shared .b8 s[49153]; st.shared.u8 [s], 1; ret; }",
         SG_LOAD_SYNTAX, "49153 bytes of static shared memory, 49152 are the most"},
        {"9.0", ".const .b8 c[65536];", SG_LOAD_OK, ""},
        {"9.0", ".const .b8 c[40000]; .const .b8 d[25537];", SG_LOAD_SYNTAX,
         "the .const variables have 65537 bytes, 65536 are the most"},
        {"9.0", ".const .b8 c[8]; .const .align 8 .b8 d[65528];", SG_LOAD_OK, ""},
        {"9.0", ".const .b8 c[9]; .const .align 8 .b8 d[65520];", SG_LOAD_OK, ""},
        {"9.0", ".const .b8 c[9]; .const .align 8 .b8 d[65521];", SG_LOAD_SYNTAX,
         "the .const variables have 65537 bytes, 65536 are the most"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256], messages[512];
        snprintf(text, sizeof text, ".version %s\n.target sm_75\n.address_size 64\n%s\n",
                 cases[i].version, cases[i].body);
        cr_expect_eq(load(text, messages, sizeof messages), cases[i].result, "%zu: %s", i,
                     messages);
        cr_expect_not_null(strstr(messages, cases[i].message), "%zu: %s", i, messages);
    }
}

Test(load, targets_and_their_options)
{
    char messages[256];
    static const char *const good[] = {"sm_75, debug", "sm_20, texmode_independent",
                                       "sm_10, map_f64_to_f32"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, ".version 9.0\n.target %s\n.address_size 64\n", good[i]);
        cr_expect_eq(load(text, messages, sizeof messages), SG_LOAD_OK, "%s", messages);
    }
    cr_expect_eq(
        load(".version 9.0\n.target sm_75, strange\n.address_size 64\n", messages, sizeof messages),
        SG_LOAD_UNSUPPORTED);
}

/* The target decides which GPUs may run a program. */
Test(load, programs_know_their_target)
{
    static const struct {
        const char *first, *second;
        struct sg_target target;
    } cases[] = {{"sm_75", "sm_60", {75, 0}},
                 {"sm_60, debug", "sm_80", {80, 0}},
                 {"sm_90a", "sm_80", {90, 90}},
                 {"sm_80", "sm_90a", {90, 90}},
                 {"sm_100f", "sm_75", {100, 100}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2][128];
        struct sg_program *program = NULL;
        for (int k = 0; k < 2; k++) {
            snprintf(text[k], sizeof text[k], ".version 9.0\n.target %s\n.address_size 64\n",
                     k ? cases[i].second : cases[i].first);
        }
        struct sg_unit units[2] = {{text[0], strlen(text[0]), NULL},
                                   {text[1], strlen(text[1]), NULL}};
        cr_assert_eq(sg_program_link(units, 2, NULL, &program), SG_LOAD_OK, "%s", cases[i].first);
        struct sg_target target = sg_program_target(program);
        cr_expect_eq(target.sm, cases[i].target.sm, "%s: %u", cases[i].first, target.sm);
        cr_expect_eq(target.only, cases[i].target.only, "%s: %u", cases[i].first, target.only);
        sg_program_destroy(program);
    }
    static const char *const bad[] = {"sm_", "sm_x", "sm_75b", "sm_90aa", "sm_99999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128], messages[256];
        snprintf(text, sizeof text, ".version 9.0\n.target %s\n.address_size 64\n", bad[i]);
        cr_expect_eq(load(text, messages, sizeof messages), SG_LOAD_UNSUPPORTED, "%s", bad[i]);
    }
}

Test(load, hostile_nesting_ends)
{
    static char text[200000];
    static const char *const openers[] = {"{", "(", "["};
    char messages[256];
    for (int k = 0; k < 3; k++) {
        strcpy(text, HEAD ".visible .entry k() {");
        if (k) {
            strcat(text, ".reg .u32 r; mov.u32 r, ");
        }
        size_t used = strlen(text);
        memset(text + used, openers[k][0], 100000);
        text[used + 100000] = '\0';
        cr_assert_eq(load(text, messages, sizeof messages), SG_LOAD_SYNTAX);
    }
}

/* Every prefix of a real module, and the module with single bytes changed, is loaded or refused. */
Test(load, damaged_modules_are_refused_not_run, .timeout = 240)
{
    char path[1024], messages[64];
    snprintf(path, sizeof path, "%s/features.ptx", SG_TEST_KERNELS);
    FILE *file = fopen(path, "rb");
    cr_assert(file);
    static char text[1 << 20], copy[1 << 20];
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    struct sg_log log = {messages, sizeof messages, 0};
    uint64_t seed = 1;
    for (size_t i = 0; i < 300; i++) {
        struct sg_program *program = NULL;
        memcpy(copy, text, bytes);
        size_t length = bytes;
        if (i % 3 == 0) {
            length = engine_random(&seed) % bytes;
        } else {
            copy[engine_random(&seed) % bytes] = (char)(i % 3 == 1 ? engine_random(&seed) : '9');
        }
        char *exact = malloc(length); /* so that ASan sees reads beyond the end */
        memcpy(exact, copy, length);
        sg_program_load(exact, length, &log, &program);
        sg_program_destroy(program);
        free(exact);
    }
}

Test(load, logs_are_cut_to_their_size)
{
    char messages[16] = "xxxxxxxxxxxxxxx";
    cr_assert_eq(load("nothing", messages, sizeof messages), SG_LOAD_SYNTAX);
    cr_assert_str_eq(messages, "line 1, column ");
    cr_assert_eq(sg_program_load("nothing", 7, NULL, NULL), SG_LOAD_SYNTAX);
}

static const char described[] =
    HEAD ".const .align 4 .b8 c[20];\n.visible .global .align 8 .u64 v[3] = {7, generic(c), c+4};\n"
         ".extern .global .u32 e;\n"
         ".visible .entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c1[20])\n"
         ".maxntid 128, 2, 1\n.minnctapersm 3\n{\n.reg .b32 %r<2>; .shared .align 8 .b8 s[100];\n"
         ".local .align 4 .b8 l[12];\nmov.u32 %r1, s; mov.u32 %r0, l;\nret;\n}\n"
         ".visible .entry k2()\n.reqntid 64\n{ ret; }\n";

Test(load, a_program_describes_itself)
{
    struct sg_program *program;
    cr_assert_eq(sg_program_load(described, sizeof described, NULL, &program), SG_LOAD_OK);
    cr_assert_eq(sg_program_kernel_count(program), 2);
    const struct sg_kernel *k = sg_program_kernel_find(program, "k");
    cr_assert_eq(k, sg_program_kernel_at(program, 0));
    cr_assert_null(sg_program_kernel_find(program, "none"));
    cr_assert_eq(k->param_count, 3);
    cr_assert(k->params[1].offset == 8 && k->params[1].size == 8 && k->params[1].align == 8);
    cr_assert(k->params[2].offset == 16 && k->params[2].size == 20 && k->params[2].align == 16);
    cr_assert_eq(k->param_bytes, 36);
    cr_assert_eq(k->shared_bytes, 100);
    cr_assert_geq(k->local_bytes, 12);
    cr_assert_eq(k->const_bytes, 20);
    cr_assert_eq(k->max_threads, 256);
    cr_assert_eq(k->min_blocks, 3);
    cr_assert(k->registers >= 1 && k->registers <= 255);
    const struct sg_kernel *k2 = sg_program_kernel_at(program, 1);
    cr_assert(k2->reqntid[0] == 64 && k2->reqntid[1] == 1 && k2->max_threads == 64);

    cr_assert_eq(sg_program_variable_count(program), 3);
    size_t at = sg_program_variable_find(program, "v");
    const struct sg_variable *v = sg_program_variable_at(program, at);
    cr_assert(v->bytes == 24 && v->align == 8 && v->space == SG_SPACE_GLOBAL && v->visible);
    cr_assert(sg_program_variable_at(program, sg_program_variable_find(program, "e"))->external);
    cr_assert_eq(sg_program_variable_find(program, "none"), SIZE_MAX);

    uint64_t memory[3] = {1, 1, 1};
    uint8_t constant[20];
    memset(constant, 9, sizeof constant);
    uint64_t addresses[3] = {PTR(constant), PTR(memory), 0};
    struct sg_image *image;
    cr_assert_eq(sg_image_create(program, addresses, &image), GA_OK);
    cr_assert(memory[0] == 7 && memory[1] == PTR(constant) && memory[2] == PTR(constant) + 4);
    cr_assert_eq(constant[19], 0);
    sg_image_destroy(image);
    addresses[1] += 4;
    cr_assert_eq(sg_image_create(program, addresses, &image), GA_INVALID);
    sg_program_destroy(program);
}

Test(load, maps_know_their_bounds)
{
    struct sg_map *map = sg_map_create();
    uint64_t at = UINT64_C(0x7f0000000000) - 3 * SG_MAP_CHUNK; /* across two leaves */
    cr_assert_eq(sg_map_set(map, at, 6 * SG_MAP_CHUNK, SG_MAP_READ | SG_MAP_WRITE), GA_OK);
    cr_assert(sg_map_allows(map, at, 6 * SG_MAP_CHUNK, SG_MAP_WRITE));
    cr_assert_not(sg_map_allows(map, at, 6 * SG_MAP_CHUNK + 1, SG_MAP_READ));
    cr_assert_not(sg_map_allows(map, at - 1, 1, SG_MAP_READ));
    cr_assert_not(sg_map_allows(map, UINT64_MAX - 2, 4, SG_MAP_READ));
    cr_assert_eq(sg_map_set(map, at, SG_MAP_CHUNK, SG_MAP_READ), GA_OK);
    cr_assert_not(sg_map_allows(map, at + SG_MAP_CHUNK - 4, 8, SG_MAP_WRITE));
    cr_assert(sg_map_allows(map, at + SG_MAP_CHUNK - 4, 8, SG_MAP_READ));
    cr_assert_eq(sg_map_set(map, at + 1, SG_MAP_CHUNK, 0), GA_INVALID);
    cr_assert_eq(sg_map_set(map, UINT64_C(1) << 47, SG_MAP_CHUNK, 1), GA_INVALID);
    cr_assert_eq(sg_map_set(map, 0, UINT64_C(1) << 47, 0), GA_OK);
    cr_assert_not(sg_map_allows(map, at, 1, SG_MAP_READ));
    sg_map_destroy(map);
}

/* Dynamic shared memory follows the static one, aligned as its declaration says. */
Test(load, dynamic_shared_memory_is_aligned_as_declared)
{
    static const struct {
        unsigned align, begins;
    } cases[] = {{1, 32}, {16, 32}, {128, 128}, {1024, 1024}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[700];
        struct engine engine;
        snprintf(text, sizeof text,
                 HEAD ".extern .shared .align %u .b8 dynamic[];\n"
                      ".visible .entry k(.param .u64 p)\n{ .reg .u64 a; .reg .u32 r;\n"
                      ".shared .align 4 .b8 fixed[20]; ld.param.u64 a, [p];\n"
                      "mov.u32 r, fixed; st.shared.u32 [r], r; mov.u32 r, dynamic;\n"
                      "st.global.u32 [a], r; ret; }\n",
                 cases[i].align);
        engine_open(&engine, 0);
        engine_load_text(&engine, text);
        uint32_t *begins = engine_memory(&engine, 4);
        ENGINE_LAUNCH(&engine, "k", 1, 1, 64, PTR(begins));
        cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
        cr_assert_eq(*begins, cases[i].begins, ".align %u: at %u", cases[i].align, *begins);
        engine_close(&engine);
    }
}
