/* SPDX-License-Identifier: Apache-2.0 */
/* tex and tld4 in all shapes, formats and modes, against the second sampler of
 * texture_fixture.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/engine/texture_objects.h"
#include "softgpu/tests/texture_fixture.h"

#define THREADS 64

static struct engine engine;
static struct sg_objects *objects;
static uint64_t seed;

static void open(void)
{
    engine_open(&engine, 1);
    objects = sg_objects_create();
    engine.objects = objects;
    seed = 42;
}

static void shut(void)
{
    engine_close(&engine);
    sg_objects_destroy(objects);
}

TestSuite(textures, .init = open, .fini = shut);

/* ---- one kernel for an instruction: words in, words out ---- */

enum { WORD_LAYER, WORD_COORD, WORD_LOD = 4, WORD_GRAD, WORD_OFFSET = 11, WORDS = 14 };

static const struct {
    const char *geometry, *coords, *offsets, *grads;
} forms[SG_SHAPES] = {
    [SG_SHAPE_LINEAR] = {"1d", "%w1", "{%w11}", "{%w5}, {%w8}"},
    [SG_SHAPE_1D] = {"1d", "{%w1}", "{%w11}", "{%w5}, {%w8}"},
    [SG_SHAPE_2D] = {"2d", "{%w1, %w2}", "{%w11, %w12}", "{%w5, %w6}, {%w8, %w9}"},
    [SG_SHAPE_3D] = {"3d", "{%w1, %w2, %w3, %w3}", "{%w11, %w12, %w13, %w13}",
                     "{%w5, %w6, %w7, %w7}, {%w8, %w9, %w10, %w10}"},
    [SG_SHAPE_1D_LAYERED] = {"a1d", "{%w0, %w1}", "{%w11}", "{%w5}, {%w8}"},
    [SG_SHAPE_2D_LAYERED] = {"a2d", "{%w0, %w1, %w2, %w2}", "{%w11, %w12}",
                             "{%w5, %w6}, {%w8, %w9}"},
    [SG_SHAPE_CUBE] = {"cube", "{%w1, %w2, %w3, %w3}", NULL,
                       "{%w5, %w6, %w7, %w7}, {%w8, %w9, %w10, %w10}"},
    [SG_SHAPE_CUBE_LAYERED] = {"acube", "{%w0, %w1, %w2, %w3}", NULL,
                               "{%w5, %w6, %w7, %w7}, {%w8, %w9, %w10, %w10}"},
};

/* opcode: with %s for the geometry */
static void load_kernel(enum sg_shape shape, const char *opcode, const char *rest)
{
    char text[4096], loads[1024] = "", name[64];
    for (int w = 0; w < WORDS; w++) {
        size_t used = strlen(loads);
        snprintf(loads + used, sizeof loads - used, "ld.global.b32 %%w%d, [%%rd2+%d];\n", w, 4 * w);
    }
    snprintf(name, sizeof name, opcode, forms[shape].geometry);
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_75\n.address_size 64\n"
             ".visible .entry k(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n"
             ".reg .b64 %%rd<6>; .reg .b32 %%w<14>; .reg .b32 %%d<4>; .reg .b32 %%r<4>;\n"
             ".reg .b16 %%h<4>;\n"
             "ld.param.u64 %%rd1, [t];\nld.param.u64 %%rd2, [in];\nld.param.u64 %%rd3, [out];\n"
             "mov.u32 %%r1, %%tid.x;\nmul.lo.u32 %%r2, %%r1, %d;\nmul.lo.u32 %%r3, %%r1, 16;\n"
             "cvt.u64.u32 %%rd4, %%r2;\nadd.u64 %%rd2, %%rd2, %%rd4;\n"
             "cvt.u64.u32 %%rd5, %%r3;\nadd.u64 %%rd3, %%rd3, %%rd5;\n%s"
             "%s {%%d0, %%d1, %%d2, %%d3}, [%%rd1, %s]%s;\n"
             "st.global.v4.b32 [%%rd3], {%%d0, %%d1, %%d2, %%d3};\nret;\n}\n",
             4 * WORDS, loads, name, forms[shape].coords, rest);
    engine_load_text(&engine, text);
}

static uint32_t (*input)[WORDS], (*output)[4];

