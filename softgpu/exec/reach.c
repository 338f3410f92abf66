/* Generic addresses of more than one word. */
#include "softgpu/exec/reach.h"

static uint8_t *find(const struct sg_warp *warp, unsigned lane, uint64_t address, uint64_t bytes,
                     unsigned need)
{
    if (address >= SG_WINDOW_LOCAL && address < SG_WINDOW_PARAM) {
        return bytes <= 8 - (address & 7)
                   ? sg_generic_at(warp, lane, address, (unsigned)bytes, need)
                   : NULL;
    }
    return bytes <= UINT32_MAX ? sg_generic_at(warp, lane, address, (unsigned)bytes, need) : NULL;
}

uint8_t *sg_reach(struct sg_warp *warp, const struct sg_insn *in, unsigned lane, uint64_t address,
                  uint64_t bytes, unsigned align, unsigned need)
{
    if (address & (align - 1)) {
        sg_warp_fault(warp, in, lane, SG_FAULT_MISALIGNED, address, "misaligned access");
        return NULL;
    }
    uint8_t *at = find(warp, lane, address, bytes, need);
    if (!at) {
        sg_warp_fault(warp, in, lane, SG_FAULT_ILLEGAL_ADDRESS, address,
                      need & SG_MAP_WRITE ? "write to memory that the kernel may not write"
                                          : "read of memory that the kernel may not read");
    }
    return at;
}
