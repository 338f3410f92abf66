/* SPDX-License-Identifier: Apache-2.0 */
/* Cube maps: the face that a direction hits, and the neighbours of faces. */
#ifndef SOFTGPU_EXEC_CUBE_H
#define SOFTGPU_EXEC_CUBE_H

#include "softgpu/exec/tex.h"

/* sg_cube_project: from a direction to the face it hits, and the place on it (0..1). sg_cube_rate:
 * the larger rate of change of the two coordinates when the direction changes by d[0] or d[1]
 *. */
void sg_cube_project(const float direction[3], uint32_t *face, float at[2]);
float sg_cube_rate(const float direction[3], const float d[2][3]);

/* (x, y) of `face`, which has size * size texels, at most one texel beyond its edges, becomes the
 * texel of the neighbouring face. Beyond two edges there is none: the nearest. */
void sg_cube_cross(uint32_t size, uint32_t *face, int32_t *x, int32_t *y);

#endif
