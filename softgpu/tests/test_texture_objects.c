/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects in kernels: wrong handles, memory that is gone, many in one warp,
 * queries; where results go, and results in half precision. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/engine/texture_objects.h"
#include "softgpu/tests/object_fixture.h"

TestSuite(objects, .init = open, .fini = shut);

static void expect_fault(enum sg_fault_code code, unsigned thread)
{
    cr_assert_eq(engine.fault.code, code, "%s: %s", sg_fault_name(engine.fault.code),
                 engine.fault.text);
    cr_assert_eq(engine.fault.thread[0], thread);
    cr_assert_neq(engine.fault.line, 0);
}

/* Zero, one that never was, one of another context, one of another kind, one that is gone. */
Test(objects, wrong_handles_fault)
{
    static const char *const bodies[] = {
        "tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%x, %y}];",
        "tld4.r.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%x, %y}];",
        "txq.width.b32 %r1, [%rd1];",
        "suld.b.2d.b32.zero %r1, [%rd1, {%x, %y}];",
        "sust.b.2d.b32.zero [%rd1, {%x, %y}], %r1;",
        "sured.b.add.2d.u32.zero [%rd1, {%x, %y}], %r1;",
        "suq.width.b32 %r1, [%rd1];",
    };
    struct sg_objects *others = sg_objects_create();
    for (unsigned i = 0; i < COUNT(bodies); i++) {
        texture_load(&engine, bodies[i]);
        struct sg_object right = surface(SG_SHAPE_2D, SG_CHANNEL_FLOAT, 1), wrong = right;
        right.kind = i < 3 ? SG_OBJECT_TEXTURE : SG_OBJECT_SURFACE;
        wrong.kind = i < 3 ? SG_OBJECT_SURFACE : SG_OBJECT_TEXTURE;
        uint64_t foreign, gone = add(&right);
        cr_assert_eq(sg_objects_add(others, &right, &foreign), GA_OK);
        cr_assert(sg_objects_remove(objects, gone));
        const uint64_t handles[] = {0, 1, UINT64_MAX, PTR(output), foreign, gone, add(&wrong)};
        for (unsigned h = 0; h < COUNT(handles); h++) {
            launch(handles[h], 1, 0, 0, 0, 0);
            expect_fault(SG_FAULT_ILLEGAL_ADDRESS, 0);
            cr_assert_eq(engine.fault.address, handles[h]);
        }
        launch(add(&right), 1, 0, 0, 0, 0);
        no_fault();
        engine.objects = NULL;
        launch(gone, 1, 0, 0, 0, 0);
        expect_fault(SG_FAULT_ILLEGAL_ADDRESS, 0);
        engine.objects = objects;
    }
    sg_objects_destroy(others);
}

/* An array that was freed while it had objects, and a texture whose memory ends too early. */
Test(objects, memory_that_is_not_there_faults)
{
    struct sg_object object = surface(SG_SHAPE_2D, SG_CHANNEL_FLOAT, 1);
    const uint64_t surface_handle = add(&object);
    object.kind = SG_OBJECT_TEXTURE;
    const uint64_t texture_handle = add(&object);
    const uint64_t base = object.texels.levels[0].base / SG_MAP_CHUNK * SG_MAP_CHUNK;
    cr_assert_eq(sg_map_set(engine.map, base, SG_MAP_CHUNK, SG_MAP_READ), GA_OK);
    texture_load(&engine, "sust.b.2d.b32.zero [%rd1, {%x, %y}], %r1;");
    launch(surface_handle, 1, 0, 0, 0, 0);
    expect_fault(SG_FAULT_ILLEGAL_ADDRESS, 0);
    cr_assert_eq(sg_map_set(engine.map, base, SG_MAP_CHUNK, 0), GA_OK);
    texture_load(&engine, "suld.b.2d.b32.zero %r1, [%rd1, {%x, %y}];");
    launch(surface_handle, 1, 0, 0, 0, 0);
    expect_fault(SG_FAULT_ILLEGAL_ADDRESS, 0);
    texture_load(&engine, "tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%x, %y}];");
    launch(texture_handle, 1, 0, 0, 0, 0);
    expect_fault(SG_FAULT_ILLEGAL_ADDRESS, 0);

    struct sg_object buffer = {.kind = SG_OBJECT_TEXTURE,
                               .texels = {.shape = SG_SHAPE_LINEAR,
                                          .channel = SG_CHANNEL_U8,
                                          .channels = 1,
                                          .layers = 1,
                                          .level_count = 1},
                               .sampler = {.read_integer = true}};
    buffer.texels.levels[0] = (struct sg_level){
        .base = PTR(engine_memory(&engine, 1)), .width = SG_MAP_CHUNK + 9, .height = 1, .depth = 1};
    texture_load(&engine, "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%x}];");
    launch(add(&buffer), 32, SG_MAP_CHUNK - 30, 1, 0, 0);
    expect_fault(SG_FAULT_ILLEGAL_ADDRESS, 30);
    launch(add(&buffer), 32, SG_MAP_CHUNK - 32, 1, 0, 0);
    no_fault();
}

