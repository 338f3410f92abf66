# SPDX-License-Identifier: Apache-2.0
"""client_stubs.c: the exported functions of `client auto` calls. client_calls.h: how calls are
sent.

What a stub does, in order: is the process ready for calls; NULL pointers and flag bits; handles;
then the frame. Nothing is locked while a handle is checked: a check may itself wait.
"""
from model import C_OF
from ranges import element, rows_apart, size
from text import HEADER, guard, prototype


def _checks(call):
    out = []
    for p in call.params:
        wanted = p.way in ("in", "out", "make") and not p.optional and not p.fixed
        if wanted and not (p.big and isinstance(p.count, str)):
            out.append(f"if ({p.name} == NULL) {{\n"
                       "        return CUDA_ERROR_INVALID_VALUE;\n    }")
        elif wanted:
            out.append(f"if ({p.name} == NULL && {p.count} != 0) {{\n"
                       "        return CUDA_ERROR_INVALID_VALUE;\n    }")
    out += [f"*{p.name} = 0;" for p in call.params if p.zeroed]
    for p, bits in call.masks:
        out.append(f"if (((unsigned)({p.name}) & ~0x{bits:x}u) != 0) {{\n"
                   "        return CUDA_ERROR_INVALID_VALUE;\n    }")
    for p, last in call.lasts:
        out.append(f"if ((unsigned){p.name} > (unsigned){last}) {{\n"
                   "        return CUDA_ERROR_INVALID_VALUE;\n    }")
    return out


def _try(text):
    return f"CU_TRY({text});"


def _fill(call):
    out = []
    for p in call.args():
        if p.way == "make":
            continue
        if p.handle:
            made = "_made" if call.drop is p and p.handle == "stream" else ""
            out.append(_try(f"client_{p.handle}_check{made}(&call, {p.name}, &args.{p.name})"))
        elif p.ctype == "CUdevice":
            out.append(_try(f"client_device_check(&call, {p.name}, &args.{p.name})"))
        elif p.way == "value":
            out.append(f"args.{p.name} = ({C_OF[p.kind]}){p.name};")
        elif p.big:
            out.append(f"args.{p.name} = {p.name};")
        elif p.optional:
            out.append(f"if ({p.name} != NULL) {{\n        args.{p.name}_given = 1;\n"
                       f"        args.{p.name} = ({C_OF[p.kind]})*{p.name};\n    }}")
        else:
            out.append(f"args.{p.name} = ({C_OF[p.kind]})*{p.name};")
    for r in call.ranges:
        if rows_apart(r):
            out.append(f"if (!{rows_apart(r)}) {{\n"
                       "        return CUDA_ERROR_INVALID_VALUE;\n    }")
        out.append(_try(f"client_range_check(&call, args.{r.param.name}, {element(r)},\n"
                        f"                            {size(r)})"))
    return out


def _send(call):
    """Leaves rc; the results are stored."""
    passed = "&call" + (", &args" if call.args() else "")
    if call.reply == "async":
        return [f"CUresult rc = client_post_{call.name}({passed});"]
    results = call.results()
    if not results:
        return [f"CUresult rc = client_wait_{call.name}({passed}, false);"]
    lines = [f"struct {call.name}_results results;",
             f"CUresult rc = client_wait_{call.name}({passed}, false, &results);",
             "if (rc == CUDA_SUCCESS) {"]
    for p in results:
        store = f"*{p.name} = ({p.pointee})results.{p.name};"
        lines += ([f"    if ({p.name} != NULL) {{", f"        {store}", "    }"] if p.optional
                  else [f"    {store}"])
    return lines + ["}"]


def _brings_context(call):
    """A stream or an event, and no context beside it, says itself where the call belongs."""
    nouns = {p.handle for p in call.params if p.way == "value"}
    return bool(nouns & {"stream", "event"}) and "context" not in nouns


def _stub(call):
    makes = [p for p in call.params if p.way == "make"]
    out = f"\n{prototype(call, call.name)}\n{{\n    struct client_call call;\n"
    if call.args():
        out += f"    struct {call.name}_args args = {{0}};\n"
    enter = "client_call_enter_handle" if _brings_context(call) else "client_call_enter"
    body = [_try(f"{enter}(&call, API_OP_{call.name})")]
    if call.drop:
        # Once exit() has begun the end of the connection gives everything back.
        body += ["if (client_call_exiting()) {", "    return CUDA_SUCCESS;", "}"]
    body += _checks(call) + _fill(call)
    for p in makes:
        body.append(_try(f"client_handle_make(&call, GA_HANDLE_{p.handle.upper()}, "
                         f"&args.{p.name})"))
    body += _send(call)
    for p in makes:
        body += ["if (rc == CUDA_SUCCESS) {",
                 f"    *{p.name} = ({p.pointee})(uintptr_t)args.{p.name};", "} else {",
                 f"    client_handle_drop(args.{p.name});", "}"]
    if call.drop:
        body += ["if (rc == CUDA_SUCCESS) {", f"    client_handle_drop(args.{call.drop.name});",
                 "}"]
    return out + "".join(f"    {line}\n" for line in body) + "    return rc;\n}\n"


def source(model):
    out = HEADER + ('#include <stdint.h>\n\n#include "api/calls.h"\n#include "api/client_calls.h"\n'
                    '#include "api/cuda_names.h"\n'
                    '#include "api/range.h"\n#include "base/handle.h"\n'
                    '#include "client/call/call.h"\n#include "client/call/event_call.h"\n'
                    '#include "client/call/stream_call.h"\n'
                    '#include "client/memory/range_check.h"\n'
                    '#include "client/module/function.h"\n')
    return out + "".join(_stub(c) for c in model.travelling() if c.client == "auto")


def _plain(call):
    """Sent with its values alone, and answered by plain values."""
    return (not call.bulk and call.reply != "chunks"
            and not any(p.big for p in call.results()))


def _sent(call):
    """begin, write, then post or wait."""
    name = call.name
    args = f", const struct {name}_args *args" if call.args() else ""
    lines = [f"CU_TRY(client_call_begin(call, {f'{name}_args_bound(args)' if args else '0'}));"]
    if args:
        lines.append(f"{name}_args_write(&call->writer, args);")
    if call.reply == "async":
        head = f"client_post_{name}(struct client_call *call{args})"
        lines.append("return client_call_post(call);")
    else:
        results = f", struct {name}_results *results" if call.results() else ""
        head = f"client_wait_{name}(struct client_call *call{args}, bool keep_late{results})"
        lines += ["struct ga_reader reader;", "CUresult rc = client_call_wait_want(call, NULL, "
                  "keep_late, NULL, 0, &reader);"]
        if results:
            lines += ["if (rc == CUDA_SUCCESS) {", f"    {name}_results_read(&reader, results);",
                      "    rc = ga_reader_done(&reader) ? CUDA_SUCCESS : "
                      "client_call_broken(call);", "}"]
        lines += ["client_call_end(call);", "return rc;"]
    return (f"static inline CUresult {head}\n{{\n"
            + "".join(f"    {line}\n" for line in lines) + "}\n\n")


def header(model):
    return guard("client_calls.h", """\
/* How calls are sent, after client_call_enter: posted, or waited for. keep_late: late errors are
 * left for a later call. Results hold if CUDA_SUCCESS is returned. */
#include "api/calls.h"
#include "api/cuda_names.h"
#include "client/call/call.h"

""" + "".join(_sent(c) for c in model.travelling() if _plain(c)))
