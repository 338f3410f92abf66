/* SPDX-License-Identifier: Apache-2.0 */
/* Textures for tests of the engine, and a second sampler to compare with: in double precision,
 * texel by texel, as the CUDA C++ Programming Guide describes it ("Texture Fetching"). */
#ifndef SG_TESTS_TEXTURE_FIXTURE_H
#define SG_TESTS_TEXTURE_FIXTURE_H

#include "softgpu/engine/texture.h"
#include "softgpu/engine/texture_objects.h"
#include "softgpu/tests/engine_fixture.h"

/* Texels of that kind with memory of the engine, filled with values from `seed`. */
struct sg_texels texture_texels(struct engine *engine, enum sg_shape shape, enum sg_channel channel,
                                uint32_t channels, uint32_t levels, uint64_t *seed);

/* The request of a kernel: coordinates as floats, or as integers; x, y, z of a cube: a direction.
 * */
struct texture_query {
    bool integer;
    int index[3];
    float coord[3];
    uint32_t layer; /* of a1d, a2d, acube */
    float lod;
    int offset[3];
};

struct texture_colour {
    double value[4];
    double error[4]; /* that arithmetic in single precision may make */
    bool floats;     /* else integers */
};

struct texture_colour texture_sample(const struct sg_object *object,
                                     const struct texture_query *query);
/* Channel `channel` of the four texels, in the order of tld4. */
struct texture_colour texture_gather(const struct sg_object *object,
                                     const struct texture_query *query, unsigned channel);

/* Is this 32-bit result channel `c` of the colour? */
bool texture_is(const struct texture_colour *colour, const struct sg_object *object, unsigned c,
                uint32_t bits);

/* The value of a half-precision number of 16 bits. */
double texture_half(uint16_t bits);

/* A kernel "k" whose body is given: the handle in %rd1, in %rd3 where the thread has 64 bytes of
 * output, its coordinates in %x, %y, %z, its number in %t; %r2..15, %rd4..8, %h1..8, %p1..3 are
 * free. Parameters: handle, output, x of thread 0, what x grows by, y, z. */
void texture_load(struct engine *engine, const char *body);

#endif