Test(objects, a_cube_needs_faces)
{
    struct sg_object object = surface(SG_SHAPE_2D_LAYERED, SG_CHANNEL_FLOAT, 1);
    object.kind = SG_OBJECT_TEXTURE;
    texture_load(&engine, "tex.cube.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%x, %y, %z, %z}];");
    launch(add(&object), 1, 0, 0, 0, 0);
    expect_fault(SG_FAULT_ILLEGAL_ADDRESS, 0);
}

/* Each thread its own texture, some threads none at all: the others' registers stay. */
Test(objects, many_textures_in_one_warp)
{
    uint64_t *handles = engine_memory(&engine, sizeof(uint64_t[THREADS]));
    float first[3];
    for (unsigned i = 0; i < 3; i++) {
        struct sg_object object = surface(SG_SHAPE_1D, SG_CHANNEL_FLOAT, 1);
        object.kind = SG_OBJECT_TEXTURE;
        memcpy(&first[i], byte_at(&object, 0, 0, 0), 4);
        const uint64_t handle = add(&object);
        for (unsigned t = i; t < THREADS; t += 3) {
            handles[t] = handle;
        }
    }
    texture_load(
        &engine,
        "mul.wide.u32 %rd4, %t, 8;\nadd.u64 %rd4, %rd4, %rd1;\nld.global.u64 %rd5, [%rd4];\n"
        "and.b32 %r5, %t, 4;\nsetp.eq.u32 %p1, %r5, 0;\nsetp.eq.u32 %p2, %r5, 4;\n"
        "mov.u32 %r1, 5;\nmov.u32 %r2, 5;\n"
        "@%p1 tex.1d.v4.f32.f32 {%r1, _, _, %r2}|%p2, [%rd5, {0f00000000}];\n"
        "selp.u32 %r3, 1, 0, %p2;\nst.global.v4.u32 [%rd3], {%r1, %r2, %r3, %r3};");
    launch(PTR(handles), THREADS, 0, 0, 0, 0);
    no_fault();
    for (unsigned t = 0; t < THREADS; t++) {
        uint32_t bits;
        memcpy(&bits, &first[t % 3], 4);
        cr_assert_eq(output[t][0], t & 4 ? 5 : bits);
        cr_assert_eq(output[t][1], t & 4 ? 5 : 0x3f800000);
        cr_assert_eq(output[t][2], 1); /* all is resident */
    }
}

/* The results may go where the coordinates were. */
Test(objects, results_over_coordinates)
{
    struct sg_object object = surface(SG_SHAPE_2D, SG_CHANNEL_U8, 4);
    object.kind = SG_OBJECT_TEXTURE;
    object.sampler.read_integer = true;
    texture_load(&engine, "tex.2d.v4.u32.s32 {%y, %x, %r3, %r4}, [%rd1, {%x, %y}];\n"
                          "st.global.v4.u32 [%rd3], {%y, %x, %r3, %r4};");
    launch(add(&object), 5, 0, 1, 2, 0);
    no_fault();
    for (int t = 0; t < 5; t++) {
        for (int c = 0; c < 4; c++) {
            cr_assert_eq(output[t][c], *byte_at(&object, 4 * t + c, 2, 0));
        }
    }
}

/* By trying all of them; the last bit of the nearer one, or, between two, 0 */
static uint16_t nearest_half(float value)
{
    uint16_t best = 0x7c00;
    const double magnitude = fabs((double)value);
    if (isnan(value)) {
        return 0x7fff;
    }
    for (uint16_t bits = 0; magnitude < 65520 && bits < 0x7c00; bits++) {
        const double off = fabs(texture_half(bits) - magnitude);
        const double least = best == 0x7c00 ? 65520 : fabs(texture_half(best) - magnitude);
        best = off < least || (!(off > least) && !(bits & 1)) ? bits : best;
    }
    return (uint16_t)(best | (signbit(value) ? 0x8000 : 0));
}

