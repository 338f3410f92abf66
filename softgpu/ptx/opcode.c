/* SPDX-License-Identifier: Apache-2.0 */
/* The opcodes of PTX ISA 9.0, and those that the engine executes (the decoder knows in which
 * types). The difference decides the error: an unknown word is a syntax error, an opcode that the
 * engine does not execute is SG_LOAD_UNSUPPORTED. */
#include "softgpu/ptx/opcode.h"

#include "softgpu/ptx/parse.h"

#include <stdlib.h>
#include <string.h>

static const char *const supported[] = {
    "abs",
    "activemask",
    "add",
    "addc",
    "alloca",
    "and",
    "applypriority",
    "atom",
    "bar",
    "barrier",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "bra",
    "brev",
    "brkpt",
    "brx",
    "call",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "cp",
    "createpolicy",
    "cvt",
    "cvta",
    "discard",
    "div",
    "dp2a",
    "dp4a",
    "elect",
    "ex2",
    "exit",
    "fence",
    "fma",
    "fns",
    "getctarank",
    "griddepcontrol",
    "isspacep",
    "istypep",
    "ld",
    "ldmatrix",
    "ldu",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "match",
    "max",
    "mbarrier",
    "membar",
    "min",
    "mma",
    "mov",
    "movmatrix",
    "mul",
    "mul24",
    "nanosleep",
    "neg",
    "not",
    "or",
    "pmevent",
    "popc",
    "prefetch",
    "prefetchu",
    "prmt",
    "rcp",
    "red",
    "redux",
    "rem",
    "ret",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setmaxnreg",
    "setp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "st",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "sub",
    "subc",
    "suld",
    "suq",
    "sured",
    "sust",
    "szext",
    "tanh",
    "testp",
    "tex",
    "tld4",
    "trap",
    "txq",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vote",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "wmma",
    "xor",
};

static const char *const known[] = {
    "clusterlaunchcontrol", "multimem", "red_async", "st_async", "tcgen05", "tensormap", "wgmma",
};

int sg_text_order(struct sg_text text, const char *name)
{
    size_t length = strlen(name);
    int order = memcmp(text.at, name, text.len < length ? text.len : length);
    return order != 0 ? order : text.len < length ? -1 : text.len > length;
}

/* The list is sorted. */
static bool in_list(const char *const *list, size_t count, struct sg_text text)
{
    size_t first = 0;
    while (first < count) {
        size_t middle = (first + count) / 2;
        int order = sg_text_order(text, list[middle]);
        if (order == 0) {
            return true;
        }
        first = order > 0 ? middle + 1 : first;
        count = order > 0 ? count : middle;
    }
    return false;
}

enum sg_opcode_class sg_opcode_class_of(struct sg_text opcode)
{
    if (in_list(supported, sizeof supported / sizeof supported[0], opcode)) {
        return SG_OPCODE_SUPPORTED;
    }
    return in_list(known, sizeof known / sizeof known[0], opcode) ? SG_OPCODE_KNOWN
                                                                  : SG_OPCODE_UNKNOWN;
}
