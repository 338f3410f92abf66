/* SPDX-License-Identifier: Apache-2.0 */
/* What the variables of images take, before a driver has seen them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/session/image_variables.h"
#include "server/session/ptx_variables.h"

/* As in api/tests/images/variables.cu. Sections do not tell which variables are managed. */
#define IN_PTX  (8000 + 4000 + 400)
#define IN_CODE (IN_PTX + 8)

static struct figures figures;
static struct ledger ledger;

static enum ga_status variables_of(const void *bytes, size_t size, unsigned sm, uint64_t *found)
{
    struct api_image image;
    ledger_init(&ledger, &figures);
    cr_assert_eq(api_image_open(bytes, size, &image), GA_OK);
    enum ga_status status = image_variables(&image, sm, &ledger, found);
    cr_assert_eq(atomic_load(&figures.of[FIGURE_HOST_BYTES]), 0);
    return status;
}

static void expect_file(const char *name, unsigned sm, uint64_t due)
{
    static char bytes[1 << 20];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", IMAGES_DIR, name);
    FILE *stream = fopen(path, "rbe");
    cr_assert_not_null(stream, "%s", path);
    size_t size = fread(bytes, 1, sizeof bytes - 1, stream);
    bytes[size] = 0;
    fclose(stream);
    uint64_t found;
    cr_assert_eq(variables_of(bytes, size + 1, sm, &found), GA_OK, "%s", name);
    cr_assert_eq(found, due, "%s for %u: %llu", name, sm, (unsigned long long)found);
}

Test(image_variables, of_what_nvcc_makes)
{
    expect_file("variables.ptx", 75, IN_PTX);
    expect_file("variables_75.cubin", 75, IN_CODE);
    expect_file("variables_90.cubin", 90, IN_CODE);
    expect_file("kernels.cubin", 75, 0);
    expect_file("kernels.ptx", 75, 0);
}

Test(image_variables, of_the_part_that_the_driver_takes)
{
    static const struct {
        unsigned sm;
        uint64_t due;
    } cases[] = {{75, IN_CODE}, {80, IN_CODE}, {86, IN_CODE}, /* code for 8.0 */
                 {90, IN_CODE}, {100, IN_PTX},                /* the newest PTX */
                 {70, IN_CODE}};                              /* nothing fits: the largest */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_file("variables_many.fatbin", cases[i].sm, cases[i].due);
    }
}

static void expect_text(const char *text, uint64_t due)
{
    uint64_t found = 0;
    cr_assert_eq(ptx_variables(text, strlen(text), &found), GA_OK, "%s", text);
    cr_assert_eq(found, due, "%s: %llu", text, (unsigned long long)found);
}

Test(image_variables, of_text)
{
    expect_text(".version 7.0\n.target sm_75\n.address_size 64\n.global .u32 a;", 4);
    expect_text(".visible .global .align 16 .v4 .f32 a[3];", 48);
    expect_text(".global .u64 a, b[2], c;", 32);
    expect_text(".const .s16 a[] = {1, 2, 3};", 6);
    expect_text(".global .b8 a[][4] = {{1, 2, 3, 4}, {5}};", 8);
    expect_text(".global .f64 a[2][0x10];", 256);
    expect_text(".global .u64 a = generic(b) + 8; .global .b8 b[16];", 24);
    expect_text(".extern .global .u32 a; .global .u32 b;", 4);
    expect_text(".extern .func f (.param .u64 p); .global .u32 b;", 4);
    expect_text("// .global .u32 a;\n/* .global .u32 b; */ .file 1 \".global .u32 c;\"", 0);
    expect_text(".entry k (.param .u64 .ptr .global .align 4 p) { ld.global.u32 r, [p]; { } } "
                ".global .u32 a;",
                4);
    expect_text(".global .attribute(.managed) .align 4 .b8 a[8]; .global .b8 b;", 1);
    expect_text(".global .texref t; .global .b128 a;", 16);
    expect_text("", 0);
}

Test(image_variables, of_text_that_is_not_understood)
{
    static const char *const texts[] = {".global .u32 a[4 + 4];", ".global .u32 a[n];",
                                        ".global .u64 a[99999999999999999999999999999999];",
                                        ".global .u64 a[0xffffffff][0xffffffff];"};
    uint64_t found;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cr_assert_eq(ptx_variables(texts[i], strlen(texts[i]), &found), GA_INVALID, "%s", texts[i]);
    }
}

Test(image_variables, what_it_unpacks_is_charged)
{
    static char bytes[1 << 20];
    char path[512];
    snprintf(path, sizeof path, "%s/variables_many.fatbin", IMAGES_DIR);
    FILE *stream = fopen(path, "rbe");
    cr_assert_not_null(stream, "%s", path);
    size_t size = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    struct api_image image;
    uint64_t found;
    cr_assert_eq(api_image_open(bytes, size, &image), GA_OK);
    ledger_init(&ledger, &figures);
    ledger.most[FIGURE_HOST_BYTES] = 100;
    cr_assert_eq(image_variables(&image, 75, &ledger, &found), GA_NO_MEMORY);
    cr_assert_eq(atomic_load(&figures.of[FIGURE_HOST_BYTES]), 0);
}
