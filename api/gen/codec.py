# SPDX-License-Identifier: Apache-2.0
"""How the fields of a call become bytes: struct members, write, read and bound statements.

On the wire all values stand first, in order of declaration; arrays, bytes and strings follow.
"""
from model import C_OF, SIZES


def fields(call, side):
    """[(param, own_count)] of one side; own_count: the array brings a count field of its own."""
    params = call.args() if side == "args" else call.results()
    return [(p, _own_count(call, p, side)) for p in params]


def _own_count(call, p, side):
    return (p.shape in ("array", "bytes") and isinstance(p.count, str)
            and side == "results" and not call.is_result(p.count))


def count_of(p, own, base):
    """C expression of the number of elements."""
    if isinstance(p.count, int):
        return str(p.count)
    return f"{base}->{p.name}_count" if own else f"{base}->{p.count}"


def members(call, side):
    out = []
    for p, own in fields(call, side):
        if p.shape == "string":
            out.append(f"const char *{p.name};" + (" /* may be NULL */" if p.optional else ""))
        elif p.shape in ("array", "bytes"):
            if own:
                out.append(f"uint32_t {p.name}_count;")
            element = "void" if p.shape == "bytes" else p.carrier
            out.append(f"const {element} *{p.name}; /* borrowed */")
        elif p.shape == "fixed":
            out.append(f"{p.carrier} {p.name}[{p.fixed}];")
        else:
            if p.optional and p.way == "in":
                out.append(f"uint32_t {p.name}_given;")
            note = f" /* {p.ctype.replace(' *', '')} */" if p.handle or p.kind not in (
                "f32", "f64") and "CU" in p.ctype else ""
            out.append(f"{p.carrier} {p.name};{note}")
    return out


def _present(p):
    """Optional arrays and bytes say on the wire whether they are there."""
    return p.optional and p.way == "in" and p.shape in ("array", "bytes")


def _head(values):
    """[(offset, gap before it, value)] of values that stand first in a message, and `1, bytes,
    alignment` of all of them. A value: (kind, elements or None, expression)."""
    out, at = [], 0
    for value in values:
        size = SIZES[value[0]]
        start = (at + size - 1) // size * size
        out.append((start, start - at, value))
        at = start + size * (value[1] or 1)
    return out, f"1, {at}, {max((SIZES[value[0]] for value in values), default=1)}"


def _write_head(values, w):
    """One check for all of them: where each of them stands is known."""
    places, room = _head(values)
    if not values:
        return []
    out = [f"uint8_t *at = ga_write_room({w}, {room});", "if (at != NULL) {"]
    for offset, gap, (kind, count, value) in places:
        if gap:
            out.append(f"    memset(at + {offset - gap}, 0, {gap});")
        out.append(f"    memcpy(at + {offset}, {value}, {count * SIZES[kind]});" if count
                   else f"    {_call('put', kind)}(at + {offset}, {value});")
    return out + ["}"]


def _read_head(values):
    places, room = _head(values)
    if not values:
        return []
    out = [f"const uint8_t *at = ga_read_array(r, {room});", "if (at == NULL) {",
           "    memset(to, 0, sizeof *to);", "    return;", "}"]
    for offset, _, (kind, count, to) in places:
        out.append(f"memcpy({to}, at + {offset}, {count * SIZES[kind]});" if count
                   else f"{to} = {_call('get', kind)}(at + {offset});")
    return out


def values_bytes(call):
    """Of arguments that are plain numbers, as a frame has them: padded."""
    _, room = _head([(p.kind, p.fixed or None, "") for p in call.args()])
    return (int(room.split(", ")[1]) + 15) // 16 * 16


