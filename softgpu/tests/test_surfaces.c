/* SPDX-License-Identifier: Apache-2.0 */
/* suld, sust, sured: every geometry, width and way to treat what is out of bounds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/object_fixture.h"

TestSuite(surfaces, .init = open, .fini = shut);

struct shape_form {
    enum sg_shape shape;
    const char *geometry, *coords;
    int y, z; /* a place that is there */
};

static const struct shape_form shapes[] = {
    {SG_SHAPE_1D, "1d", "{%x}", 0, 0},
    {SG_SHAPE_2D, "2d", "{%x, %y}", 3, 0},
    {SG_SHAPE_3D, "3d", "{%x, %y, %z, %z}", 2, 4},
    {SG_SHAPE_1D_LAYERED, "a1d", "{%z, %x}", 0, 2},
    {SG_SHAPE_2D_LAYERED, "a2d", "{%z, %x, %y, %y}", 1, 4},
    {SG_SHAPE_CUBE, "a2d", "{%z, %x, %y, %y}", 3, 5},
};

struct access_form {
    const char *suffix, *registers, *store;
    unsigned bytes;
};

static const struct access_form accesses[] = {
    {"b8", "%h1", "st.global.u8 [%rd3], %h1;", 1},
    {"b16", "%h1", "st.global.u16 [%rd3], %h1;", 2},
    {"v2.b8", "{%h1, %h2}", "st.global.v2.u8 [%rd3], {%h1, %h2};", 2},
    {"b32", "{%r1}", "st.global.u32 [%rd3], %r1;", 4},
    {"v4.b8", "{%h1, %h2, %h3, %h4}", "st.global.v4.u8 [%rd3], {%h1, %h2, %h3, %h4};", 4},
    {"v2.b32", "{%r1, %r2}", "st.global.v2.u32 [%rd3], {%r1, %r2};", 8},
    {"b64", "%rd4", "st.global.u64 [%rd3], %rd4;", 8},
    {"v4.b16", "{%h1, %h2, %h3, %h4}", "st.global.v4.u16 [%rd3], {%h1, %h2, %h3, %h4};", 8},
    {"v4.b32", "{%r1, %r2, %r3, %r4}", "st.global.v4.u32 [%rd3], {%r1, %r2, %r3, %r4};", 16},
    {"v2.b64", "{%rd4, %rd5}", "st.global.v2.u64 [%rd3], {%rd4, %rd5};", 16},
};
/* Every element of a row is read where it is; clamp and zero beyond the edges. */
Test(surfaces, loads)
{
    static const char *const bounds[] = {"trap", "clamp", "zero"};
    for (unsigned i = 0; i < COUNT(shapes) * COUNT(accesses) * 3; i++) {
        const struct shape_form *shape = &shapes[i / 3 / COUNT(accesses)];
        const struct access_form *access = &accesses[i / 3 % COUNT(accesses)];
        char body[512];
        snprintf(body, sizeof body, "suld.b.%s.%s.%s %s, [%%rd1, %s];\n%s", shape->geometry,
                 access->suffix, bounds[i % 3], access->registers, shape->coords, access->store);
        texture_load(&engine, body);
        struct sg_object object = surface(shape->shape, SG_CHANNEL_FLOAT, 4);
        const int width = (int)object.texels.levels[0].width * 16, bytes = (int)access->bytes;
        const int count = width / bytes < 30 ? width / bytes : 30, before = i % 3 ? 1 : 0;
        memset(output, 0xee, sizeof(uint32_t[THREADS][16]));
        launch(add(&object), (unsigned)(count + 2 * before), -before * bytes, bytes, shape->y,
               shape->z);
        no_fault();
        for (int t = 0; t < count + 2 * before; t++) {
            int x = (t - before) * bytes;
            const uint8_t zeros[16] = {0};
            bool outside = x < 0 || x + bytes > width;
            x = x < 0 ? 0 : x + bytes > width ? width - bytes : x;
            const void *want =
                outside && i % 3 == 2 ? zeros : byte_at(&object, x, shape->y, shape->z);
            cr_assert_eq(memcmp(output[t], want, access->bytes), 0, "%s at %d", body, t);
            cr_assert_eq(((const uint8_t *)output[t])[bytes], 0xee);
        }
    }
}

