# SPDX-License-Identifier: Apache-2.0
"""Small helpers of the emitters: C text out, files written only when they changed."""
import os

HEADER = "/* Generated from api/cuda/ by api/gen/generate.py: change those instead. */\n"


def write(path, text):
    """Keeps the file's time when nothing changed, so that nothing is rebuilt for it."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            if old.read() == text:
                return
    with open(path, "w", encoding="utf-8") as new:
        new.write(text)


def guard(name, body):
    word = "GPUAAS_GEN_" + name.upper().replace(".", "_")
    return f"{HEADER}#ifndef {word}\n#define {word}\n\n{body}\n#endif\n"


def declare(ctype, name):
    """`const char *` + `p` -> `const char *p`."""
    return f"{ctype}{name}" if ctype.endswith("*") else f"{ctype} {name}"


def prototype(call, name):
    """One function of the call's type."""
    params = ", ".join(declare(p.ctype, p.name) for p in call.params) or "void"
    return f"CUresult CUDAAPI {name}({params})"


def pointer(call, name):
    params = ", ".join(declare(p.ctype, p.name) for p in call.params) or "void"
    return f"CUresult(CUDAAPI *{name})({params})"


def names(call):
    return ", ".join(p.name for p in call.params)
