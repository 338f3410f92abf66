/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of the table, run on 32 lanes by itself. */
#ifndef SG_TESTS_OP_FIXTURE_H
#define SG_TESTS_OP_FIXTURE_H

#include <criterion/criterion.h>
#include <string.h>

#include "softgpu/exec/op.h"

static inline const struct sg_op *op_of(const struct sg_isa *isa, const char *name)
{
    for (size_t l = 0; l < SG_OP_LISTS; l++) {
        struct sg_op_list list = isa->lists[l]();
        for (size_t i = 0; i < list.count; i++) {
            if (strcmp(list.ops[i].name, name) == 0) {
                return &list.ops[i];
            }
        }
    }
    cr_assert_fail("there is no %s", name);
    return NULL;
}

/* Operands and result: 32 values of `bytes` each. Operands that the operation lacks may be NULL. */
static inline void op_run_of(const struct sg_op *op, size_t bytes, const void *a, const void *b,
                             const void *c, void *out)
{
    enum { HEAD = 256, ROW_BYTES = 256 };
    static _Alignas(256) uint8_t file[HEAD + 4 * ROW_BYTES];
    const void *const operands[3] = {a, b, c};
    struct sg_insn in = {
        .d = HEAD, .a = HEAD + ROW_BYTES, .b = HEAD + 2 * ROW_BYTES, .c = HEAD + 3 * ROW_BYTES};
    for (int i = 0; i < 3; i++) {
        if (operands[i] != NULL) {
            memcpy(file + in.a + i * ROW_BYTES, operands[i], 32 * bytes);
        }
    }
    op->full((struct sg_warp *)(void *)file, &in, UINT32_MAX);
    memcpy(out, file + in.d, 32 * bytes);
}

/* As above, of 4 bytes */
static inline void op_run(const struct sg_op *op, const void *a, const void *b, const void *c,
                          void *out)
{
    op_run_of(op, 4, a, b, c, out);
}

#endif
