# SPDX-License-Identifier: Apache-2.0
"""cuda_driver.h and cuda_driver.c: the driver table, one member per described call."""
from text import HEADER, guard, pointer


def header(model):
    members = "".join(f"    {pointer(c, c.name)};\n" for c in model.calls)
    return guard("cuda_driver.h", f"""\
/* A CUDA driver as a table: the machine's real one or softgpu. No member is ever NULL: what the
 * library lacks answers CUDA_ERROR_NOT_SUPPORTED. */
#include "api/cuda_names.h"
#include "api/driver_open.h"

struct cuda_driver {{
    void *library; /* of dlopen; stays open for the life of the process */
{members}}};
""")


def source(model):
    out = HEADER + '#include "api/cuda_driver.h"\n\n#include <stddef.h>\n\n'
    out += "const struct cuda_driver_symbol cuda_driver_symbols[] = {\n"
    for c in model.calls:
        older = f'"{c.alias[0]}"' if c.alias else "NULL"
        out += (f'    {{"{c.name}", {older},\n'
                f"     offsetof(struct cuda_driver, {c.name})}},\n")
    out += ("};\nconst size_t cuda_driver_symbol_count =\n"
            "    sizeof cuda_driver_symbols / sizeof cuda_driver_symbols[0];\n\n")
    out += ("static CUresult missing(void)\n{\n    return CUDA_ERROR_NOT_SUPPORTED;\n}\n"
            "void (*const cuda_driver_missing)(void) = (void (*)(void))(void *)missing;\n\n")
    for ctype, kind in model.declared:
        size = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "f32": 4}.get(kind, 8)
        out += f'_Static_assert(sizeof({ctype}) == {size}, "{ctype} travels as {kind}");\n'
    return out
