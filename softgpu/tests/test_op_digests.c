/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of the results of every operation of op.def for some thousand operands, as they were when
 * last reviewed. The rows of that table are their own reference in test_ops.c; here a row shows
 * whose results have changed. test_ops.c, test_half.c and others test which results are right.
 *
 * A new row, or one that was wrong: SG_OP_DIGESTS=FILE names a file to which op_digests.def is
 * written anew; the difference has to be reviewed row by row. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/exec/op.h"
#include "softgpu/tests/op_operands.h"

#define ROUNDS 64

struct digest {
    const char *name;
    uint64_t bits;
};

static const struct digest digests[] = {
#define DIGEST(name, bits) {#name, UINT64_C(bits)},
#include "softgpu/tests/op_digests.def"
};
#define DIGESTS (sizeof digests / sizeof digests[0])

enum { HEAD = 256, ROW_BYTES = 256, ROWS = 5 };
static _Alignas(256) uint8_t file[HEAD + ROWS * ROW_BYTES];

static uint64_t mixed(uint64_t digest, uint64_t value)
{
    for (int i = 0; i < 8; i++) { /* FNV-1a */
        digest = (digest ^ (value >> 8 * i & 255)) * UINT64_C(0x100000001b3);
    }
    return digest;
}

static size_t bytes_of(unsigned type)
{
    return type >= SG_OP_u64 ? 8 : 4;
}

/* The part of a lane's result that counts: of 16 bits the low half; of a double that is NaN, that
 * it is one. */
static uint64_t result(unsigned type, int lane)
{
    uint64_t value = 0;
    if (type == SG_OP_p) {
        memcpy(&value, file + HEAD, 4);
        return value >> lane & 1;
    }
    memcpy(&value, file + HEAD + (size_t)lane * bytes_of(type), bytes_of(type));
    if (type == SG_OP_u16 || type == SG_OP_s16 || type == SG_OP_f16 || type == SG_OP_bf16) {
        return (uint16_t)value;
    }
    bool nan = (value & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    return type == SG_OP_f64 && nan ? UINT64_MAX : value;
}

static uint64_t digest_of(const struct sg_op *op)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325), seed;
    for (const char *at = op->name; *at != 0; at++) {
        digest = mixed(digest, (uint8_t)*at);
    }
    seed = digest | 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct sg_insn in = {.d = HEAD,
                             .a = HEAD + ROW_BYTES,
                             .b = HEAD + 2 * ROW_BYTES,
                             .c = HEAD + 3 * ROW_BYTES,
                             .e = HEAD + 4 * ROW_BYTES,
                             .imm = (int64_t)(engine_random(&seed) & 255)};
        for (unsigned row = 1; row < ROWS; row++) {
            unsigned type = row < 4 ? op->types[row] : SG_OP_u32;
            for (size_t lane = 0; lane < SG_LANES; lane++) {
                uint64_t value = operand(&seed);
                memcpy(file + HEAD + row * ROW_BYTES + lane * bytes_of(type), &value,
                       bytes_of(type));
            }
        }
        op->full((struct sg_warp *)(void *)file, &in, UINT32_MAX);
        for (int lane = 0; lane < SG_LANES; lane++) {
            digest = mixed(digest, result(op->types[0], lane));
        }
    }
    return digest;
}

/* Approximations have an accuracy instead (test_accuracy.c); a name with '=' is another row's. */
static bool is_digested(const char *name)
{
    static const char *const approximate[] = {"ex2_", "lg2_", "sin_", "cos_", "tanh_"};
    for (size_t i = 0; i < sizeof approximate / sizeof *approximate; i++) {
        if (strncmp(name, approximate[i], strlen(approximate[i])) == 0) {
            return false;
        }
    }
    return strchr(name, '=') == NULL;
}

static uint64_t known(const char *name)
{
    for (size_t i = 0; i < DIGESTS; i++) {
        if (strcmp(digests[i].name, name) == 0) {
            return digests[i].bits;
        }
    }
    return 0;
}

/* How many rows; into `out`, or against what is known. */
static size_t digest_all(const struct sg_isa *isa, FILE *out)
{
    size_t count = 0;
    for (size_t l = 0; l < sizeof isa->lists / sizeof isa->lists[0]; l++) {
        struct sg_op_list list = isa->lists[l]();
        for (size_t i = 0; i < list.count; i++) {
            const char *name = list.ops[i].name;
            if (!is_digested(name)) {
                continue;
            }
            uint64_t digest = digest_of(&list.ops[i]);
            count++;
            if (out != NULL) {
                fprintf(out, "DIGEST(%s, 0x%016" PRIx64 ")\n", name, digest);
            } else {
                cr_expect_eq(digest, known(name), "%s %s: 0x%016" PRIx64, isa->name, name, digest);
            }
        }
    }
    return count;
}

Test(op_digests, rows_compute_what_they_did)
{
    const char *path = getenv("SG_OP_DIGESTS");
    if (path != NULL) {
        FILE *out = fopen(path, "w");
        cr_assert_not_null(out);
        (void)digest_all(sg_isa_base(), out);
        cr_assert_eq(fclose(out), 0);
        return;
    }
    cr_expect_eq(digest_all(sg_isa_base(), NULL), DIGESTS);
    if (sg_isa_v3_runs_here()) {
        cr_expect_eq(digest_all(sg_isa_v3(), NULL), DIGESTS);
    }
}