Test(surfaces, stores)
{
    for (unsigned i = 0; i < COUNT(shapes) * COUNT(accesses); i++) {
        const struct shape_form *shape = &shapes[i / COUNT(accesses)];
        const struct access_form *access = &accesses[i % COUNT(accesses)];
        char body[768];
        snprintf(body, sizeof body,
                 "mul.lo.u32 %%r1, %%t, 0x01010101;\nadd.u32 %%r2, %%r1, 1;\n"
                 "add.u32 %%r3, %%r1, 2;\nadd.u32 %%r4, %%r1, 3;\n"
                 "cvt.u16.u32 %%h1, %%r1;\ncvt.u16.u32 %%h2, %%r2;\ncvt.u16.u32 %%h3, %%r3;\n"
                 "cvt.u16.u32 %%h4, %%r4;\nmov.b64 %%rd4, {%%r1, %%r2};\n"
                 "mov.b64 %%rd5, {%%r3, %%r4};\n"
                 "sust.b.%s.%s.zero [%%rd1, %s], %s;\n%s",
                 shape->geometry, access->suffix, shape->coords, access->registers, access->store);
        texture_load(&engine, body);
        struct sg_object object = surface(shape->shape, SG_CHANNEL_FLOAT, 4);
        const int width = (int)object.texels.levels[0].width * 16, bytes = (int)access->bytes;
        uint8_t before[512];
        memcpy(before, byte_at(&object, 0, shape->y, shape->z), (size_t)width);
        launch(add(&object), THREADS, -2 * bytes, bytes, shape->y, shape->z);
        no_fault();
        for (int t = 2; t < THREADS && (t - 1) * bytes <= width; t++) {
            memcpy(before + (t - 2) * bytes, output[t], access->bytes);
        }
        cr_assert_eq(memcmp(before, byte_at(&object, 0, shape->y, shape->z), (size_t)width), 0,
                     "%s", body);
    }
}

/* x counts texels; values become what the format is. */
Test(surfaces, formatted_stores)
{
    const float values[] = {0.5f, -0.25f, 2, -2};
    const uint32_t integers[] = {300, (uint32_t)-5, 70000, (uint32_t)-40000};
    static const struct {
        enum sg_channel channel;
        bool normalised;
        uint32_t want[4];
    } cases[] = {
        {SG_CHANNEL_U8, true, {128, 0, 255, 0}},
        {SG_CHANNEL_S8, true, {64, (uint8_t)-32, 127, (uint8_t)-127}},
        {SG_CHANNEL_U16, true, {32768, 0, 65535, 0}},
        {SG_CHANNEL_S16, true, {16384, (uint16_t)-8192, 32767, (uint16_t)-32767}},
        {SG_CHANNEL_HALF, false, {0x3800, 0xb400, 0x4000, 0xc000}},
        {SG_CHANNEL_FLOAT, false, {0x3f000000, 0xbe800000, 0x40000000, 0xc0000000}},
        {SG_CHANNEL_U8, false, {255, 255, 255, 255}},
        {SG_CHANNEL_S8, false, {127, (uint8_t)-5, 127, (uint8_t)-128}},
        {SG_CHANNEL_U16, false, {300, 65535, 65535, 65535}},
        {SG_CHANNEL_S16, false, {300, (uint16_t)-5, 32767, (uint16_t)-32768}},
        {SG_CHANNEL_U32, false, {300, (uint32_t)-5, 70000, (uint32_t)-40000}},
    };
    texture_load(&engine, "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3];\n"
                          "sust.p.2d.v4.b32.trap [%rd1, {%x, %y}], {%r1, %r2, %r3, %r4};");
    for (unsigned i = 0; i < COUNT(cases); i++) {
        for (uint32_t channels = 1; channels <= 4; channels *= 2) {
            struct sg_object object = surface(SG_SHAPE_2D, cases[i].channel, channels);
            object.texels.normalised = cases[i].normalised;
            const bool floats = cases[i].normalised || cases[i].channel >= SG_CHANNEL_HALF;
            const int texel = (int)sg_texel_bytes(&object.texels);
            memcpy(output[0], floats ? (const void *)values : integers, 16);
            launch(add(&object), 1, 2, 0, 3, 0);
            no_fault();
            for (unsigned c = 0; c < channels; c++) {
                uint32_t got = 0, bytes = sg_channel_bytes(cases[i].channel);
                memcpy(&got, byte_at(&object, 2 * texel, 3, 0) + c * bytes, bytes);
                cr_assert_eq(got, cases[i].want[c], "case %u, channel %u: %x", i, c, got);
            }
        }
    }
}

