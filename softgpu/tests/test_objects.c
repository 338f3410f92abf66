/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects by handle; where levels lie. */
#include <criterion/criterion.h>

#include "softgpu/engine/texture.h"
#include "softgpu/engine/texture_objects.h"

static struct sg_object texture_2d(uint32_t width, uint32_t height)
{
    struct sg_object object = {.kind = SG_OBJECT_TEXTURE,
                               .texels = {.shape = SG_SHAPE_2D,
                                          .channel = SG_CHANNEL_FLOAT,
                                          .channels = 1,
                                          .layers = 1,
                                          .level_count = 1}};
    sg_texels_layout(&object.texels, width, height, 1);
    return object;
}

Test(objects, handles_are_found_and_never_come_again)
{
    struct sg_objects *objects = sg_objects_create(), *others = sg_objects_create();
    struct sg_object object = texture_2d(4, 4);
    uint64_t first, second, foreign;
    cr_assert_eq(sg_objects_add(objects, &object, &first), GA_OK);
    cr_assert_eq(sg_objects_add(others, &object, &foreign), GA_OK);
    cr_assert_neq(first, 0);
    cr_assert_neq(first, foreign);
    cr_assert_eq(sg_objects_find(objects, first)->handle, first);
    cr_assert_eq(sg_objects_find(objects, first)->texels.levels[0].width, 4);
    cr_assert_null(sg_objects_find(objects, foreign));
    cr_assert_null(sg_objects_find(objects, 0));
    cr_assert_null(sg_objects_find(objects, UINT64_MAX));
    cr_assert_null(sg_objects_find(NULL, first));
    cr_assert(sg_objects_remove(objects, first));
    cr_assert_not(sg_objects_remove(objects, first));
    cr_assert_not(sg_objects_remove(objects, foreign));
    cr_assert_null(sg_objects_find(objects, first));
    cr_assert_eq(sg_objects_add(objects, &object, &second), GA_OK);
    cr_assert_neq(first, second);
    cr_assert_null(sg_objects_find(objects, first));
    sg_objects_destroy(objects);
    sg_objects_destroy(others);
}

/* An object that a kernel has found stays as long as the kernel runs (AddressSanitizer checks). */
Test(objects, removed_ones_stay_while_there_are_users)
{
    struct sg_objects *objects = sg_objects_create();
    struct sg_object object = texture_2d(7, 4);
    uint64_t handle, other;
    cr_assert_eq(sg_objects_add(objects, &object, &handle), GA_OK);
    sg_objects_use(objects);
    const struct sg_object *found = sg_objects_find(objects, handle);
    cr_assert(sg_objects_remove(objects, handle));
    cr_assert_eq(sg_objects_add(objects, &object, &other), GA_OK);
    cr_assert_eq(found->texels.levels[0].width, 7);
    sg_objects_leave(objects);
    cr_assert(sg_objects_remove(objects, other));
    sg_objects_destroy(objects);
}

Test(objects, many)
{
    enum { N = 5000 };
    static uint64_t handles[N];
    struct sg_objects *objects = sg_objects_create();
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < N; i++) {
            struct sg_object object = texture_2d(i + 1, 1);
            cr_assert_eq(sg_objects_add(objects, &object, &handles[i]), GA_OK);
        }
        for (uint32_t i = 0; i < N; i++) {
            cr_assert_eq(sg_objects_find(objects, handles[i])->texels.levels[0].width, i + 1);
        }
        for (uint32_t i = round; i < N; i++) {
            cr_assert(sg_objects_remove(objects, handles[i]));
        }
    }
    sg_objects_destroy(objects);
}

Test(objects, layout)
{
    struct sg_texels t = {.shape = SG_SHAPE_CUBE,
                          .channel = SG_CHANNEL_U8,
                          .channels = 4,
                          .layers = 6,
                          .level_count = sg_levels_of(9, 9, 1)};
    cr_assert_eq(t.level_count, 4);
    uint64_t bytes = sg_texels_layout(&t, 9, 9, 1);
    cr_assert_eq(t.levels[0].row_bytes, 48);
    cr_assert_eq(t.levels[0].slice_bytes, 48 * 9);
    cr_assert_eq(t.levels[3].width, 1);
    cr_assert_eq(t.levels[3].height, 1);
    cr_assert_eq(t.levels[3].depth, 1);
    for (int i = 0; i < 4; i++) {
        const struct sg_level *level = &t.levels[i];
        uint64_t end = level->base + level->slice_bytes * 6;
        cr_assert_eq(level->base % SG_LEVEL_ALIGN, 0);
        cr_assert_leq(end, i < 3 ? t.levels[i + 1].base : bytes);
    }
    sg_texels_place(&t, 1 << 20);
    cr_assert(sg_texels_are_right(&t));
    struct sg_texels one = sg_texels_level(&t, 2);
    cr_assert_eq(one.levels[0].width, 2);
    cr_assert_eq(one.levels[0].base, t.levels[2].base);
    cr_assert_eq(sg_levels_of(131072, 3, 1), 18);
    cr_assert_eq(sg_levels_of(1, 1, 1), 1);
    cr_assert_eq(sg_levels_of(2, 1, 5), 3);
}

Test(objects, wrong_descriptions)
{
    struct sg_objects *objects = sg_objects_create();
    uint64_t handle = 42;
    struct sg_object good = texture_2d(5, 5);
#define WRONG(change)                                                                              \
    do {                                                                                           \
        struct sg_object o = good;                                                                 \
        change;                                                                                    \
        cr_assert_eq(sg_objects_add(objects, &o, &handle), GA_INVALID, #change);                   \
        cr_assert_eq(handle, 42);                                                                  \
    } while (0)
    WRONG(o.kind = 2);
    WRONG(o.texels.shape = SG_SHAPES);
    WRONG(o.texels.shape = SG_SHAPE_1D);
    WRONG(o.texels.shape = SG_SHAPE_CUBE);
    WRONG(o.texels.channel = SG_CHANNELS);
    WRONG(o.texels.channels = 3);
    WRONG(o.texels.normalised = true);
    WRONG(o.texels.layers = 0);
    WRONG(o.texels.layers = 2);
    WRONG(o.texels.level_count = 0);
    WRONG(o.texels.level_count = SG_LEVELS_MAX + 1);
    WRONG(o.texels.levels[0].width = 0);
    WRONG(o.texels.levels[0].depth = 2);
    WRONG(o.texels.levels[0].base = 2);
    WRONG(o.texels.levels[0].row_bytes = 21);
    WRONG(o.texels.levels[0].base = UINT64_C(1) << 47);
    WRONG(o.texels.levels[0].row_bytes = UINT64_MAX - 3);
    WRONG(o.sampler.address[2] = 4);
    cr_assert_eq(sg_objects_add(objects, &good, &handle), GA_OK);
    sg_objects_destroy(objects);
}
