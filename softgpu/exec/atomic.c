/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic operations. In global memory they are atomic for all threads of the process; only the
 * thread that runs the block accesses its shared memory. Every operation is at least acquire and
 * release, so PTX's memory orders need no distinction. */
#include "softgpu/exec/atomic.h"

#include <math.h>
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/alu.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/generic.h"
#include "softgpu/exec/half.h"
#include "softgpu/exec/misc.h"
#include "softgpu/exec/warp.h"

static void *atomic_refuse(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                           uint64_t address, unsigned bytes)
{
    const struct sg_access_fault what = {"atomic", bytes, bytes};
    sg_warp_fault_access(warp, in, lane, address, &what);
    return NULL;
}

/* The address of the lane's word; NULL after a fault. `bytes`: a power of two, known when
 * inlined. */
static inline __attribute__((always_inline)) void *
atomic_word_at(struct sg_warp *warp, const struct sg_insn *in, unsigned lane, unsigned bytes)
{
    if (in->mode == SG_MEM_SHARED) {
        uint32_t offset = ((const uint32_t *)sg_row(warp, in->a))[lane] + (uint32_t)in->imm;
        bool inside = (uint64_t)offset + bytes <= warp->shared_bytes;
        return inside && !(offset & (bytes - 1))
                   ? warp->shared + offset
                   : atomic_refuse(warp, in, lane, SG_WINDOW_SHARED + offset, bytes);
    }
    uint64_t address = ((const uint64_t *)sg_row(warp, in->a))[lane] + (uint64_t)in->imm;
    if (address & (bytes - 1)) {
        return atomic_refuse(warp, in, lane, address, bytes);
    }
    if (address < SG_WINDOW_SHARED &&
        sg_map_allows(warp->map, address, bytes, SG_MAP_READ | SG_MAP_WRITE)) {
        return (void *)(uintptr_t)address;
    }
    void *at = in->mode == SG_MEM_GLOBAL
                   ? NULL
                   : sg_generic_at(warp, lane, address, bytes, SG_MAP_READ | SG_MAP_WRITE);
    return at != NULL ? at : atomic_refuse(warp, in, lane, address, bytes);
}

/* Whether all lanes are here with all their words in shared memory, so that no lane needs a check
 * of its own. */
static inline __attribute__((always_inline)) bool all_in_shared(const struct sg_warp *warp,
                                                                const struct sg_insn *in,
                                                                const uint32_t *offsets,
                                                                uint32_t mask, unsigned bytes)
{
    if (in->mode != SG_MEM_SHARED || mask != UINT32_MAX || warp->shared_bytes < bytes) {
        return false;
    }
    const uint32_t last = (uint32_t)warp->shared_bytes - bytes;
    uint32_t wrong = 0;
    for (int i = 0; i < SG_LANES; i++) {
        const uint32_t at = offsets[i] + (uint32_t)in->imm;
        wrong |= (at > last) | (at & (bytes - 1));
    }
    return wrong == 0;
}

/* The bits of the next value, out of old_bits and the operands of `lane` */
#define ATOMIC_NEXT(U, V, ...)                                                                     \
    V old, b, c, next;                                                                             \
    U b_bits = (U)rb[lane], c_bits = (U)rc[lane];                                                  \
    memcpy(&old, &old_bits, sizeof old);                                                           \
    memcpy(&b, &b_bits, sizeof b);                                                                 \
    memcpy(&c, &c_bits, sizeof c);                                                                 \
    (void)old, (void)b, (void)c;                                                                   \
    next = (V)(__VA_ARGS__);                                                                       \
    memcpy(&next_bits, &next, sizeof next)

/* U: unsigned type of the word in memory and (16 bits: widened) of the rows; V: type in which
 * `next` is computed from old, b and c. */
