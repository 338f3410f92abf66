/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of loops.c, as PTX. */
#ifndef PERF_LOOPS_KERNELS_H
#define PERF_LOOPS_KERNELS_H

static const char kernels[] = /* clang-format off */
    ".version 6.4\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .entry bench_launch(.param .u64 a, .param .u64 b, .param .u32 c, .param .u32 d)\n"
    "{\n"
    "    ret;\n"
    "}\n"
    ".visible .entry null_report(.param .u64 to)\n"
    "{\n"
    "    ret;\n"
    "}\n"
    ".visible .entry bench_work(.param .u64 to, .param .u32 rounds)\n"
    "{\n"
    "    .reg .u64 %to;\n"
    "    .reg .u32 %left, %x;\n"
    "    .reg .pred %more;\n"
    "    ld.param.u64 %to, [to];\n"
    "    ld.param.u32 %left, [rounds];\n"
    "    ld.global.u32 %x, [%to];\n"
    "again:\n"
    "    mad.lo.u32 %x, %x, 1664525, 1013904223;\n"
    "    sub.u32 %left, %left, 1;\n"
    "    setp.ne.u32 %more, %left, 0;\n"
    "    @%more bra again;\n"
    "    st.global.u32 [%to], %x;\n"
    "    ret;\n"
    "}\n"; /* clang-format on */

#endif
