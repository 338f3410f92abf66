/* How many blocks fit on a multiprocessor (CUDA occupancy calculator, table of compute capability
 * 7.5): limited by blocks, warps, registers (allocated per warp in units of 256, warps in fours)
 * and shared memory (in units of 256 bytes). */
#include "softgpu/work.h"

#define REGISTER_UNIT 256u
#define WARP_UNIT     4u
#define SHARED_UNIT   256u

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static unsigned warps_by_registers(const struct sg_kernel *kernel)
{
    unsigned registers = kernel->registers != 0 ? kernel->registers : 1;
    unsigned per_warp = (unsigned)round_up(registers * SG_WARP_LANES, REGISTER_UNIT);
    return SG_REGISTERS_SM / per_warp / WARP_UNIT * WARP_UNIT;
}

unsigned sg_occupancy_threads_max(const struct sg_kernel *kernel)
{
    unsigned by_registers = warps_by_registers(kernel) * SG_WARP_LANES;
    return least(least(kernel->max_threads, SG_BLOCK_THREADS_MAX), by_registers);
}

/* Without regard to shared memory. */
static unsigned blocks_by_threads(const struct sg_kernel *kernel, unsigned block_threads)
{
    if (block_threads == 0 || block_threads > sg_occupancy_threads_max(kernel)) {
        return 0;
    }
    unsigned warps = (block_threads + SG_WARP_LANES - 1) / SG_WARP_LANES;
    unsigned by_warps = SG_THREADS_SM / SG_WARP_LANES / warps;
    return least(SG_BLOCKS_SM, least(by_warps, warps_by_registers(kernel) / warps));
}

unsigned sg_occupancy_blocks(const struct sg_kernel *kernel, unsigned block_threads,
                             uint64_t dynamic_shared)
{
    unsigned blocks = blocks_by_threads(kernel, block_threads);
    if (dynamic_shared > SG_SHARED_SM) {
        return 0;
    }
    uint64_t shared = round_up(kernel->shared_bytes + dynamic_shared, SHARED_UNIT);
    if (shared > SG_SHARED_BLOCK_OPTIN_MAX) {
        return 0;
    }
    return shared == 0 ? blocks : least(blocks, (unsigned)(SG_SHARED_SM / shared));
}

uint64_t sg_occupancy_shared(const struct sg_kernel *kernel, unsigned blocks,
                             unsigned block_threads)
{
    if (blocks == 0 || blocks > blocks_by_threads(kernel, block_threads)) {
        return 0;
    }
    uint64_t each = SG_SHARED_SM / blocks / SHARED_UNIT * SHARED_UNIT;
    each = each > SG_SHARED_BLOCK_OPTIN_MAX ? SG_SHARED_BLOCK_OPTIN_MAX : each;
    return each > kernel->shared_bytes ? each - kernel->shared_bytes : 0;
}

unsigned sg_dynamic_shared_default(const struct sg_kernel *kernel)
{
    return kernel->shared_bytes < SG_SHARED_BLOCK_DEFAULT
               ? SG_SHARED_BLOCK_DEFAULT - kernel->shared_bytes
               : 0;
}
