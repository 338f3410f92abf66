/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies, and the barriers that count them.
 *
 * A copy is complete when it is issued: PTX promises by when it is complete, never that it is not
 * yet. Therefore groups of copies are always complete, and waiting for them does nothing. A copy
 * that signals an mbarrier does so at once; the barrier still waits for the arrival of the
 * threads. */
#ifndef SOFTGPU_EXEC_ASYNC_H
#define SOFTGPU_EXEC_ASYNC_H

#include "softgpu/exec/insn.h"
#include "softgpu/exec/reduce.h"

/* ---- mbarrier (PTX ISA 9.0, "mbarrier"): an 8-byte object in shared memory, opaque to kernels.
 * Here it holds the counts and the phase. A state that arrive returns is the old word. */
#define SG_MBARRIER_COUNT_MAX ((1u << 20) - 1)

enum sg_mbarrier_op {
    SG_MBARRIER_INIT, /* b: count */
    SG_MBARRIER_INVAL,
    SG_MBARRIER_ARRIVE,        /* b: count; d: state, or 0 */
    SG_MBARRIER_ARRIVE_DROP,   /* the same */
    SG_MBARRIER_ARRIVE_EXPECT, /* the same; c: bytes to expect before */
    SG_MBARRIER_DROP_EXPECT,
    SG_MBARRIER_EXPECT,   /* b: bytes */
    SG_MBARRIER_COMPLETE, /* b: bytes */
};

/* mode: enum sg_mbarrier_op; a: generic address */
sg_handler sg_mbarrier_do;
/* d (predicate) = has the phase of state b (64 bits) completed? */
sg_handler sg_mbarrier_test_state;
/* d (predicate) = has the phase of parity b completed? */
sg_handler sg_mbarrier_test_parity;
/* d = pending arrivals in state a */
sg_handler sg_mbarrier_pending;

/* ---- copies ---- */

/* cp.async. a: destination, b: source (generic); c: bytes to read, the rest is zeros; imm: bytes to
 * write; with d: a predicate of lanes that read nothing */
sg_handler sg_async_copy;
/* cp.async.bulk. a: destination, b: source (generic), c: bytes, e: mbarrier (0: none), d: CTA mask
 * (0: none) */
sg_handler sg_async_bulk;
/* cp.reduce.async.bulk. The same; mode: enum sg_reduce_op, imm: enum sg_reduce_type */
sg_handler sg_async_reduce;
struct sg_async_element { /* lives as long as the program */
    uint8_t bytes;
    bool reduce;
    enum sg_reduce_op op;
    enum sg_reduce_type type;
};

/* st.async, red.async. a: destination, f: row list, the elements; mode: how many; e: mbarrier;
 * imm: const struct sg_async_element * */
sg_handler sg_async_store;
/* d = lowest lane of the members in e; f: predicate of being it, or 0 */
sg_handler sg_elect;

#endif
