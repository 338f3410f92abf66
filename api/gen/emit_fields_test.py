# SPDX-License-Identifier: Apache-2.0
"""call_fields.c: what each field of each call means, for server/tests/test_fields.c.

A message's field that is named like a handle is one (api/cuda/messages.api); a device address is a
CUdeviceptr, or has one of the names below.
"""
import codec
from text import HEADER

ADDRESSES = {"dst", "src", "address"}
# Messages that make what the handle names.
MAKES = {("ga_context_create", "context"), ("ga_context_create_part", "context"),
         ("ga_green_create", "stream"), ("ga_green_stream", "stream"), ("ga_module_load", "module"),
         ("ga_module_function", "function"), ("ga_array_create", "array"),
         ("ga_mipmap_create", "mipmap"), ("ga_array_level", "array"),
         ("ga_texture_create", "texture"), ("ga_surface_create", "texture"),
         ("ga_physical_create", "physical")}


def _kind(call, p, model, counts):
    nouns = set(model.handles.values())
    noun = p.handle or (p.name if p.name in nouns else None)
    if p.way == "make" or (call.name, p.name) in MAKES:
        return f"FIELD_NEW, GA_HANDLE_{noun.upper()}"
    if noun:
        return f"FIELD_HANDLE, GA_HANDLE_{noun.upper()}"
    if p.ctype == "CUdeviceptr" or p.name in ADDRESSES:
        return "FIELD_ADDRESS, 0"
    return "FIELD_COUNT, 0" if p.name in counts else "FIELD_NUMBER, 0"


def _call(call, model):
    counts = {p.count for p, own in codec.fields(call, "args") if p.big and not own}
    counts |= {call.bulk}
    fields, lines = [], []
    for p, own in codec.fields(call, "args"):
        if p.shape == "string":
            lines.append(f'args.{p.name} = "f";')
            continue
        if p.big:
            lines.append(f"args.{p.name} = (const void *)field_bytes;")
            if own:
                lines.append(f"args.{p.name}_count = 1;")
            continue
        value = f"({p.carrier})v[{len(fields)}]"
        if p.shape == "fixed":
            lines += [f"args.{p.name}[{i}] = {value};" for i in range(p.fixed)]
        else:
            if p.optional and p.way == "in":
                lines.append(f"args.{p.name}_given = 1;")
            lines.append(f"args.{p.name} = {value};")
        fields.append(f'{{"{p.name}", {_kind(call, p, model, counts)}}}')
    function = ""
    if call.args():
        body = "".join(f"    {line}\n" for line in lines)
        function = (f"static void write_{call.name}(struct ga_writer *writer, const uint64_t *v)\n"
                    f"{{\n    struct {call.name}_args args = {{0}};\n{body}"
                    f"    {call.name}_args_write(writer, &args);\n}}\n\n")
    row = (f'    {{"{call.name}", {call.op}, {"true" if call.bulk else "false"}, {len(fields)},\n'
           f"     {{{', '.join(fields)}}},\n"
           f"     {'write_' + call.name if function else 'NULL'}}},\n")
    return function, row


def source(model):
    functions, rows = "", ""
    for call in model.travelling():
        function, row = _call(call, model)
        functions, rows = functions + function, rows + row
    return (HEADER + '#include "api/calls.h"\n#include "server/tests/fields.h"\n\n' + functions
            + f"const struct field_call field_calls[] = {{\n{rows}}};\n"
            "const unsigned field_call_count = sizeof field_calls / sizeof field_calls[0];\n")