static void buffers(void)
{
    input = engine_memory(&engine, sizeof(uint32_t[THREADS][WORDS]));
    output = engine_memory(&engine, sizeof(uint32_t[THREADS][4]));
}

static void put(unsigned thread, unsigned word, float value)
{
    memcpy(&input[thread][word], &value, sizeof value);
}

/* Coordinates: what is delicate, and multiples of 1/1024, whose products are exact. */
static float some_coord(const struct sg_object *object, unsigned thread, uint32_t size)
{
    const float n = (float)size;
    const bool normalised = object->sampler.normalised_coordinates;
    const float edges[] = {0,        -0.0f,  0.5f,     1,         nextafterf(1, 0),
                           -1e-10f,  2,      n,        n - 1,     n - .5f,
                           n + 0.5f, -0.5f,  -1,       -n,        1e10f,
                           -1e10f,   3e38f,  INFINITY, -INFINITY, NAN,
                           0.25f,    1e-30f, -0.25f,   1.5f,      -7.75f,
                           n + 9};
    const unsigned count = sizeof edges / sizeof edges[0];
    int64_t random = (int64_t)(engine_random(&seed) % 6144) - 3072;
    if (thread < count) {
        return edges[thread];
    }
    return normalised ? (float)random / 1024 : (float)random / 256;
}

static struct texture_query make_query(const struct sg_object *object, unsigned thread,
                                       bool integer)
{
    const struct sg_level *level = &object->texels.levels[0];
    const uint32_t sizes[3] = {level->width, level->height, level->depth};
    struct texture_query query = {.integer = integer,
                                  .layer = (uint32_t)(engine_random(&seed) % 9) - 1};
    input[thread][WORD_LAYER] = query.layer;
    for (unsigned a = 0; a < 3; a++) {
        unsigned pick = a == 0 ? thread : (unsigned)(engine_random(&seed) % THREADS);
        if (integer) {
            query.index[a] = (int)(engine_random(&seed) % (sizes[a] + 6)) - 3;
            query.index[a] = pick == 1 ? INT32_MAX : pick == 2 ? INT32_MIN : query.index[a];
            input[thread][WORD_COORD + a] = (uint32_t)query.index[a];
        } else {
            query.coord[a] = some_coord(object, pick, sizes[a]);
            put(thread, WORD_COORD + a, query.coord[a]);
        }
    }
    return query;
}

/* A direction: no NaN, no infinity, and sometimes two or three axes of one length */
static void make_direction(struct texture_query *query, unsigned thread)
{
    for (unsigned a = 0; a < 3; a++) {
        query->coord[a] = (float)((int64_t)(engine_random(&seed) % 33) - 16) / 8;
        put(thread, WORD_COORD + a, query->coord[a]);
    }
}

static bool is_cube(enum sg_shape shape)
{
    return shape == SG_SHAPE_CUBE || shape == SG_SHAPE_CUBE_LAYERED;
}

static uint64_t add(const struct sg_object *object)
{
    uint64_t handle;
    cr_assert_eq(sg_objects_add(objects, object, &handle), GA_OK);
    return handle;
}

static void run(uint64_t handle)
{
    ENGINE_LAUNCH(&engine, "k", 1, THREADS, 0, handle, PTR(input), PTR(output));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
}

static void check(const struct sg_object *object, const struct texture_query *query,
                  const struct texture_colour *want, unsigned thread)
{
    for (unsigned c = 0; c < 4; c++) {
        float got;
        memcpy(&got, &output[thread][c], sizeof got);
        cr_assert(texture_is(want, object, c, output[thread][c]),
                  "shape %d channel kind %d x%u modes %d %d %d linear %d normalised %d integer %d: "
                  "(%g %g %g | %d %d %d | layer %u lod %g) thread %u component %u: got %g (%x), "
                  "not %.9g",
                  object->texels.shape, object->texels.channel, object->texels.channels,
                  object->sampler.address[0], object->sampler.address[1],
                  object->sampler.address[2], object->sampler.linear,
                  object->sampler.normalised_coordinates, query->integer, query->coord[0],
                  query->coord[1], query->coord[2], query->index[0], query->index[1],
                  query->index[2], query->layer, query->lod, thread, c, got, output[thread][c],
                  want->value[c]);
    }
}

