/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the variables of images, before a driver has seen them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/image/image_variables.h"
#include "server/image/ptx_variables.h"

/* As in api/tests/images/variables.cu, each in units of 512 bytes; in machine code all together. */
#define IN_PTX  (8192 + 4096 + 512 + 512)
#define IN_CODE 12800 /* 8000 + 4000 + 400 + 8, which is rounded up */

static struct figures figures;
static struct ledger ledger;

static enum ga_status variables_of(const void *bytes, size_t size, struct image_reader reader,
                                   struct image_memory *found)
{
    struct api_image image;
    reader.ledger = &ledger;
    ledger_init(&ledger, &figures);
    cr_assert_eq(api_image_open(bytes, size, &image), GA_OK);
    enum ga_status status = image_variables(&image, &reader, found);
    cr_assert_eq(atomic_load(&figures.of[FIGURE_HOST_BYTES]), 0);
    return status;
}

static struct image_memory memory_of(const char *name, struct image_reader reader)
{
    static char bytes[1 << 20];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", IMAGES_DIR, name);
    FILE *stream = fopen(path, "rbe");
    cr_assert_not_null(stream, "%s", path);
    size_t size = fread(bytes, 1, sizeof bytes - 1, stream);
    bytes[size] = 0;
    fclose(stream);
    struct image_memory found;
    cr_assert_eq(variables_of(bytes, size + 1, reader, &found), GA_OK, "%s", name);
    return found;
}

static void expect_file(const char *name, unsigned sm, uint64_t due)
{
    struct image_memory found = memory_of(name, (struct image_reader){.sm = sm});
    cr_assert_eq(found.variables, due, "%s for %u: %llu", name, sm,
                 (unsigned long long)found.variables);
    cr_assert(found.code != 0 && found.code < 64 << 10, "%s: %llu bytes of code", name,
              (unsigned long long)found.code);
    cr_assert(!found.heap);
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
                 {70, IN_PTX}};                               /* nothing fits: the largest */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_file("variables_many.fatbin", cases[i].sm, cases[i].due);
    }
}

Test(image_variables, of_a_gpu_that_runs_no_machine_code)
{
    struct image_reader reader = {.sm = 75, .ptx_only = true};
    cr_assert_eq(memory_of("variables_many.fatbin", reader).variables, IN_PTX);
    cr_assert_eq(memory_of("variables_75.cubin", reader).variables, 0);
}

static void expect_read(const char *text, uint64_t due, bool heap_due)
{
    uint64_t found = 0;
    bool heap;
    cr_assert_eq(ptx_variables(text, strlen(text), &found, &heap), GA_OK, "%s", text);
    cr_assert_eq(found, due, "%s: %llu", text, (unsigned long long)found);
    cr_assert_eq(heap, heap_due, "%s", text);
}

/* `due`: units of 512 bytes. */
static void expect_text(const char *text, uint64_t due)
{
    expect_read(text, 512 * due, false);
}

Test(image_variables, of_text)
{
    expect_text(".version 7.0\n.target sm_75\n.address_size 64\n.global .u32 a;", 1);
    expect_text(".visible .global .align 16 .v4 .f32 a[30];", 1);
    expect_text(".visible .global .align 16 .v4 .f32 a[33];", 2);
    expect_text(".global .u64 a, b[65], c;", 4);
    expect_text(".const .s16 a[] = {1, 2, 3};", 1);
    expect_text(".global .b8 a[][400] = {{1, 2, 3, 4}, {5}};", 2);
    expect_text(".global .f64 a[20][0x10];", 5);
    expect_text(".global .u64 a = generic(b) + 8; .global .b8 b[16];", 2);
    expect_text(".extern .global .u32 a; .global .u32 b;", 1);
    expect_text(".extern .func f (.param .u64 p); .global .u32 b;", 1);
    expect_text("// .global .u32 a;\n/* .global .u32 b; */ .file 1 \".global .u32 c;\"", 0);
    expect_text(".entry k (.param .u64 .ptr .global .align 4 p) { ld.global.u32 r, [p]; { } } "
                ".global .u32 a;",
                1);
    expect_text(".global .attribute(.managed) .align 4 .b8 a[1025]; .global .b8 b;", 4);
    expect_text(".global .texref t; .global .b128 a;", 1);
    expect_text(".global .b8 a[1048577];", 4096); /* a chunk of its own */
    expect_text("", 0);
}

Test(image_variables, of_text_that_uses_the_heap)
{
    expect_read(".extern .func (.param .b64 r) malloc (.param .b64 n);", 0, true);
    expect_read(".extern .func free (.param .b64 p);", 0, true);
    expect_read(".extern .func (.param .b64 r) __cuda_syscall_aligned_malloc (.param .b64 n);", 0,
                true);
    expect_read(".extern .func (.param .b32 r) __cudaCDP2Free (.param .b64 p);", 0, true);
    expect_read(".global .b32 malloc; .entry k () { call free; } .func f () { ret; }", 512, false);
}

Test(image_variables, of_text_that_is_not_understood)
{
    static const char *const texts[] = {".global .u32 a[4 + 4];", ".global .u32 a[n];",
                                        ".global .u64 a[99999999999999999999999999999999];",
                                        ".global .u64 a[0xffffffff][0xffffffff];"};
    uint64_t found;
    bool heap;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cr_assert_eq(ptx_variables(texts[i], strlen(texts[i]), &found, &heap), GA_INVALID, "%s",
                     texts[i]);
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
    struct image_memory found;
    const struct image_reader reader = {.sm = 75, .ledger = &ledger};
    cr_assert_eq(api_image_open(bytes, size, &image), GA_OK);
    ledger_init(&ledger, &figures);
    ledger.most[FIGURE_HOST_BYTES] = 100;
    cr_assert_eq(image_variables(&image, &reader, &found), GA_NO_MEMORY);
    cr_assert_eq(atomic_load(&figures.of[FIGURE_HOST_BYTES]), 0);
}
