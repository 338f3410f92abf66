# SPDX-License-Identifier: Apache-2.0
"""constants.h, calls.h, calls.c and call_table.c: constants, ops, argument and result structs,
codec, facts, printers."""
import codec
from model import OP_FIRST, OP_LAST
from text import HEADER, guard


def _struct(call, side):
    members = codec.members(call, side)
    if not members:
        return ""
    body = "".join(f"    {m}\n" for m in members)
    return f"struct {call.name}_{side} {{\n{body}}};\n"


def _declarations(call, side):
    if not codec.fields(call, side):
        return ""
    s = f"{call.name}_{side}"
    return (f"void {s}_write(struct ga_writer *w, const struct {s} *from);\n"
            f"void {s}_read(struct ga_reader *r, struct {s} *to);\n"
            f"size_t {s}_bound(const struct {s} *from);\n")


def constants(model):
    width = max((len(name) for name in model.constants), default=0)
    body = "".join(f"#define {name:{width}} {value}u\n" for name, value in model.constants.items())
    says = "/* What values of arguments mean, and limits: both ends agree on them (api/cuda/). */\n"
    return guard("constants.h", says + body)


def header(model):
    calls = model.travelling()
    ops = "".join(f"    API_OP_{c.name} = {c.op},\n" for c in calls)
    out = f"""\
/* The calls that travel: what they carry and how. Arrays and strings that a _read function yields
 * are borrowed from the message. A call without a struct (say, of results) carries nothing there.
 * Values of handles and enums are plain integers here: this file does not need cuda.h. */
#include <stddef.h>
#include <stdint.h>

#include "api/call_info.h"
#include "api/constants.h"
#include "base/cursor.h"

enum api_op {{
{ops}}};
"""
    for call in calls:
        out += f"\n/* ---- {call.name}, op {call.op}, {call.reply} */\n"
        for side in ("args", "results"):
            out += _struct(call, side) + _declarations(call, side)
    return guard("calls.h", out)


def _functions(call, side):
    if not codec.fields(call, side):
        return ""
    s = f"{call.name}_{side}"

    def body(lines):
        return "".join(f"    {line}\n" for line in lines)

    used = "" if "from" in codec.bound(call, side) else "    (void)from;\n"
    return (f"void {s}_write(struct ga_writer *w, const struct {s} *from)\n{{\n"
            f"{body(codec.writes(call, side))}}}\n\n"
            f"void {s}_read(struct ga_reader *r, struct {s} *to)\n{{\n"
            f"{body(codec.reads(call, side))}}}\n\n"
            f"size_t {s}_bound(const struct {s} *from)\n{{\n{used}"
            f"    return {codec.bound(call, side)};\n}}\n\n")


def _printer(call):
    """`name(field=value, ...)` from a message."""
    head = f"void api_print_{call.name}(struct api_print *print, struct ga_reader *r)"
    out = f"{head};\n{head}\n{{\n"
    if not codec.fields(call, "args"):
        return out + "    (void)print;\n    (void)r;\n}\n\n"
    out += f"    struct {call.name}_args args;\n    {call.name}_args_read(r, &args);\n"
    for p, own in codec.fields(call, "args"):
        if p.shape == "string":
            out += f'    api_print_text(print, "{p.name}", args.{p.name});\n'
        elif p.big:
            count = codec.count_of(p, own, "(&args)").replace("(&args)->", "args.")
            out += f'    api_print_bytes(print, "{p.name}", {count});\n'
        elif p.shape == "fixed":
            for i in range(p.fixed):
                out += f'    api_print_number(print, "{p.name}", (uint64_t)args.{p.name}[{i}]);\n'
        else:
            how = "handle" if p.handle or p.ctype.startswith("CUdeviceptr") else "number"
            out += f'    api_print_{how}(print, "{p.name}", (uint64_t)args.{p.name});\n'
    return out + "}\n\n"


def source(model):
    calls = model.travelling()
    out = HEADER + '#include "api/calls.h"\n\n#include <string.h>\n\n#include "api/print.h"\n\n'
    for call in calls:
        out += _functions(call, "args") + _functions(call, "results")
    for call in calls:
        out += _printer(call)
    return out


def table(model):
    """call_table.c: the facts about every op, and the signatures as they travel."""
    calls = model.travelling()
    out = HEADER + ('#include "api/call_info.h"\n#include "api/signatures.h"\n'
                    '#include "api/wire.h"\n\n')
    for call in calls:
        out += f"void api_print_{call.name}(struct api_print *print, struct ga_reader *r);\n"
    out += "\nconst struct api_call_info api_calls[] = {\n"
    for c in calls:
        out += (f'    {{"{c.name}", {c.op}, API_REPLY_{c.reply.upper()}, '
                f"0x{codec.fnv1a(codec.shape(c)):016x}u,\n"
                f"     api_print_{c.name}}},\n")
    out += "};\nconst size_t api_call_count = sizeof api_calls / sizeof api_calls[0];\n"
    out += (f"\n_Static_assert(WIRE_API_FIRST == {OP_FIRST} && API_OPS == {OP_LAST + 1}u,\n"
            '               "api/gen/model.py has them, too");\n')
    out += "\nconst struct api_op_facts api_op_facts[API_OPS] = {\n"
    for c in calls:
        out += f"    [{c.op}] = {{API_ENGINE_{c.engine.upper()}, API_WORK_{c.work.upper()}"
        bulk = f"{codec.values_bytes(c)}, {c.bulk_max or 'WIRE_CHUNK'}" if c.bulk else "0, 0"
        charge = " | ".join(f"API_CHARGE_{word.upper()}" for word in c.charge) or "0"
        out += f", {charge}, API_RECORD_{c.record.upper()}, {bulk}}}, /* {c.name} */\n"
    out += "};\n"
    out += "\nconst struct api_signature api_signatures[] = {\n"
    for c in calls:
        out += (f"    {{{c.op}, API_REPLY_{c.reply.upper()}, {1 if c.bulk else 0}, "
                f"0x{codec.signature(c):08x}u}},\n")
    return out + ("};\nconst size_t api_signature_count = "
                  "sizeof api_signatures / sizeof api_signatures[0];\n")
