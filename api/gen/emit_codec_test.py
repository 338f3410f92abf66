# SPDX-License-Identifier: Apache-2.0
"""test_codec.c: the cases that api/tests/codec_checks.c runs six checks on."""
import codec
from model import SIZES
from text import HEADER


def _fill(call, side):
    """Statements that give every field a value that depends on `seed`."""
    out = []
    counts = {}
    for p, own in codec.fields(call, side):
        if p.shape in ("array", "bytes") and isinstance(p.count, str) and not own:
            counts[p.count] = 3
    for p, own in codec.fields(call, side):
        if p.shape == "string":
            out.append(f"to->{p.name} = codec_text(seed++);")
        elif p.shape in ("array", "bytes"):
            if own:
                out.append(f"to->{p.name}_count = 3;")
            count = p.count if isinstance(p.count, int) else 3
            out.append(f"to->{p.name} = codec_pattern({count * SIZES[p.kind]}, seed++);")
        elif p.name in counts:
            out.append(f"to->{p.name} = {counts[p.name]};")
        elif p.shape == "fixed":
            out.append(f"memcpy(to->{p.name}, codec_pattern(sizeof to->{p.name}, seed++), "
                       f"sizeof to->{p.name});")
        else:
            if p.optional and p.way == "in":
                out.append(f"to->{p.name}_given = 1;")
            value = "codec_number(seed++)"
            cast = "(float)" if p.kind == "f32" else f"({p.carrier})"
            out.append(f"to->{p.name} = {cast}{value};")
    return out


def _same(call, side):
    out = []
    for p, own in codec.fields(call, side):
        if p.shape == "string":
            out.append(f"codec_same_text(a->{p.name}, b->{p.name})")
        elif p.shape in ("array", "bytes"):
            if own:
                out.append(f"a->{p.name}_count == b->{p.name}_count")
            count = codec.count_of(p, own, "a")
            out.append(f"codec_same_bytes(a->{p.name}, b->{p.name}, "
                       f"(size_t){count} * {SIZES[p.kind]})")
        elif p.shape == "fixed":
            out.append(f"memcmp(a->{p.name}, b->{p.name}, sizeof a->{p.name}) == 0")
        else:
            if p.optional and p.way == "in":
                out.append(f"a->{p.name}_given == b->{p.name}_given")
            out.append(f"a->{p.name} == b->{p.name}")
    return " &&\n           ".join(out)


def _zero(call, side):
    """Fields that may not be left out: strings."""
    return [f'to->{p.name} = "";' for p, _ in codec.fields(call, side) if p.shape == "string"]


def _function(head, lines):
    return f"static {head}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n\n"


def _case(call, side):
    s = f"{call.name}_{side}"
    t = f"struct {s}"
    big = [p.name for p, _ in codec.fields(call, side)
           if p.shape == "string" or (p.big and isinstance(p.count, str))]
    out = _function(f"void {s}_fill(void *at, uint64_t seed)",
                    [f"{t} *to = at;", "(void)seed;"] + _fill(call, side))
    out += _function(f"void {s}_zero(void *at)",
                     [f"{t} *to = at;", "memset(to, 0, sizeof *to);"] + _zero(call, side))
    out += _function(f"bool {s}_same(const void *x, const void *y)",
                     [f"const {t} *a = x, *b = y;", f"return {_same(call, side)};"])
    out += _function(f"void {s}_put(struct ga_writer *w, const void *from)",
                     [f"{s}_write(w, from);"])
    out += _function(f"void {s}_get(struct ga_reader *r, void *to)", [f"{s}_read(r, to);"])
    out += _function(f"size_t {s}_most(const void *from)", [f"return {s}_bound(from);"])
    for name in big:
        out += _function(f"void {s}_lie_{name}(struct ga_writer *w, const void *x)",
                         [f"const {t} *from = x;", "(void)from;"]
                         + codec.writes(call, side, lying=name))
    lies = "".join(f"{s}_lie_{name}, " for name in big[:3])
    row = (f'    {{"{s}", sizeof({t}), {s}_fill, {s}_zero, {s}_same, {s}_put, {s}_get,\n'
           f"     {s}_most, {{{lies}NULL}}}},\n")
    return out, row


def source(model):
    functions, rows = "", ""
    for call in model.travelling():
        for side in ("args", "results"):
            if codec.fields(call, side):
                text, row = _case(call, side)
                functions += text
                rows += row
    return (HEADER + '#include <stdbool.h>\n#include <string.h>\n\n#include "api/calls.h"\n'
            '#include "api/tests/codec_checks.h"\n\n' + functions
            + f"const struct codec_case codec_cases[] = {{\n{rows}}};\n"
            "const size_t codec_case_count = sizeof codec_cases / sizeof codec_cases[0];\n")
