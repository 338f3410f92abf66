/* The opcodes of PTX ISA 9.0, and which of them the engine executes at all (in which types is the
 * decoder's knowledge). The difference decides the error: a word that is no opcode is a syntax
 * error, an opcode not in our set is SG_LOAD_UNSUPPORTED. */
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

static bool in_list(const char *const *list, size_t count, struct sg_text text)
{
    for (size_t i = 0; i < count; i++) {
        if (sg_text_is(text, list[i])) {
            return true;
        }
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
