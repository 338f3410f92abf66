/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes of the fundamental types (PTX ISA 9.0, 5.2). */
#include "softgpu/ptx/type.h"

#include "softgpu/ptx/ast.h"

static const struct {
    const char *name;
    unsigned bytes;
} types[] = {
    [SG_TYPE_NONE] = {"", 0},       [SG_TYPE_U8] = {"u8", 1},      [SG_TYPE_U16] = {"u16", 2},
    [SG_TYPE_U32] = {"u32", 4},     [SG_TYPE_U64] = {"u64", 8},    [SG_TYPE_S8] = {"s8", 1},
    [SG_TYPE_S16] = {"s16", 2},     [SG_TYPE_S32] = {"s32", 4},    [SG_TYPE_S64] = {"s64", 8},
    [SG_TYPE_B8] = {"b8", 1},       [SG_TYPE_B16] = {"b16", 2},    [SG_TYPE_B32] = {"b32", 4},
    [SG_TYPE_B64] = {"b64", 8},     [SG_TYPE_B128] = {"b128", 16}, [SG_TYPE_F16] = {"f16", 2},
    [SG_TYPE_F16X2] = {"f16x2", 4}, [SG_TYPE_BF16] = {"bf16", 2},  [SG_TYPE_BF16X2] = {"bf16x2", 4},
    [SG_TYPE_F32] = {"f32", 4},     [SG_TYPE_F64] = {"f64", 8},    [SG_TYPE_PRED] = {"pred", 0},
};

enum sg_type sg_type_of(struct sg_text text)
{
    for (size_t i = 1; i < sizeof types / sizeof types[0]; i++) {
        if (sg_text_is(text, types[i].name)) {
            return (enum sg_type)i;
        }
    }
    return SG_TYPE_NONE;
}

unsigned sg_type_bytes(enum sg_type type)
{
    return types[type].bytes;
}

unsigned sg_type_in_memory(enum sg_type type)
{
    return type == SG_TYPE_PRED ? 4 : sg_type_bytes(type);
}