#define ATOMIC(name, U, R, V, ...)                                                                 \
    static void atomic_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)       \
    {                                                                                              \
        const R *rb = sg_row(warp, in->b), *rc = in->c ? sg_row(warp, in->c) : rb;                 \
        R *rd = in->d ? sg_row(warp, in->d) : NULL;                                                \
        const bool exclusive = in->mode == SG_MEM_SHARED;                                          \
        const uint32_t *offsets = sg_row(warp, in->a);                                             \
        if (all_in_shared(warp, in, offsets, mask, sizeof(U))) {                                   \
            for (int lane = 0; lane < SG_LANES; lane++) {                                          \
                const uint32_t offset = offsets[lane] + (uint32_t)in->imm;                         \
                U *at = (U *)(void *)(warp->shared + offset), old_bits = *at, next_bits;           \
                ATOMIC_NEXT(U, V, __VA_ARGS__);                                                    \
                *at = next_bits;                                                                   \
                if (rd != NULL) {                                                                  \
                    rd[lane] = (R)old_bits;                                                        \
                }                                                                                  \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (uint32_t left = mask; left; left &= left - 1) {                                       \
            unsigned lane = (unsigned)__builtin_ctz(left);                                         \
            U *at = atomic_word_at(warp, in, lane, sizeof(U));                                     \
            if (at == NULL) {                                                                      \
                return;                                                                            \
            }                                                                                      \
            U old_bits = __atomic_load_n(at, __ATOMIC_RELAXED), next_bits;                         \
            do {                                                                                   \
                ATOMIC_NEXT(U, V, __VA_ARGS__);                                                    \
                if (exclusive) {                                                                   \
                    *at = next_bits;                                                               \
                    break;                                                                         \
                }                                                                                  \
            } while (!__atomic_compare_exchange_n(at, &old_bits, next_bits, true,                  \
                                                  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));            \
            if (rd != NULL) {                                                                      \
                rd[lane] = (R)old_bits;                                                            \
            }                                                                                      \
        }                                                                                          \
    }

#define ATOMIC_INT(U, S, bits)                                                                     \
    ATOMIC_DO(add_u##bits, U, U, U, old + b)                                                       \
    ATOMIC_DO(min_u##bits, U, U, U, old < b ? old : b)                                             \
    ATOMIC_DO(max_u##bits, U, U, U, old > b ? old : b)                                             \
    ATOMIC_DO(min_s##bits, U, U, S, old < b ? old : b)                                             \
    ATOMIC_DO(max_s##bits, U, U, S, old > b ? old : b)                                             \
    ATOMIC_DO(inc_u##bits, U, U, U, old >= b ? 0 : old + 1)                                        \
    ATOMIC_DO(dec_u##bits, U, U, U, old == 0 || old > b ? b : old - 1)                             \
    ATOMIC_DO(and_b##bits, U, U, U, old &b)                                                        \
    ATOMIC_DO(or_b##bits, U, U, U, old | b)                                                        \
    ATOMIC_DO(xor_b##bits, U, U, U, old ^ b)                                                       \
    ATOMIC_DO(exch_b##bits, U, U, U, b)                                                            \
    ATOMIC_DO(cas_b##bits, U, U, U, old == b ? c : old)

/* The sum in single precision is exact enough to be rounded once more. */
#define ATOMIC_HALF(type, x) sg_f32_##type((x)&0xffff)
#define ATOMIC_LOW(type, f)  sg_##type(f(ATOMIC_HALF(type, old), ATOMIC_HALF(type, b)))
#define ATOMIC_HIGH(type, f) sg_##type(f(ATOMIC_HALF(type, old >> 16), ATOMIC_HALF(type, b >> 16)))
#define ATOMIC_BOTH(type, f) (ATOMIC_LOW(type, f) | ATOMIC_HIGH(type, f) << 16)
#define ATOMIC_PLUS(x, y)    ((x) + (y))
#define ATOMIC_HALVES(type)                                                                        \
    ATOMIC_DO(add_##type, uint16_t, uint32_t, uint16_t, ATOMIC_LOW(type, ATOMIC_PLUS))             \
    ATOMIC_DO(min_##type, uint16_t, uint32_t, uint16_t, ATOMIC_LOW(type, fminf))                   \
    ATOMIC_DO(max_##type, uint16_t, uint32_t, uint16_t, ATOMIC_LOW(type, fmaxf))                   \
    ATOMIC_DO(add_##type##x2, uint32_t, uint32_t, uint32_t, ATOMIC_BOTH(type, ATOMIC_PLUS))        \
    ATOMIC_DO(min_##type##x2, uint32_t, uint32_t, uint32_t, ATOMIC_BOTH(type, fminf))              \
    ATOMIC_DO(max_##type##x2, uint32_t, uint32_t, uint32_t, ATOMIC_BOTH(type, fmaxf))

#define ATOMIC_ALL                                                                                 \
    ATOMIC_INT(uint32_t, int32_t, 32)                                                              \
    ATOMIC_INT(uint64_t, int64_t, 64)                                                              \
    ATOMIC_HALVES(f16)                                                                             \
    ATOMIC_HALVES(bf16)                                                                            \
    ATOMIC_DO(cas_b16, uint16_t, uint32_t, uint16_t, old == b ? c : old)                           \
    ATOMIC_DO(add_f32, uint32_t, uint32_t, float, sg_cn(old + b))                                  \
    ATOMIC_DO(add_f64, uint64_t, uint64_t, double, old + b)

#define ATOMIC_DO ATOMIC
ATOMIC_ALL
#undef ATOMIC_DO

/* ---- 16 bytes: list d, b, c of two rows each ---- */

typedef unsigned __int128 wide;

/* Compare-and-exchange. False: *old is the current value. */
static bool exchange(wide *at, wide *old, wide next)
{
    uint64_t low = (uint64_t)*old, high = (uint64_t)(*old >> 64);
    bool done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*at), "+a"(low), "+d"(high)
                     : "b"((uint64_t)next), "c"((uint64_t)(next >> 64))
                     : "memory");
    *old = (wide)high << 64 | low;
    return done;
}

static wide atomic_read_pair(struct sg_warp *warp, const uint32_t *rows, unsigned lane)
{
    const uint64_t *low = sg_row(warp, rows[0]), *high = sg_row(warp, rows[1]);
    return (wide)high[lane] << 64 | low[lane];
}

static void wide_atomic(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, bool cas)
{
    const uint32_t *rows = sg_row_list(warp, in);
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        wide *at = atomic_word_at(warp, in, lane, 16);
        if (at == NULL) {
            return;
        }
        wide old = 0, b = atomic_read_pair(warp, rows + 2, lane);
        wide c = cas ? atomic_read_pair(warp, rows + 4, lane) : 0;
        while (!exchange(at, &old, !cas ? b : old == b ? c : old)) {
        }
        if (rows[0]) {
            ((uint64_t *)sg_row(warp, rows[0]))[lane] = (uint64_t)old;
            ((uint64_t *)sg_row(warp, rows[1]))[lane] = (uint64_t)(old >> 64);
        }
    }
}

static void atomic_cas_b128(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    wide_atomic(warp, in, mask, true);
}

static void atomic_exch_b128(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    wide_atomic(warp, in, mask, false);
}

/* Checks the vector as a whole, beyond its elements. `mode`: its bytes, a power of two; it lies in
 * global memory. */
void sg_atomic_vector(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t address = ((const uint64_t *)sg_row(warp, in->a))[lane] + (uint64_t)in->imm;
        if (address & (in->mode - 1u)) {
            atomic_refuse(warp, in, lane, address, in->mode);
            return;
        }
    }
}

#define ATOMIC_DO(name, ...) {#name, atomic_##name},
static const struct {
    const char *name;
    sg_handler *handler;
} table[] = {ATOMIC_ALL ATOMIC_DO(cas_b128) ATOMIC_DO(exch_b128)};
#undef ATOMIC_DO

sg_handler *sg_atomic_find(const char *name)
{
    if (strcmp(name, "add_s32") == 0 || strcmp(name, "add_s64") == 0) {
        name = strcmp(name, "add_s32") == 0 ? "add_u32" : "add_u64";
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return table[i].handler;
        }
    }
    return NULL;
}
