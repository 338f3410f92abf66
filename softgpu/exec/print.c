/* SPDX-License-Identifier: Apache-2.0 */
/* vprintf(format, arguments) in kernels: every lane's text is one record for the launch's
 * printer. */
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/builtin.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/format.h"
#include "softgpu/exec/generic.h"
#include "softgpu/exec/grid.h"

struct lane_memory {
    struct sg_format_memory memory; /* first */
    const struct sg_warp *warp;
    unsigned lane;
};

static bool lane_read(const struct sg_format_memory *memory, uint64_t address, void *to,
                      unsigned bytes)
{
    const struct lane_memory *from = (const struct lane_memory *)memory;
    const uint8_t *at = sg_generic_at(from->warp, from->lane, address, bytes, SG_MAP_READ);
    if (at != NULL) {
        memcpy(to, at, bytes);
    }
    return at != NULL;
}

void sg_builtin_vprintf(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const struct sg_call *call = sg_builtin_call(warp, in);
    struct sg_printer *printer = warp->block->grid->launch->printer;
    struct sg_format out;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const struct lane_memory memory = {{lane_read}, warp, lane};
        sg_format_print(&out, &memory.memory, sg_builtin_argument(warp, call, 0, lane),
                        sg_builtin_argument(warp, call, 1, lane));
        if (out.faulted) {
            sg_warp_fault(warp, in, lane, SG_FAULT_ILLEGAL_ADDRESS, out.fault,
                          "printf reads memory that the kernel may not read");
            return;
        }
        if (printer != NULL && out.used != 0) {
            printer->write(printer, SG_OUTPUT_STDOUT, out.text, out.used, out.charge);
        }
        sg_builtin_return(warp, call, lane, (uint32_t)out.result);
    }
}
