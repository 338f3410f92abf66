# SPDX-License-Identifier: Apache-2.0
"""server_dispatch.h and server_dispatch.c: from a frame to the driver table, or to server/.

A handler reads and checks the arguments, and answers with the result. It answers false only for
bytes that no client of ours sends: the session ends.
"""
from codec import fields
from ranges import size
from text import HEADER, guard

# Calls that record an event of a whole context: no stream comes to wait by them.
RECORDS = ("cuCtxRecordEvent", "ga_green_record")
HANDLER = "(struct server_app *app, const struct wire_header *header, struct ga_reader *reader)"


def _do(call):
    """The prototype of what is written in server/."""
    sides = [side for side in ("args", "results") if fields(call, side)]
    said = "".join(f", {'const ' if side == 'args' else ''}struct {call.name}_{side} *{side}"
                   for side in sides)
    return f"CUresult server_do_{call.name}(struct server_app *app{said})"


def header(model):
    custom = "".join(f"{_do(c)};\n" for c in model.travelling() if c.server == "custom")
    return guard("server_dispatch.h", f"""\
/* Which function serves an op. All answer false only for bytes that break the protocol: the caller
 * ends the session. */
#include <stdbool.h>
#include <stdint.h>

#include "api/calls.h"
#include "api/cuda_names.h"
#include "base/cursor.h"

struct server_app;
struct wire_header;

typedef bool server_handler(struct server_app *app, const struct wire_header *header,
                            struct ga_reader *reader);

/* NULL: no such op here (the caller answers CUDA_ERROR_NOT_SUPPORTED). */
server_handler *server_dispatch_find(uint16_t op);

/* Calls of `server custom`, written in server/. Arguments are read and whole; what they point to is
 * borrowed from the frame. Results are zeros, and sent if CUDA_SUCCESS is returned. Besides results
 * of calls they may return SERVER_ANSWERED or SERVER_BROKEN (server/conn/reply.h). */
{custom}""")


def _range(r):
    return (f"server_range_check(app, args.{r.param.name},\n"
            f"                                {size(r)})")


def _pass(p):
    """Argument of the driver call."""
    base = p.pointee if p.pointer else p.ctype
    if p.way == "make" or p.way == "out":
        return f"&{p.name}"
    if p.handle or p.ctype == "CUdevice":
        return p.name
    if p.way == "value":
        return f"({base})args->{p.name}"
    if p.big:
        return f"({p.ctype})args->{p.name}"
    return f"args->{p.name}_given != 0 ? &{p.name} : NULL" if p.optional else f"&{p.name}"


def _locals(call):
    out = []
    for p in call.params:
        base = p.pointee if p.pointer else p.ctype
        if p.way in ("make", "out") or p.handle or p.ctype == "CUdevice":
            out.append(f"{base} {p.name} = {'NULL' if p.handle else '0'};")
        elif p.way == "in" and not p.big:
            out.append(f"{base} {p.name} = ({base})args->{p.name};")
    return out


def _steps(call):
    """Expressions that each give a CUresult, in order."""
    out = []
    for p in call.params:
        if p.way == "value" and p.handle:
            out.append(f"server_handle_{p.handle}(app, args->{p.name}, &{p.name})")
        elif p.ctype == "CUdevice":
            out.append(f"server_device(app, args->{p.name}, &{p.name})")
    passed = ", ".join(_pass(p) for p in call.params)
    out.append(f"app->driver->{call.name}({passed})")
    for p in call.params:
        if p.way == "make":
            out.append(f"server_handle_put(app, GA_HANDLE_{p.handle.upper()}, args->{p.name}, "
                       f"{p.name})")
    return out


def _auto(call):
    """What `server auto` has instead of a function written in server/."""
    lines, steps = _locals(call), _steps(call)
    last = [] if call.results() else [f"return {steps.pop()};"]
    lines += [f"CU_TRY({step});" for step in steps]
    lines += [f"results->{p.name} = {p.name};" for p in call.results()]
    lines += last or ["return CUDA_SUCCESS;"]
    return _function(f"static {_do(call)}", lines)