static void compare(const struct sg_object *object, bool integer)
{
    struct texture_query queries[THREADS];
    const uint64_t handle = add(object);
    for (unsigned t = 0; t < THREADS; t++) {
        queries[t] = make_query(object, t, integer);
        if (is_cube(object->texels.shape)) {
            make_direction(&queries[t], t);
        }
    }
    run(handle);
    for (unsigned t = 0; t < THREADS; t++) {
        struct texture_colour want = texture_sample(object, &queries[t]);
        check(object, &queries[t], &want, t);
    }
    cr_assert(sg_objects_remove(objects, handle));
}

/* Borders that make sense for what is read */
static void set_border(struct sg_object *object)
{
    for (unsigned c = 0; c < 4; c++) {
        const uint32_t bits = 7 + c;
        const bool integers =
            object->texels.channel < SG_CHANNEL_HALF &&
            (object->sampler.read_integer || sg_channel_bytes(object->texels.channel) == 4);
        object->sampler.border[c] = 0.25f * (float)(c + 1);
        if (integers) {
            memcpy(&object->sampler.border[c], &bits, sizeof bits);
        }
    }
}

/* Every combination of address modes on two axes, and of the other switches */
static void all_modes(struct sg_object *object)
{
    for (unsigned modes = 0; modes < 64; modes++) {
        struct sg_sampler *sampler = &object->sampler;
        const unsigned x = modes & 3, y = modes >> 2 & 3;
        sampler->address[0] = (enum sg_address_mode)x;
        sampler->address[1] = (enum sg_address_mode)y;
        sampler->address[2] = (enum sg_address_mode)((x + 2 * y) % 4);
        sampler->linear = modes >> 4 & 1;
        sampler->normalised_coordinates = modes >> 5 & 1;
        sampler->seamless = x & 1;
        set_border(object);
        compare(object, false);
    }
}

static void all_formats(enum sg_shape shape)
{
    buffers();
    load_kernel(shape, "tex.%s.v4.f32.f32", "");
    for (unsigned channel = 0; channel < SG_CHANNELS; channel++) {
        const bool small = channel < SG_CHANNEL_HALF && sg_channel_bytes(channel) < 4;
        for (unsigned kind = 0; kind < (small ? 3 : 1); kind++) {
            const uint32_t channels = 1u << (engine_random(&seed) % 3);
            struct sg_object object = {.kind = SG_OBJECT_TEXTURE};
            object.texels =
                texture_texels(&engine, shape, (enum sg_channel)channel, channels, 1, &seed);
            object.sampler.read_integer = kind == 1;
            object.texels.normalised = kind == 2;
            object.sampler.srgb = kind == 0 && channel == SG_CHANNEL_U8;
            all_modes(&object);
        }
    }
}

#define FORMATS(name, shape)                                                                       \
    Test(textures, name)                                                                           \
    {                                                                                              \
        all_formats(shape);                                                                        \
    }
FORMATS(formats_1d, SG_SHAPE_1D)
FORMATS(formats_2d, SG_SHAPE_2D)
FORMATS(formats_3d, SG_SHAPE_3D)
FORMATS(formats_a1d, SG_SHAPE_1D_LAYERED)
FORMATS(formats_a2d, SG_SHAPE_2D_LAYERED)
FORMATS(formats_cube, SG_SHAPE_CUBE)
FORMATS(formats_acube, SG_SHAPE_CUBE_LAYERED)

/* 1, 2 and 4 channels of everything, read as integers and at integer coordinates */
Test(textures, integer_coordinates)
{
    static const enum sg_shape shapes[] = {SG_SHAPE_LINEAR,     SG_SHAPE_1D,
                                           SG_SHAPE_2D,         SG_SHAPE_3D,
                                           SG_SHAPE_1D_LAYERED, SG_SHAPE_2D_LAYERED};
    buffers();
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        load_kernel(shapes[i], "tex.%s.v4.u32.s32", "");
        for (unsigned kind = 0; kind < SG_CHANNELS * 3; kind++) {
            struct sg_object object = {.kind = SG_OBJECT_TEXTURE};
            object.texels = texture_texels(&engine, shapes[i], (enum sg_channel)(kind / 3),
                                           1u << kind % 3, 1, &seed);
            object.sampler.read_integer = true;
            object.sampler.linear = kind % 2;
            object.sampler.normalised_coordinates = kind % 5 == 0;
            compare(&object, true);
        }
    }
}

