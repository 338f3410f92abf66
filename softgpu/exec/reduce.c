/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on words in memory; see reduce.h. */
#include "softgpu/exec/reduce.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "softgpu/exec/half.h"

unsigned sg_reduce_bytes(enum sg_reduce_type type)
{
    static const unsigned char bytes[SG_REDUCE_TYPES] = {4, 4, 8, 8, 2, 2, 4, 8};
    return bytes[type];
}

static uint64_t integer(enum sg_reduce_op op, uint64_t old, uint64_t b, bool is_signed)
{
    switch (op) {
    case SG_REDUCE_ADD:
        return old + b;
    case SG_REDUCE_MIN:
        return (is_signed ? (int64_t)b < (int64_t)old : b < old) ? b : old;
    case SG_REDUCE_MAX:
        return (is_signed ? (int64_t)b > (int64_t)old : b > old) ? b : old;
    case SG_REDUCE_INC:
        return old >= b ? 0 : old + 1;
    case SG_REDUCE_DEC:
        return old == 0 || old > b ? b : old - 1;
    case SG_REDUCE_AND:
        return old & b;
    case SG_REDUCE_OR:
        return old | b;
    default:
        return old ^ b;
    }
}

static double floating(enum sg_reduce_op op, double old, double b)
{
    return op == SG_REDUCE_ADD ? old + b : op == SG_REDUCE_MIN ? fmin(old, b) : fmax(old, b);
}

static uint64_t reduce_next(enum sg_reduce_op op, enum sg_reduce_type type, uint64_t old,
                            uint64_t b)
{
    double x, y;
    switch (type) {
    case SG_REDUCE_S32:
        return integer(op, (uint64_t)(int32_t)old, (uint64_t)(int32_t)b, true);
    case SG_REDUCE_S64:
        return integer(op, old, b, true);
    case SG_REDUCE_F16: /* the sum is exact enough to be rounded once more */
        return sg_f16((float)floating(op, (double)sg_f32_f16((uint32_t)old),
                                      (double)sg_f32_f16((uint32_t)b)));
    case SG_REDUCE_BF16:
        return sg_bf16((float)floating(op, (double)sg_f32_bf16((uint32_t)old),
                                       (double)sg_f32_bf16((uint32_t)b)));
    case SG_REDUCE_F32:
        return sg_bits32((float)floating(op, (double)sg_float32((uint32_t)old),
                                         (double)sg_float32((uint32_t)b)));
    case SG_REDUCE_F64:
        memcpy(&x, &old, sizeof x);
        memcpy(&y, &b, sizeof y);
        x = floating(op, x, y);
        memcpy(&old, &x, sizeof old);
        return old;
    default:
        return integer(op, old, b, false);
    }
}

#define EXCHANGE(T)                                                                                \
    do {                                                                                           \
        T old = __atomic_load_n((T *)at, __ATOMIC_RELAXED), b;                                     \
        memcpy(&b, value, sizeof b);                                                               \
        while (!__atomic_compare_exchange_n((T *)at, &old, (T)reduce_next(op, type, old, b), true, \
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {                 \
        }                                                                                          \
    } while (0)

void sg_reduce_word(enum sg_reduce_op op, enum sg_reduce_type type, void *at, const void *value)
{
    switch (sg_reduce_bytes(type)) {
    case 2:
        EXCHANGE(uint16_t);
        break;
    case 4:
        EXCHANGE(uint32_t);
        break;
    default:
        EXCHANGE(uint64_t);
        break;
    }
}
