# SPDX-License-Identifier: Apache-2.0
"""What stands before the calls that stream capture concerns: capture_*.c, capture_calls.h and
capture_hooks.h.

The exported function asks whether anything is captured; what the library itself has written has
the inner name gpuaas_run_NAME, which capture_calls.h gives it where it is compiled.
"""
from emit_exports import implementer
from text import HEADER, guard, names, prototype


def _concerned(model):
    return [c for c in model.calls if c.capture]


def inner_names(model):
    """For the files that implement calls: cuX there means gpuaas_run_cuX."""
    body = ""
    for call in _concerned(model):
        body += f"{prototype(call, 'gpuaas_run_' + call.name)};\n"
        body += f"#define {call.name} gpuaas_run_{call.name}\n"
    return guard("capture_calls.h", '#include "api/cuda_names.h"\n\n' + body)


def hooks(model):
    """Written in front/: FRONT_CAPTURE_RUN means that the call is made as ever."""
    body = "".join(f"{prototype(c, 'front_capture_' + c.name)};\n" for c in _concerned(model)
                   if c.capture == "hook")
    return guard("capture_hooks.h", '#include "api/cuda_names.h"\n\n' + body)


def _stream(call):
    return next((p.name for p in call.params if p.ctype == "CUstream"), "")


def _guard(call):
    asked = {"hook": f"front_capture_{call.name}({names(call)})",
             "unsafe": "front_capture_unsafe()", "legacy": "front_capture_legacy()",
             "refused": f"front_capture_refused({_stream(call)})"}
    return (f"\n{prototype(call, 'gpuaas_run_' + call.name)};\n{prototype(call, call.name)}\n{{\n"
            "    CUresult rc = FRONT_CAPTURE_RUN;\n    if (front_capturing()) {\n"
            f"        rc = {asked[call.capture]};\n    }}\n"
            "    return rc == FRONT_CAPTURE_RUN\n"
            f"               ? gpuaas_run_{call.name}({names(call)})\n               : rc;\n}}\n")


def guards(model, library):
    """Of the calls that 'client', 'soft' or 'front' has written."""
    out = HEADER + ('#define API_CUDA_OUTSIDE\n#include "api/capture_hooks.h"\n'
                    '#include "front/capture/capture.h"\n')
    return out + "".join(_guard(c) for c in _concerned(model)
                         if implementer(c, library) == library)