/* Linear memory with a float coordinate: texel floor(x), nothing else applies. */
Test(textures, linear_memory_with_float_coordinates)
{
    buffers();
    load_kernel(SG_SHAPE_LINEAR, "tex.%s.v4.f32.f32", "");
    struct sg_object object = {.kind = SG_OBJECT_TEXTURE};
    object.texels = texture_texels(&engine, SG_SHAPE_LINEAR, SG_CHANNEL_FLOAT, 2, 1, &seed);
    object.sampler.linear = true;
    compare(&object, false);
}

Test(textures, offsets)
{
    static const enum sg_shape shapes[] = {SG_SHAPE_1D, SG_SHAPE_2D, SG_SHAPE_3D,
                                           SG_SHAPE_1D_LAYERED, SG_SHAPE_2D_LAYERED};
    buffers();
    for (unsigned i = 0; i < 10; i++) {
        const enum sg_shape shape = shapes[i / 2];
        char rest[80];
        const bool integer = i % 2;
        snprintf(rest, sizeof rest, ", %s", forms[shape].offsets);
        load_kernel(shape, integer ? "tex.%s.v4.s32.s32" : "tex.%s.v4.s32.f32", rest);
        struct sg_object object = {.kind = SG_OBJECT_TEXTURE};
        object.texels = texture_texels(&engine, shape, SG_CHANNEL_FLOAT, 1, 1, &seed);
        for (unsigned modes = 0; modes < 16; modes++) {
            struct texture_query queries[THREADS];
            for (unsigned a = 0; a < 3; a++) {
                object.sampler.address[a] = (enum sg_address_mode)((modes + a) & 3);
            }
            object.sampler.linear = modes >> 2 & 1;
            object.sampler.normalised_coordinates = modes >> 3 & 1;
            for (unsigned t = 0; t < THREADS; t++) {
                queries[t] = make_query(&object, t, integer);
                for (unsigned a = 0; a < 3; a++) {
                    queries[t].offset[a] = (int)(engine_random(&seed) % 16) - 8;
                    input[t][WORD_OFFSET + a] = (uint32_t)queries[t].offset[a];
                }
            }
            run(add(&object));
            for (unsigned t = 0; t < THREADS; t++) {
                struct texture_colour want = texture_sample(&object, &queries[t]);
                check(&object, &queries[t], &want, t);
            }
        }
    }
}

static void one_lod(const struct sg_object *object, bool integer)
{
    struct texture_query queries[THREADS];
    const float lods[] = {0, -1, 0.5f, 1, 1.5f, 0.499f, 2.25f, 7, INFINITY, -INFINITY, NAN, 1.75f};
    for (unsigned t = 0; t < THREADS; t++) {
        queries[t] = make_query(object, t, integer);
        if (is_cube(object->texels.shape)) {
            make_direction(&queries[t], t);
        }
        queries[t].lod = integer ? (float)(t % 5) - 1 : lods[t % 12];
        put(t, WORD_LOD, queries[t].lod);
        if (integer) {
            input[t][WORD_LOD] = t % 5 - 1;
        }
    }
    run(add(object));
    for (unsigned t = 0; t < THREADS; t++) {
        struct texture_colour want = texture_sample(object, &queries[t]);
        check(object, &queries[t], &want, t);
    }
}

Test(textures, levels)
{
    buffers();
    for (unsigned i = SG_SHAPE_1D; i < SG_SHAPES * 2; i++) {
        const enum sg_shape shape = (enum sg_shape)(i % SG_SHAPES);
        const bool integer = i >= SG_SHAPES;
        if (shape == SG_SHAPE_LINEAR || (integer && is_cube(shape))) {
            continue;
        }
        load_kernel(shape, integer ? "tex.level.%s.v4.f32.s32" : "tex.level.%s.v4.f32.f32",
                    ", %w4");
        struct sg_object object = {.kind = SG_OBJECT_TEXTURE};
        object.texels = texture_texels(&engine, shape, SG_CHANNEL_FLOAT, 2, 3, &seed);
        object.sampler = (struct sg_sampler){.normalised_coordinates = true, .mip_max = 3};
        for (unsigned modes = 0; modes < 8; modes++) {
            object.sampler.linear = modes & 1;
            object.sampler.mip_linear = modes >> 1 & 1;
            object.sampler.mip_bias = modes & 4 ? 0.5f : 0;
            object.sampler.mip_min = modes & 4 ? 0.25f : 0;
            object.sampler.mip_max = modes & 4 ? 1.75f : 3;
            one_lod(&object, integer);
        }
    }
}

