# SPDX-License-Identifier: Apache-2.0
"""What both libraries export: version script, wrappers of variants, stubs, proc table."""
from text import HEADER, declare, names, prototype

STUB = """
CUresult gpuaas_{tag}(void) __asm__("{name}") __attribute__((visibility("default")));
CUresult gpuaas_{tag}(void)
{{
    return front_unsupported("{name}");
}}
"""


def export_map(model):
    symbols = sorted({n for c in model.calls for n in c.exported()} | set(model.unsupported)
                     | set(model.absent))
    body = "".join(f"        {name};\n" for name in symbols)
    return f"/* Generated. */\n{{\n    global:\n{body}    local:\n        *;\n}};\n"


def provided(call, library):
    """Does this library have the call: library is 'client' or 'soft'."""
    return (call.client if library == "client" else call.soft) != "no"


def missing_symbols(model, library):
    out = list(model.unsupported) + list(model.absent)
    for call in model.calls:
        if not provided(call, library):
            out += call.exported()
    return sorted(out)


def unsupported(symbols):
    out = HEADER + '#include "front/core/unsupported.h"\n'
    for name in symbols:
        out += STUB.format(tag=name, name=name)
    return out


def _ptsz(call, name):
    arguments = ", ".join(f"{p.name} == NULL ? CU_STREAM_PER_THREAD : {p.name}"
                          if p.ctype == "CUstream" else p.name for p in call.params)
    return f"{prototype(call, name)}\n{{\n    return {call.name}({arguments});\n}}\n"


def _ptsz_config(call, name):
    """cuLaunchKernelEx: the stream is inside the configuration."""
    return (f"{prototype(call, name)}\n{{\n    CUlaunchConfig local;\n"
            "    if (config != NULL && config->hStream == NULL) {\n        local = *config;\n"
            "        local.hStream = CU_STREAM_PER_THREAD;\n        config = &local;\n    }\n"
            f"    return {call.name}({names(call)});\n}}\n")


def _ptds(call, name, via, settle):
    call_text = f"{via}({names(call)}, CU_STREAM_PER_THREAD)"
    if settle:
        return (f"{prototype(call, name)}\n{{\n    CUresult result = {call_text};\n"
                f"    return front_settle(result, CU_STREAM_PER_THREAD, {', '.join(settle)});\n"
                "}\n")
    return (f"{prototype(call, name)}\n{{\n    CUresult result = {call_text};\n"
            "    return result == CUDA_SUCCESS ? cuStreamSynchronize(CU_STREAM_PER_THREAD)\n"
            "                                  : result;\n}\n")


def implementer(call, library):
    """Where the call's function is written: 'front' for both libraries, or the library, or no."""
    if call.client == "front":
        return "front"
    return library if library != "front" and provided(call, library) else "no"


def variants(model, library):
    """Of 'client', 'soft', or 'front' (in both)."""
    out = HEADER + ('#define API_CUDA_OUTSIDE\n#include <stddef.h>\n\n'
                    '#include "api/cuda_names.h"\n#include "front/front.h"\n')
    for call in model.calls:
        if implementer(call, library) != library:
            continue
        for name in call.alias:
            out += f"\n{prototype(call, name)}\n{{\n    return {call.name}({names(call)});\n}}\n"
        for name in call.ptsz:
            plain = any(p.ctype == "CUstream" for p in call.params)
            out += "\n" + (_ptsz if plain else _ptsz_config)(call, name)
        for name, via, settle in call.ptds:
            if via:
                out += "\n" + _ptds(call, name, via, settle)
    return out


def proc_table(model, versions):
    """Sorted by name, per-thread flag, version; `absent` symbols are not there."""
    known = {n for c in model.calls for n in c.exported()} | set(model.unsupported)
    rows = sorted((base, thread, version, symbol) for symbol, (base, version, thread)
                  in versions.items() if symbol in known)
    out = HEADER + '#include "front/tables/procs.h"\n\n'
    for _, _, _, symbol in rows:
        out += f'extern void gpuaas_{symbol}(void) __asm__("{symbol}");\n'
    out += "\nconst struct front_proc front_procs[] = {\n"
    for base, thread, version, symbol in rows:
        out += f'    {{"{base}", {version}, {thread}, gpuaas_{symbol}}},\n'
    return out + ("};\nconst size_t front_proc_count = sizeof front_procs / "
                  "sizeof front_procs[0];\n")


def prototype_check(model, declared):
    """Compiled, never run: every stanza's prototype is cuda.h's."""
    out = HEADER + '#include "api/cuda_names.h"\n\n'
    for call in model.calls:
        params = ", ".join(declare(p.ctype, p.name) for p in call.params) or "void"
        for name in call.exported():
            if name not in declared:
                continue
            out += (f"_Static_assert(__builtin_types_compatible_p(__typeof__({name}),\n"
                    f"               CUresult CUDAAPI({params})),\n"
                    f'               "{name} differs from cuda.h");\n')
    return out
