/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes of the fundamental types. */
#ifndef SOFTGPU_PTX_TYPE_H
#define SOFTGPU_PTX_TYPE_H

#include "softgpu/ptx/ast.h"

/* NONE if `text` (without dot) names no type. */
enum sg_type sg_type_of(struct sg_text text);
unsigned sg_type_bytes(enum sg_type type); /* PRED: 0 */
/* The type of a value that travels through memory: a predicate is a word that is 0 or 1. */
unsigned sg_type_in_memory(enum sg_type type);

#endif
