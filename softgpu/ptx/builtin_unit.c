/* SPDX-License-Identifier: Apache-2.0 */
/* See builtin_unit.h. The handle of a grid is the address of its workspace, as in
 * cooperative_groups/details/driver_abi.h; it is 0 in a kernel whose launch was not cooperative,
 * and what is asked of it then is cudaErrorInvalidValue (1). There are no other scopes since
 * CUDA 13.
 *
 * The barrier is that of cooperative_groups/details/sync.h: each block adds 1, the first one so
 * much that the highest bit changes when all have come. */
#include "softgpu/ptx/builtin_unit.h"

static const char text[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle (.param .b32 scope)\n{\n"
    "  .reg .b32 %r<4>;\n  .reg .b64 %d<2>;\n  .reg .pred %p;\n"
    "  ld.param.b32 %r0, [scope];\n  mov.u32 %r1, %envreg1;\n  mov.u32 %r2, %envreg2;\n"
    "  mov.b64 %d0, {%r2, %r1};\n  setp.eq.u32 %p, %r0, 1;\n"
    "  selp.b64 %d0, %d0, 0, %p;\n  st.param.b64 [handle], %d0;\n  ret;\n}\n"
    /* threads that come before this one, in its block */
    ".func (.reg .b32 rank) in_block ()\n{\n"
    "  .reg .b32 %r<4>;\n  mov.u32 %r0, %tid.z;\n  mov.u32 %r1, %ntid.y;\n"
    "  mov.u32 %r2, %tid.y;\n  mad.lo.u32 %r0, %r0, %r1, %r2;\n  mov.u32 %r1, %ntid.x;\n"
    "  mov.u32 %r2, %tid.x;\n  mad.lo.u32 rank, %r0, %r1, %r2;\n  ret;\n}\n"
    /* blocks of the grid, and those that come before this one */
    ".func (.reg .b32 count, .reg .b32 rank) blocks ()\n{\n"
    "  .reg .b32 %r<6>;\n  mov.u32 %r0, %nctaid.x;\n  mov.u32 %r1, %nctaid.y;\n"
    "  mov.u32 %r2, %nctaid.z;\n  mul.lo.u32 count, %r0, %r1;\n  mul.lo.u32 count, count, %r2;\n"
    "  mov.u32 %r3, %ctaid.z;\n  mov.u32 %r4, %ctaid.y;\n  mad.lo.u32 %r3, %r3, %r1, %r4;\n"
    "  mov.u32 %r4, %ctaid.x;\n  mad.lo.u32 rank, %r3, %r0, %r4;\n  ret;\n}\n"
    ".visible .func (.param .b32 error) cudaCGSynchronize (.param .b64 handle, .param .b32 flags)\n"
    "{\n"
    "  .reg .b32 %r<8>;\n  .reg .b64 %d<2>;\n  .reg .pred %p, %q;\n"
    "  ld.param.b64 %d0, [handle];\n  setp.eq.u64 %p, %d0, 0;\n  st.param.b32 [error], 1;\n"
    "  @%p ret;\n  barrier.sync 0;\n"
    "  call (%r0), in_block, ();\n  setp.ne.u32 %p, %r0, 0;\n  @%p bra DONE;\n"
    "  call (%r1, %r2), blocks, ();\n  sub.u32 %r3, 0x80000001, %r1;\n"
    "  setp.eq.u32 %q, %r2, 0;\n  selp.b32 %r3, %r3, 1, %q;\n  membar.gl;\n"
    "  atom.global.add.u32 %r4, [%d0+4], %r3;\n"
    "WAIT:\n  ld.volatile.global.u32 %r5, [%d0+4];\n  xor.b32 %r5, %r5, %r4;\n"
    "  setp.ge.s32 %q, %r5, 0;\n  @%q bra WAIT;\n  membar.gl;\n"
    "DONE:\n  barrier.sync 0;\n  st.param.b32 [error], 0;\n  ret;\n}\n"
    ".visible .func (.param .b32 error) cudaCGSynchronizeGrid (.param .b64 handle, "
    ".param .b32 flags)\n{\n"
    "  .reg .b64 %d0;\n  .reg .b32 %r<2>;\n  ld.param.b64 %d0, [handle];\n"
    "  ld.param.b32 %r0, [flags];\n  call (%r1), cudaCGSynchronize, (%d0, %r0);\n"
    "  st.param.b32 [error], %r1;\n  ret;\n}\n"
    ".visible .func (.param .b32 error) cudaCGGetSize (.param .b64 threads, .param .b64 grids, "
    ".param .b64 handle)\n{\n"
    "  .reg .b32 %r<5>;\n  .reg .b64 %d<3>;\n  .reg .pred %p;\n"
    "  ld.param.b64 %d0, [handle];\n  setp.eq.u64 %p, %d0, 0;\n  st.param.b32 [error], 1;\n"
    "  @%p ret;\n  call (%r0, %r1), blocks, ();\n"
    "  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %ntid.y;\n  mov.u32 %r4, %ntid.z;\n"
    "  mul.lo.u32 %r0, %r0, %r2;\n  mul.lo.u32 %r0, %r0, %r3;\n  mul.lo.u32 %r0, %r0, %r4;\n"
    "  ld.param.b64 %d1, [threads];\n  ld.param.b64 %d2, [grids];\n"
    "  setp.ne.u64 %p, %d1, 0;\n  @%p st.u32 [%d1], %r0;\n  setp.ne.u64 %p, %d2, 0;\n"
    "  @%p st.u32 [%d2], 1;\n  st.param.b32 [error], 0;\n  ret;\n}\n"
    ".visible .func (.param .b32 error) cudaCGGetRank (.param .b64 thread, .param .b64 grid, "
    ".param .b64 handle)\n{\n"
    "  .reg .b32 %r<6>;\n  .reg .b64 %d<3>;\n  .reg .pred %p;\n"
    "  ld.param.b64 %d0, [handle];\n  setp.eq.u64 %p, %d0, 0;\n  st.param.b32 [error], 1;\n"
    "  @%p ret;\n  call (%r0, %r1), blocks, ();\n  call (%r2), in_block, ();\n"
    "  mov.u32 %r3, %ntid.x;\n  mov.u32 %r4, %ntid.y;\n  mov.u32 %r5, %ntid.z;\n"
    "  mul.lo.u32 %r3, %r3, %r4;\n  mul.lo.u32 %r3, %r3, %r5;\n"
    "  mad.lo.u32 %r2, %r1, %r3, %r2;\n"
    "  ld.param.b64 %d1, [thread];\n  ld.param.b64 %d2, [grid];\n"
    "  setp.ne.u64 %p, %d1, 0;\n  @%p st.u32 [%d1], %r2;\n  setp.ne.u64 %p, %d2, 0;\n"
    "  @%p st.u32 [%d2], 0;\n  st.param.b32 [error], 0;\n  ret;\n}\n";

bool sg_builtin_unit_wanted(const struct sg_ptx_module *module)
{
    for (const struct sg_ptx_func *func = module->funcs; func != NULL; func = func->next) {
        if (!func->defined && func->external && sg_text_starts(func->name, "cudaCG")) {
            return true;
        }
    }
    return false;
}

struct sg_unit sg_builtin_unit(void)
{
    return (struct sg_unit){.text = text, .bytes = sizeof text, .name = "device run time"};
}
