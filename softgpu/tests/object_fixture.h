/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture of tests of texture and surface objects: an engine with a table of objects, and
 * kernels "k" of texture_load() whose threads have 64 bytes of output each. */
#ifndef SG_TESTS_OBJECT_FIXTURE_H
#define SG_TESTS_OBJECT_FIXTURE_H

#include <criterion/criterion.h>

#include "softgpu/tests/texture_fixture.h"

#define THREADS     32
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static struct engine engine;
static struct sg_objects *objects;
static uint64_t seed;
static uint32_t (*output)[16];

static void open(void)
{
    engine_open(&engine, 1);
    objects = sg_objects_create();
    engine.objects = objects;
    output = engine_memory(&engine, sizeof(uint32_t[THREADS][16]));
    seed = 7;
}

static void shut(void)
{
    engine_close(&engine);
    sg_objects_destroy(objects);
}

static void launch(uint64_t handle, unsigned threads, int x0, int step, int y, int z)
{
    ENGINE_LAUNCH(&engine, "k", 1, threads, 0, handle, PTR(output), (uint32_t)x0, (uint32_t)step,
                  (uint32_t)y, (uint32_t)z);
}

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
}

static struct sg_object surface(enum sg_shape shape, enum sg_channel channel, uint32_t channels)
{
    struct sg_object object = {.kind = SG_OBJECT_SURFACE};
    object.texels = texture_texels(&engine, shape, channel, channels, 1, &seed);
    return object;
}

static uint64_t add(const struct sg_object *object)
{
    uint64_t handle;
    cr_assert_eq(sg_objects_add(objects, object, &handle), GA_OK);
    return handle;
}

/* Byte `x` of row `y` of slice `z` */
static uint8_t *byte_at(const struct sg_object *object, int x, int y, int z)
{
    const struct sg_level *level = &object->texels.levels[0];
    return (uint8_t *)(uintptr_t)level->base + x + y * (int)level->row_bytes +
           z * (int)level->slice_bytes;
}

#endif
