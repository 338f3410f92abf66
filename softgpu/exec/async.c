/* SPDX-License-Identifier: Apache-2.0 */
/* cp.async, bulk copies and reductions, stores that signal an mbarrier, elect. */
#include "softgpu/exec/async.h"

#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/mbarrier.h"
#include "softgpu/exec/reach.h"
#include "softgpu/exec/reduce.h"

void sg_async_copy(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *a = sg_row(warp, in->a), *b = sg_row(warp, in->b);
    const uint32_t *c = sg_row(warp, in->c);
    uint32_t ignored = in->d ? *(const uint32_t *)sg_row(warp, in->d) : 0;
    unsigned bytes = (unsigned)in->imm;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint32_t read = ignored >> lane & 1 ? 0 : c[lane] < bytes ? c[lane] : bytes;
        uint8_t buffer[16] = {0};
        if (read) {
            const uint8_t *from = sg_reach(warp, in, lane, b[lane], read, bytes, SG_MAP_READ);
            if (from == NULL) {
                return;
            }
            memcpy(buffer, from, read);
        }
        uint8_t *to = sg_reach(warp, in, lane, a[lane], bytes, bytes, SG_MAP_WRITE);
        if (to == NULL) {
            return;
        }
        memcpy(to, buffer, bytes);
    }
}

/* ---- bulks ---- */

struct bulk {
    uint64_t to, from, barrier;
    uint32_t bytes;
};

static bool copy_bulk(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                      const struct bulk *bulk, bool reduce)
{
    if (bulk->bytes % 16) {
        sg_warp_fault(warp, in, lane, SG_FAULT_MISALIGNED, bulk->to,
                      "the size of a bulk copy is no multiple of 16");
        return false;
    }
    if (bulk->bytes) {
        const uint8_t *from = sg_reach(warp, in, lane, bulk->from, bulk->bytes, 16, SG_MAP_READ);
        uint8_t *to = from != NULL ? sg_reach(warp, in, lane, bulk->to, bulk->bytes, 16,
                                              SG_MAP_WRITE | (reduce ? SG_MAP_READ : 0))
                                   : NULL;
        if (to == NULL) {
            return false;
        }
        if (!reduce) {
            memmove(to, from, bulk->bytes);
        }
        enum sg_reduce_type type = (enum sg_reduce_type)in->imm;
        for (uint32_t at = 0; reduce && at < bulk->bytes; at += sg_reduce_bytes(type)) {
            sg_reduce_word((enum sg_reduce_op)in->mode, type, to + at, from + at);
        }
    }
    return !bulk->barrier || sg_mbarrier_complete(warp, in, lane, bulk->barrier, bulk->bytes);
}

/* Copies to the same address in every block of the cluster that `ctas` names, with the barrier of
 * that block. */
static bool multicast(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                      const struct bulk *bulk, uint32_t ctas)
{
    for (; ctas; ctas &= ctas - 1) {
        uint32_t rank = (uint32_t)__builtin_ctz(ctas);
        struct bulk one = *bulk;
        one.to = sg_cluster_address(bulk->to, rank);
        one.barrier = bulk->barrier ? sg_cluster_address(bulk->barrier, rank) : 0;
        if (!copy_bulk(warp, in, lane, &one, false)) {
            return false;
        }
    }
    return true;
}

static void bulks(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, bool reduce)
{
    const uint64_t *a = sg_row(warp, in->a), *b = sg_row(warp, in->b);
    const uint32_t *c = sg_row(warp, in->c), *ctas = in->d ? sg_row(warp, in->d) : NULL;
    const uint64_t *barrier = in->e ? sg_row(warp, in->e) : NULL;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        struct bulk bulk = {a[lane], b[lane], barrier != NULL ? barrier[lane] : 0, c[lane]};
        bool done = ctas != NULL ? multicast(warp, in, lane, &bulk, ctas[lane] & 0xffff)
                                 : copy_bulk(warp, in, lane, &bulk, reduce);
        if (!done) {
            return;
        }
    }
}

void sg_async_bulk(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    bulks(warp, in, mask, false);
}

void sg_async_reduce(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    bulks(warp, in, mask, true);
}

/* ---- st.async, red.async ---- */

void sg_async_store(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *a = sg_row(warp, in->a), *barrier = sg_row(warp, in->e);
    const uint32_t *rows = sg_row_list(warp, in);
    const struct sg_async_element *element = (const struct sg_async_element *)(intptr_t)in->imm;
    unsigned bytes = element->bytes, all = bytes * in->mode;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint8_t *to = sg_reach(warp, in, lane, a[lane], all, all, SG_MAP_READ | SG_MAP_WRITE);
        if (to == NULL) {
            return;
        }
        for (unsigned i = 0; i < in->mode; i++) {
            const uint8_t *row = sg_row(warp, rows[i]);
            if (element->reduce) {
                sg_reduce_word(element->op, element->type, to, row + (size_t)lane * bytes);
            } else {
                memcpy(to + (size_t)i * bytes, row + (size_t)lane * bytes, bytes);
            }
        }
        if (!sg_mbarrier_complete(warp, in, lane, barrier[lane], all)) {
            return;
        }
    }
}

/* `mask`: the members that are here, which are all that have not exited. */
void sg_elect(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    uint32_t leader = (uint32_t)__builtin_ctz(mask);
    if (in->d) {
        uint32_t *d = sg_row(warp, in->d);
        for (unsigned lane = 0; lane < SG_LANES; lane++) {
            d[lane] = mask >> lane & 1 ? leader : d[lane];
        }
    }
    uint32_t *p = sg_row(warp, in->f);
    *p = (*p & ~mask) | 1u << leader;
}