def _stream(call):
    """The parameter that names the stream of a call; None: it is that of the current context."""
    for p in call.params:
        if p.way == "value" and (p.handle == "stream" or (call.message and p.name == "stream")):
            return p
    return None


def _gate(call):
    """Work for a GPU asks before anything else is done (server/gate/gate.h)."""
    stream = f"args.{_stream(call).name}" if _stream(call) else "0"
    what = next((f"args.{p.name}" for p in call.args() if p.name in ("function", "exec")), "0")
    enter = f"gate_enter(app, API_ENGINE_{call.engine.upper()}, {stream}, {what})"
    return ([f"if (app->gated && {enter} != GA_OK) {{", "    return false;", "}"]
            if call.engine != "none" else [])


def _meter(call):
    """The engine's time (server/meter/meter.h). Copies between host and GPU are measured where
    they are submitted, because their handlers may wait before; and launches of kernels, because
    how much of the GPU these fill their handler knows."""
    stream = f"args.{_stream(call).name}" if _stream(call) else "0"
    if call.engine in ("h2d", "d2h") or call.name == "ga_launch":
        return []
    if call.engine != "none":
        engine = f"API_ENGINE_{call.engine.upper()}"
        return [f"meter_work(&app->meter, app, {engine}, {stream});"]
    if call.name.startswith("cuEvent") or call.name in RECORDS:
        return []
    rest = f"meter_rest(app, {stream})" if _stream(call) else "meter_rest_all(app)"
    return ["if (app->meter.open != 0) {", f"    {rest};", "}"]


def _handler(call):
    lines, passed = [], "app"
    if call.args():
        lines += [f"struct {call.name}_args args;", f"{call.name}_args_read(reader, &args);"]
        passed += ", &args"
    lines += ["if (!ga_reader_done(reader)) {", "    return false;", "}"]
    lines += _gate(call) + _meter(call)
    if call.results():
        lines.append(f"struct {call.name}_results results = {{0}};")
        passed += ", &results"
    steps = [_range(r) for r in call.ranges] + [f"server_do_{call.name}({passed})"]
    for i, step in enumerate(steps):
        lines += ["if (rc == CUDA_SUCCESS) {", f"    rc = {step};", "}"] if i else [
            f"CUresult rc = {step};"]
    if call.results():
        lines += ["if (rc == CUDA_SUCCESS) {",
                  f"    SERVER_REPLY_RESULTS(app, header, {call.name}, rc, &results);",
                  "    return true;", "}"]
    lines += ["return rc == CUDA_SUCCESS || server_answer_async(app, header, rc);"
              if call.reply == "async" else "return server_answer(app, header, rc);"]
    return _function(f"static bool handle_{call.name}{HANDLER}", lines)


def _function(head, lines):
    return f"{head}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n\n"


def source(model):
    calls = model.travelling()
    out = HEADER + ('#include "api/server_dispatch.h"\n\n#include "api/calls.h"\n'
                    '#include "api/cuda_driver.h"\n#include "api/range.h"\n#include "api/wire.h"\n'
                    '#include "base/handle.h"\n#include "server/app/app.h"\n'
                    '#include "server/gate/gate.h"\n#include "server/objects/handles.h"\n'
                    '#include "server/meter/meter.h"\n#include "server/conn/reply.h"\n\n')
    for call in calls:
        out += (_auto(call) if call.server == "auto" else "") + _handler(call)
    out += "server_handler *server_dispatch_find(uint16_t op)\n{\n    switch (op) {\n"
    for call in calls:
        out += f"    case API_OP_{call.name}:\n        return handle_{call.name};\n"
    return out + "    default:\n        return NULL;\n    }\n}\n"
