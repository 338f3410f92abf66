/* SPDX-License-Identifier: Apache-2.0 */
/* Faults: the kind, the thread, and the place in the program's text. */
#include "softgpu/exec/fault.h"

#include <stdio.h>
#include <string.h>

#include "softgpu/exec/grid.h"

const char *sg_fault_name(enum sg_fault_code code)
{
    static const char *const names[] = {
        [SG_FAULT_NONE] = "no fault",
        [SG_FAULT_ILLEGAL_ADDRESS] = "illegal address",
        [SG_FAULT_MISALIGNED] = "misaligned address",
        [SG_FAULT_TRAP] = "trap",
        [SG_FAULT_ASSERT] = "assertion",
        [SG_FAULT_STACK] = "stack overflow",
        [SG_FAULT_STOPPED] = "stopped",
        [SG_FAULT_NO_MEMORY] = "out of memory",
        [SG_FAULT_INVALID_PC] = "invalid program counter",
        [SG_FAULT_HEAP] = "invalid free",
        [SG_FAULT_TIMEOUT] = "time limit",
        [SG_FAULT_DEADLOCK] = "deadlock",
        [SG_FAULT_INVALID_LAUNCH] = "invalid launch",
    };
    return code < sizeof names / sizeof names[0] ? names[code] : "unknown fault";
}

bool sg_grid_claim_fault(struct sg_grid *grid)
{
    bool expected = false;
    return atomic_compare_exchange_strong(&grid->faulted, &expected, true);
}

void sg_grid_set_fault(struct sg_grid *grid, enum sg_fault_code code, const char *text)
{
    grid->fault.code = code;
    snprintf(grid->fault.text, sizeof grid->fault.text, "%s", text);
}

/* Finds the function of the instruction, and its source line if the text has one. */
static void find_source(const struct sg_kernel_code *code, const struct sg_insn *in,
                        struct sg_fault *fault)
{
    uint32_t pc = in->place, best = 0;
    const char *name = code->kernel.name;
    for (uint32_t i = 0; i < code->function_count; i++) {
        const struct sg_callee *function = &code->functions[i];
        if (function->first <= pc && function->first >= best) {
            best = function->first;
            name = function->name;
        }
    }
    snprintf(fault->function, sizeof fault->function, "%s", name);
    const struct sg_source *source = &code->sources[pc];
    fault->line = source->ptx_line;
    if (source->file != 0) {
        snprintf(fault->source, sizeof fault->source, "%s", code->files[source->file - 1]);
        fault->source_line = source->line;
    }
}

void sg_warp_thread(const struct sg_warp *warp, unsigned lane, uint32_t thread[3])
{
    const uint32_t *size = warp->block->grid->launch->block;
    uint32_t linear = warp->index * SG_LANES + lane;
    thread[0] = linear % size[0];
    thread[1] = linear / size[0] % size[1];
    thread[2] = linear / size[0] / size[1];
}

void sg_warp_fault(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                   enum sg_fault_code code, uint64_t address, const char *text)
{
    struct sg_grid *grid = warp->block->grid;
    warp->faulted = true;
    if (!sg_grid_claim_fault(grid)) {
        return;
    }
    struct sg_fault *fault = &grid->fault;
    fault->address = address;
    memcpy(fault->block, warp->block->id, sizeof fault->block);
    sg_warp_thread(warp, lane, fault->thread);
    find_source(grid->code, in, fault);
    sg_grid_set_fault(grid, code, text);
}

static const char *fault_space(uint64_t address)
{
    return address < SG_WINDOW_SHARED || address >= SG_WINDOW_END ? "__global__"
           : address < SG_WINDOW_LOCAL                            ? "__shared__"
           : address < SG_WINDOW_PARAM                            ? "__local__"
                                                                  : "__param__";
}

void sg_warp_fault_access(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                          uint64_t address, const struct sg_access_fault *access)
{
    char text[96];
    bool misaligned = address & (access->align - 1);
    snprintf(text, sizeof text, "Invalid %s %s of size %llu bytes", fault_space(address),
             access->what, (unsigned long long)access->bytes);
    sg_warp_fault(warp, in, lane, misaligned ? SG_FAULT_MISALIGNED : SG_FAULT_ILLEGAL_ADDRESS,
                  address, text);
}