/* The level is log2 of how many texels the larger step covers. */
Test(textures, gradients)
{
    buffers();
    for (unsigned shape = SG_SHAPE_1D; shape < SG_SHAPES; shape++) {
        char rest[120];
        struct texture_query queries[THREADS];
        snprintf(rest, sizeof rest, ", %s", forms[shape].grads);
        load_kernel((enum sg_shape)shape, "tex.grad.%s.v4.f32.f32", rest);
        struct sg_object object = {.kind = SG_OBJECT_TEXTURE};
        object.texels =
            texture_texels(&engine, (enum sg_shape)shape, SG_CHANNEL_FLOAT, 1, 3, &seed);
        object.sampler =
            (struct sg_sampler){.normalised_coordinates = true, .linear = true, .mip_max = 9};
        for (unsigned t = 0; t < THREADS; t++) {
            const float width = (float)object.texels.levels[0].width;
            const float step = exp2f((float)(t % 5) - 1.25f); /* texels */
            queries[t] = make_query(&object, t, false);
            memset(&input[t][WORD_GRAD], 0, 24);
            queries[t].lod = log2f(step);
            put(t, WORD_GRAD + (t & 1 ? 3 : 0), step / width);
            if (is_cube((enum sg_shape)shape)) { /* at +z, where a step of 2 crosses the face */
                const float z[3] = {0.125f, -0.25f, 1};
                for (unsigned a = 0; a < 3; a++) {
                    queries[t].coord[a] = z[a];
                    put(t, WORD_COORD + a, z[a]);
                }
                put(t, WORD_GRAD + (t & 1 ? 3 : 0), 2 * step / width);
            }
        }
        run(add(&object));
        for (unsigned t = 0; t < THREADS; t++) {
            struct texture_colour want = texture_sample(&object, &queries[t]);
            check(&object, &queries[t], &want, t);
        }
    }
}

Test(textures, gathers)
{
    static const enum sg_shape shapes[] = {SG_SHAPE_2D, SG_SHAPE_2D_LAYERED, SG_SHAPE_CUBE,
                                           SG_SHAPE_CUBE_LAYERED};
    static const char *const opcodes[] = {"tld4.r.%s.v4.f32.f32", "tld4.g.%s.v4.u32.f32",
                                          "tld4.b.%s.v4.s32.f32", "tld4.a.%s.v4.f32.f32"};
    buffers();
    for (unsigned i = 0; i < 16; i++) {
        load_kernel(shapes[i / 4], opcodes[i % 4], "");
        for (unsigned modes = 0; modes < 24; modes++) {
            struct sg_object object = {.kind = SG_OBJECT_TEXTURE};
            struct texture_query queries[THREADS];
            object.texels =
                texture_texels(&engine, shapes[i / 4], modes & 1 ? SG_CHANNEL_U8 : SG_CHANNEL_FLOAT,
                               1u << modes % 3, 1, &seed);
            object.sampler.read_integer = modes & 2;
            object.sampler.address[0] = (enum sg_address_mode)(modes >> 1 & 3);
            object.sampler.address[1] = (enum sg_address_mode)(modes >> 2 & 3);
            object.sampler.normalised_coordinates = modes >> 3 & 1;
            set_border(&object);
            for (unsigned t = 0; t < THREADS; t++) {
                queries[t] = make_query(&object, t, false);
                if (is_cube(shapes[i / 4])) {
                    make_direction(&queries[t], t);
                }
            }
            run(add(&object));
            for (unsigned t = 0; t < THREADS; t++) {
                struct texture_colour want = texture_gather(&object, &queries[t], i % 4);
                check(&object, &queries[t], &want, t);
            }
        }
    }
}