Test(objects, half_precision_results)
{
    struct sg_object object = surface(SG_SHAPE_1D, SG_CHANNEL_FLOAT, 4);
    object.kind = SG_OBJECT_TEXTURE;
    const float values[] = {1.5f,  -0.1f,     65519,      65520,      1e-7f,    6e-8f,
                            2e-8f, -INFINITY, 0x1.002p0f, 0x1.006p0f, 0x1p-14f, 6.1e-5f,
                            0,     -0.0f,     1e30f,      NAN};
    memcpy(byte_at(&object, 0, 0, 0), values, sizeof values);
    texture_load(&engine, "tex.1d.v4.f16.s32 {%h1, %h2, %h3, %h4}, [%rd1, {%x}];\n"
                          "tex.1d.v2.f16x2.s32 {%r1, %r2}, [%rd1, {%x}];\n"
                          "st.global.v4.u16 [%rd3], {%h1, %h2, %h3, %h4};\n"
                          "st.global.v2.u32 [%rd3+8], {%r1, %r2};");
    launch(add(&object), 4, 0, 1, 0, 0);
    no_fault();
    for (int i = 0; i < 16; i++) {
        uint16_t bits = nearest_half(values[i]), got[2];
        memcpy(&got[0], (uint8_t *)output[i / 4] + 2 * (i % 4), 2);
        memcpy(&got[1], (uint8_t *)output[i / 4] + 8 + 2 * (i % 4), 2);
        cr_assert_eq(got[0], bits, "%g: %x, not %x", values[i], got[0], bits);
        cr_assert_eq(got[1], bits);
    }
}

static uint32_t ask(const char *query, const struct sg_object *object)
{
    char body[256];
    snprintf(body, sizeof body, "%s\nst.global.u32 [%%rd3], %%r1;", query);
    texture_load(&engine, body);
    launch(add(object), 1, 1, 0, 0, 0);
    no_fault();
    return output[0][0];
}

Test(objects, queries)
{
    struct sg_object t = {.kind = SG_OBJECT_TEXTURE};
    t.texels = texture_texels(&engine, SG_SHAPE_3D, SG_CHANNEL_HALF, 2, 3, &seed); /* 4 x 3 x 5 */
    t.sampler = (struct sg_sampler){
        .address = {SG_ADDRESS_CLAMP, SG_ADDRESS_MIRROR, SG_ADDRESS_BORDER}, .linear = true};
    cr_assert_eq(ask("txq.width.b32 %r1, [%rd1];", &t), 4);
    cr_assert_eq(ask("txq.height.b32 %r1, [%rd1];", &t), 3);
    cr_assert_eq(ask("txq.depth.b32 %r1, [%rd1];", &t), 5);
    cr_assert_eq(ask("txq.level.depth.b32 %r1, [%rd1], %x;", &t), 2);
    cr_assert_eq(ask("txq.level.width.b32 %r1, [%rd1], 2;", &t), 1);
    cr_assert_eq(ask("txq.level.width.b32 %r1, [%rd1], 3;", &t), 0);
    cr_assert_eq(ask("txq.num_mipmap_levels.b32 %r1, [%rd1];", &t), 3);
    cr_assert_eq(ask("txq.num_samples.b32 %r1, [%rd1];", &t), 0);
    cr_assert_eq(ask("txq.array_size.b32 %r1, [%rd1];", &t), 0);
    cr_assert_eq(ask("txq.channel_data_type.b32 %r1, [%rd1];", &t), 0x10);
    cr_assert_eq(ask("txq.normalized_coords.b32 %r1, [%rd1];", &t), 0);
    cr_assert_eq(ask("txq.filter_mode.b32 %r1, [%rd1];", &t), 1);
    cr_assert_eq(ask("txq.addr_mode_0.b32 %r1, [%rd1];", &t), 3);
    cr_assert_eq(ask("txq.addr_mode_1.b32 %r1, [%rd1];", &t), 1);
    cr_assert_eq(ask("txq.addr_mode_2.b32 %r1, [%rd1];", &t), 4);
    struct sg_object s = surface(SG_SHAPE_CUBE_LAYERED, SG_CHANNEL_U16, 4); /* 3 x 3, 2 cubes */
    s.texels.normalised = true;
    cr_assert_eq(ask("suq.width.b32 %r1, [%rd1];", &s), 3);
    cr_assert_eq(ask("suq.array_size.b32 %r1, [%rd1];", &s), 2);
    cr_assert_eq(ask("suq.channel_data_type.b32 %r1, [%rd1];", &s), 0xc5); /* UNORM_INT16X4 */
    const char *const types[] = {"istypep.texref %p1, %rd1;\nselp.u32 %r1, 1, 0, %p1;",
                                 "istypep.surfref %p1, %rd1;\nselp.u32 %r1, 1, 0, %p1;",
                                 "istypep.samplerref %p1, %rd1;\nselp.u32 %r1, 1, 0, %p1;"};
    cr_assert_eq(ask(types[0], &t), 1);
    cr_assert_eq(ask(types[1], &t), 0);
    cr_assert_eq(ask(types[2], &t), 0);
    cr_assert_eq(ask(types[0], &s), 0);
    cr_assert_eq(ask(types[1], &s), 1);
    texture_load(&engine,
                 "istypep.texref %p1, %rd1;\nselp.u32 %r1, 1, 0, %p1;\nst.global.u32 [%rd3], %r1;");
    launch(12345, 1, 0, 0, 0, 0);
    no_fault();
    cr_assert_eq(output[0][0], 0);
}