Test(surfaces, reductions)
{
    static const struct {
        const char *op;
        enum sg_channel channel;
        uint64_t start, want; /* 32 threads with the values t - 16, times 2^33 if wide */
    } cases[] = {
        {"b.add.2d.u32", SG_CHANNEL_U32, 100, 100 - 16},
        {"b.add.2d.s32", SG_CHANNEL_S32, 7, (uint32_t)-9},
        {"b.min.2d.s32", SG_CHANNEL_S32, 5, (uint32_t)-16},
        {"b.max.2d.s32", SG_CHANNEL_S32, 5, 15},
        {"b.min.2d.u32", SG_CHANNEL_U32, 5, 0},
        {"b.max.2d.u32", SG_CHANNEL_U32, 5, (uint32_t)-1},
        {"b.and.2d.b32", SG_CHANNEL_U32, 0xff, 0},
        {"b.or.2d.b32", SG_CHANNEL_U32, 0x100, (uint32_t)-1},
        {"p.min.2d.b32", SG_CHANNEL_S32, 5, (uint32_t)-16},
        {"p.min.2d.b32", SG_CHANNEL_U32, 5, 0},
        {"p.add.2d.b32", SG_CHANNEL_U32, 100, 100 - 16},
    };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        const bool bytes = cases[i].op[0] == 'b';
        char body[256];
        snprintf(body, sizeof body,
                 "sub.s32 %%r2, %%t, 16;\nsured.%s.trap [%%rd1, {%%x, %%y}], %%r2;", cases[i].op);
        texture_load(&engine, body);
        struct sg_object object = surface(SG_SHAPE_2D, cases[i].channel, 1);
        uint32_t word = (uint32_t)cases[i].start;
        memcpy(byte_at(&object, 8, 1, 0), &word, 4);
        launch(add(&object), THREADS, bytes ? 8 : 2, 0, 1, 0);
        no_fault();
        memcpy(&word, byte_at(&object, 8, 1, 0), 4);
        cr_assert_eq(word, cases[i].want, "%s: %u", body, word);
    }
    texture_load(&engine, "sub.s32 %r2, %t, 16;\ncvt.s64.s32 %rd4, %r2;\nshl.b64 %rd4, %rd4, 33;\n"
                          "sured.b.min.1d.s64.trap [%rd1, {16}], %rd4;\n"
                          "sured.b.max.1d.u64.trap [%rd1, {24}], %rd4;");
    struct sg_object object = surface(SG_SHAPE_1D, SG_CHANNEL_U32, 2);
    memset(byte_at(&object, 16, 0, 0), 0, 16);
    launch(add(&object), THREADS, 0, 0, 0, 0);
    no_fault();
    int64_t got[2];
    memcpy(got, byte_at(&object, 16, 0, 0), 16);
    cr_assert_eq(got[0], -16 * (INT64_C(1) << 33));
    cr_assert_eq(got[1], -1 * (INT64_C(1) << 33));
}

static void expect_fault(enum sg_fault_code code, unsigned thread)
{
    cr_assert_eq(engine.fault.code, code, "%s: %s", sg_fault_name(engine.fault.code),
                 engine.fault.text);
    cr_assert_eq(engine.fault.thread[0], thread);
    cr_assert_neq(engine.fault.line, 0);
}

Test(surfaces, out_of_bounds_traps)
{
    struct sg_object object = surface(SG_SHAPE_2D_LAYERED, SG_CHANNEL_FLOAT, 1); /* 3 x 4, 5 */
    const uint64_t handle = add(&object);
    for (int is_store = 0; is_store < 2; is_store++) {
        texture_load(&engine, is_store ? "sust.b.a2d.b32.trap [%rd1, {%z, %x, %y, %y}], %x;"
                                       : "suld.b.a2d.b32.trap %r1, [%rd1, {%z, %x, %y, %y}];");
        launch(handle, 3, 0, 4, 3, 4);
        no_fault();
        launch(handle, 4, 0, 4, 3, 4);
        expect_fault(SG_FAULT_TRAP, 3);
        launch(handle, 1, -4, 4, 3, 4);
        expect_fault(SG_FAULT_TRAP, 0);
        launch(handle, 1, 0, 4, 4, 4);
        expect_fault(SG_FAULT_TRAP, 0);
        launch(handle, 1, 0, 4, -1, 4);
        expect_fault(SG_FAULT_TRAP, 0);
        launch(handle, 1, 0, 4, 0, 5);
        expect_fault(SG_FAULT_TRAP, 0);
        launch(handle, 1, INT32_MAX - 3, 4, INT32_MAX, -1);
        expect_fault(SG_FAULT_TRAP, 0);
        launch(handle, 2, 0, 2, 0, 0);
        expect_fault(SG_FAULT_MISALIGNED, 1);
    }
}
