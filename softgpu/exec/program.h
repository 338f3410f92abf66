/* SPDX-License-Identifier: Apache-2.0 */
/* A loaded program and an image of it, for the executor. */
#ifndef SOFTGPU_EXEC_PROGRAM_H
#define SOFTGPU_EXEC_PROGRAM_H

#include "softgpu/engine/engine.h"
#include "softgpu/exec/arena.h"
#include "softgpu/exec/insn.h"

struct sg_fast;

struct sg_kernel_code { /* a kernel with every function it can reach */
    struct sg_kernel kernel;
    const struct sg_insn *insns;
    uint32_t insn_count;
    const struct sg_const *consts;
    uint32_t const_count;
    uint32_t block_const_count; /* the first ones of consts: these change with the block */
    const struct sg_call *calls;
    uint32_t call_count;
    const struct sg_callee *functions; /* the kernel itself is the first */
    uint32_t function_count;
    const struct sg_source *sources; /* of each instruction */
    const char *const *files;
    /* Indexed by number of address, from 1: the index in `functions`, 0 if this kernel cannot call
     * it. */
    const uint32_t *pointers;
    uint32_t pointer_count;
    uint64_t code_base;
    const uint32_t *rows;  /* SG_ROW: of the functions that may recurse */
    const uint32_t *lists; /* offsets of rows, for instructions with more operands than fields */
    uint32_t warp_bytes;   /* struct sg_warp with its register file */
    uint32_t frame_bytes;  /* of the kernel itself */
    const struct sg_fast *fast;  /* for undiverged warps; NULL: there is none */
    const struct sg_cost *costs; /* of its basic blocks, if programs are counted */
    uint32_t cost_count;
    uint32_t reserved_bytes;   /* of shared memory, before the kernel's own: the system's */
    bool uses_reserved;        /* it reads where that is */
    bool recursive, allocates; /* allocates: has alloca */
};

struct sg_reloc { /* one stored element of an initialiser that holds an address */
    uint64_t offset, addend, mask;
    uint32_t variable, bytes;
};

struct sg_module_variable {
    struct sg_variable public;
    const uint8_t *bytes; /* the first `initialised` ones; the rest is zeros */
    uint64_t initialised;
    const struct sg_reloc *relocs;
    uint32_t reloc_count;
};

struct sg_program {
    struct sg_arena arena;
    struct sg_target target;
    struct sg_kernel_code *codes;
    size_t code_count;
    struct sg_module_variable *variables;
    size_t variable_count;
    const struct sg_kernel_code **entries; /* kernels by number of address; NULL: no kernel's */
    uint32_t entry_count;
    uint64_t code_base;
};

/* The kernel with that address; NULL: none. */
const struct sg_kernel_code *sg_program_entry(const struct sg_program *program, uint64_t address);

struct sg_image {
    const struct sg_program *program;
    uint64_t addresses[];
};

#endif
