/* SPDX-License-Identifier: Apache-2.0 */
/* Cube maps: the face that a direction hits (CUDA C++ Programming Guide, "Cubemap Textures"), and
 * the neighbours of faces. */
#include "softgpu/exec/cube.h"

#include <math.h>

#include "softgpu/exec/tex.h"

/* For each face: the major axis and its sign; the axes of s and t, with their signs. */
static const struct {
    int major, s, t;
    float sign, s_sign, t_sign;
} faces[6] = {{0, 2, 1, 1, -1, -1}, {0, 2, 1, -1, 1, -1}, {1, 0, 2, 1, 1, 1},
              {1, 0, 2, -1, 1, -1}, {2, 0, 1, 1, 1, -1},  {2, 0, 1, -1, -1, -1}};

/* If two axes are equally long, z comes before y, and y before x. */
static uint32_t face_of(const float d[3])
{
    float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);
    int major = z >= x && z >= y ? 2 : y >= x ? 1 : 0;
    return 2 * (uint32_t)major + (d[major] < 0);
}

void sg_cube_project(const float direction[3], uint32_t *face, float at[2])
{
    *face = face_of(direction);
    const float major = fabsf(direction[faces[*face].major]);
    const float s = faces[*face].s_sign * direction[faces[*face].s];
    const float t = faces[*face].t_sign * direction[faces[*face].t];
    at[0] = major > 0 ? (s / major + 1) * 0.5f : 0.5f;
    at[1] = major > 0 ? (t / major + 1) * 0.5f : 0.5f;
}

float sg_cube_rate(const float direction[3], const float d[2][3])
{
    const uint32_t face = face_of(direction);
    const int m = faces[face].major, axes[2] = {faces[face].s, faces[face].t};
    const float major = direction[m];
    float most = 0;
    for (int k = 0; k < 2; k++) {
        float square = 0;
        for (int a = 0; a < 2; a++) { /* (u / major)' */
            float u = direction[axes[a]];
            float rate = (d[k][axes[a]] * major - u * d[k][m]) / (major * major) * 0.5f;
            square += rate * rate;
        }
        most = square > most ? square : most;
    }
    return sqrtf(most);
}

void sg_cube_cross(uint32_t size, uint32_t *face, int32_t *x, int32_t *y)
{
    const int32_t last = (int32_t)size - 1;
    bool beyond_x = *x < 0 || *x > last, beyond_y = *y < 0 || *y > last;
    if (beyond_x != beyond_y) {
        /* The direction of the texel's centre, on the extended plane of the face, hits the other
         * face within the neighbouring texel. */
        const float n = (float)size;
        float direction[3], at[2];
        direction[faces[*face].major] = faces[*face].sign;
        direction[faces[*face].s] = faces[*face].s_sign * ((2 * (float)*x + 1) / n - 1);
        direction[faces[*face].t] = faces[*face].t_sign * ((2 * (float)*y + 1) / n - 1);
        sg_cube_project(direction, face, at);
        *x = (int32_t)floorf(at[0] * n);
        *y = (int32_t)floorf(at[1] * n);
    }
    *x = *x < 0 ? 0 : *x > last ? last : *x;
    *y = *y < 0 ? 0 : *y > last ? last : *y;
}