def writes(call, side, w="w", base="from", lying=None):
    """Statements that write `side`. `lying` (tests): this parameter's count or length is huge."""
    values, bulky = [], []
    counts = {p.count for p, own in fields(call, side) if lying == p.name and not own}
    for p, own in fields(call, side):
        if not p.big:
            if p.shape != "fixed" and p.optional and p.way == "in":
                values.append(("u32", None, f"{base}->{p.name}_given"))
            value = "0x7ffffff0" if p.name in counts else f"{base}->{p.name}"
            values.append((p.kind, p.fixed if p.shape == "fixed" else None, value))
            continue
        if _present(p):
            values.append(("u32", None, f"{base}->{p.name} != NULL"))
        if own:
            value = "0x7ffffff0" if lying == p.name else f"{base}->{p.name}_count"
            values.append(("u32", None, value))
        bulky += _write_big(p, own, w, base, lying)
    return _write_head(values, w) + bulky


def _call(verb, kind):
    return f"ga_{verb}_{'u64' if kind == 'i64' else kind}"


def _write_big(p, own, w, base, lying):
    if p.shape == "string":
        if lying == p.name:
            return [f"ga_write_u32({w}, 0x7ffffff0);"]
        return [f"ga_write_string({w}, {base}->{p.name});"]
    size = SIZES[p.kind]
    align = 16 if p.shape == "bytes" else size
    count = "1" if lying == p.name else count_of(p, own, base)
    text = f"ga_write_array({w}, {base}->{p.name}, {count}, {size}, {align});"
    return [f"if ({base}->{p.name} != NULL) {{", f"    {text}", "}"] if _present(p) else [text]


def reads(call, side):
    """Statements that fill `to`: with zeros, if the message is too short for its values."""
    values, bulky = [], []
    for p, own in fields(call, side):
        if not p.big:
            if p.shape != "fixed" and p.optional and p.way == "in":
                values.append(("u32", None, f"to->{p.name}_given"))
            values.append((p.kind, p.fixed if p.shape == "fixed" else None, f"to->{p.name}"))
            continue
        if _present(p):
            values.append(("u32", None, f"uint32_t {p.name}_given"))
        if own:
            values.append(("u32", None, f"to->{p.name}_count"))
        bulky += _read_big(p, own)
    return _read_head(values) + bulky


def _read_big(p, own):
    if p.shape == "string":
        out = [f"to->{p.name} = ga_read_string(r, {p.most or 65536});"]
        if not p.optional and p.way == "in":
            out += [f"if (to->{p.name} == NULL) {{", "    r->failed = true;", "}"]
        return out
    size = SIZES[p.kind]
    align = 16 if p.shape == "bytes" else size
    count = count_of(p, own, "to")
    out = []
    if p.most and not isinstance(p.count, int):
        out += [f"if ({count} > {p.most}) {{", "    r->failed = true;", "}"]
    text = f"ga_read_array(r, {count}, {size}, {align});"
    if _present(p):
        text = f"{p.name}_given != 0 ? {text[:-1]} : NULL;"
    return out + [f"to->{p.name} = {text}"]


def bound(call, side):
    """C expression: no message of these values is longer. Loose: alignment is added everywhere."""
    fixed, terms = 16, []
    for p, own in fields(call, side):
        if p.shape == "string":
            fixed += 8
            terms.append(f"api_string_bytes(from->{p.name})")
        elif p.big:
            fixed += 24
            terms.append(f"(size_t){count_of(p, own, 'from')} * {SIZES[p.kind]}")
        else:
            fixed += (p.fixed or 1) * SIZES[p.kind] + 8
    return " + ".join([str((fixed + 15) // 16 * 16)] + terms)


def shape(call):
    """Text whose hash tells whether two ends mean the same by an op."""
    parts = [call.name, call.reply]
    for side in ("args", "results"):
        for p, own in fields(call, side):
            parts.append(f"{side[0]}:{p.kind}:{p.shape}:{p.fixed or p.count or ''}"
                         f":{'o' if p.optional else ''}{'c' if own else ''}")
    return " ".join(parts + [call.bulk or ""])


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def signature(call):
    """The 32 bits of it that travel (api/signatures.h)."""
    value = fnv1a(shape(call))
    return (value >> 32) ^ (value & 0xFFFFFFFF)


def carrier_name(kind):
    return C_OF[kind]
