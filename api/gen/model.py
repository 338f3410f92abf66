# SPDX-License-Identifier: Apache-2.0
"""What the stanzas mean: calls with typed parameters, checked.

A reader would think parameter types are C's: they are wire kinds (u32, u64, ...). How a C type
travels is said by `type` and `handle` stanzas (api/cuda/types.api).
"""
import re

from parse import ApiError

SIZES = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f32": 4, "f64": 8}
C_OF = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "i32": "int32_t",
        "u64": "uint64_t", "i64": "int64_t", "f32": "float", "f64": "double"}
BASIC = {"int": "i32", "unsigned int": "u32", "unsigned char": "u8", "unsigned short": "u16",
         "size_t": "u64", "unsigned long long": "u64", "float": "f32", "double": "f64",
         "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "int32_t": "i32",
         "uint64_t": "u64", "int64_t": "i64", "cuuint64_t": "u64", "cuuint32_t": "u32"}
OP_FIRST, OP_LAST = 64, 2047  # below: frames of the wire itself; above: API_OPS, never
CHOICES = {"client": ("auto", "manual", "front", "no"), "reply": ("wait", "async", "chunks"),
           "server": ("auto", "custom"), "soft": ("yes", "no", "front"),
           "capture": ("hook", "refused", "unsafe", "legacy")}
ENGINES = ("none", "compute", "h2d", "d2h", "both")
WORK = ("nothing", "short", "lasting")
CHARGES = ("device", "host", "object")
RECORDS = ("none", "makes", "sets", "drops", "memory", "work")
OF_AN_OBJECT = ("makes", "sets", "drops")  # and which one


class Param:
    """One parameter. way: value, in, out, make. shape: one, fixed, array, bytes, string."""

    def __init__(self, ctype, name, fixed):
        self.ctype, self.name, self.fixed = ctype, name, fixed
        self.way, self.shape = "value", "fixed" if fixed else "one"
        self.kind = None    # wire kind of the value, pointee or element
        self.handle = None  # noun of a handle type
        self.count = None   # parameter name or int
        self.optional, self.zeroed, self.most, self.line = False, False, None, None

    @property
    def pointer(self):
        return self.ctype.endswith("*")

    @property
    def pointee(self):
        return re.sub(r"\bconst\b", "", self.ctype[:-1]).strip()

    @property
    def big(self):
        """Travels after the values."""
        return self.shape in ("array", "bytes", "string")

    @property
    def carrier(self):
        return C_OF[self.kind]


class Range:
    """Device bytes that a call touches: product of factors, or pitched rows."""

    def __init__(self, param, factors=None, pitched=None):
        self.param, self.factors, self.pitched = param, factors, pitched


class Call:
    def __init__(self, stanza):
        self.stanza, self.name = stanza, stanza.words[0]
        self.message = stanza.head == "message"
        self.op = self.client = self.reply = self.server = self.soft = None
        self.capture = self.engine = self.work = self.bulk_max = self.record = None
        self.charge = []
        self.since = 0
        self.params, self.ranges, self.masks, self.lasts = [], [], [], []
        self.ptsz, self.ptds, self.alias, self.drop, self.bulk = [], [], [], None, None

    def param(self, name, line):
        for p in self.params:
            if p.name == name:
                return p
        line.fail(f"{self.name} has no parameter '{name}'")

    def has(self, name):
        return any(p.name == name for p in self.params)

    def args(self):
        return [p for p in self.params if p.way in ("value", "in", "make")]

    def results(self):
        return [p for p in self.params if p.way == "out"]

    def is_result(self, name):
        return any(p.name == name and p.way == "out" for p in self.params)

    def exported(self):
        """Every exported symbol that this stanza describes."""
        return [] if self.message else (
            [self.name] + self.alias + self.ptsz + [name for name, _, _ in self.ptds])


class Model:
    def __init__(self):
        self.calls, self.messages = [], []
        self.unsupported, self.absent = {}, {}  # name -> stanza
        self.kinds, self.handles = dict(BASIC), {}  # C type -> kind; C type -> noun
        self.declared = []  # (C type, kind) from type stanzas
        self.constants = {}  # name -> value

    def travelling(self):
        return sorted((c for c in self.calls + self.messages if c.op), key=lambda c: c.op)


def _number(model, text, where):
    """A number, or the constant of that name."""
    if text.isdigit():
        return int(text)
    if text not in model.constants:
        where.fail(f"no such constant: {text}")
    return model.constants[text]


def _split_params(model, stanza):
    if stanza.prototype in ("void", ""):
        return []
    out = []
    for text in stanza.prototype.split(","):
        text = text.strip()
        match = re.fullmatch(r"(.*?[\s*])(\w+)(?:\[(\w+)\])?", text)
        if not match:
            stanza.fail(f"cannot read parameter '{text}'")
        ctype = re.sub(r"\s*\*\s*", " *", match.group(1)).strip()
        ctype = re.sub(r"\* \*", "**", re.sub(r"\s+", " ", ctype))
        out.append(Param(ctype, match.group(2), _number(model, match.group(3) or "0", stanza)))
    return out


def _shape_words(model, call, param, line):
    for word in line.words[1:]:
        match = re.fullmatch(r"(bytes|array|chars)\((\w+)\)", word)
        if match:
            param.shape = "string" if match.group(1) == "chars" else match.group(1)
            count = match.group(2)
            param.count = int(count) if count.isdigit() else call.param(count, line).name
        elif word == "string":
            param.shape = "string"
        elif word == "optional":
            param.optional = True
        elif word == "zeroed" and param.way == "out" and param.shape == "one":
            param.zeroed = True
        elif re.fullmatch(r"most=\w+", word):
            param.most = _number(model, word[5:], line)
        else:
            line.fail(f"unknown word '{word}' after '{line.key} {param.name}'")


def _travel_line(model, call, line):
    param = call.param(line.words[0], line)
    if param.line is not None:
        line.fail(f"'{param.name}' is described twice")
    if not param.pointer and not param.fixed:
        line.fail(f"'{param.name}' is not a pointer")
    param.way, param.line = line.key, line
    _shape_words(model, call, param, line)
    if line.key == "out" and "const" in param.ctype:
        line.fail(f"'{param.name}' is const: it cannot be an output")


def _type_params(model, call):
    for p in call.params:
        base = p.pointee if p.pointer else re.sub(r"\bconst\b", "", p.ctype).strip()
        if p.pointer and p.way == "value":
            call.stanza.fail(f"pointer parameter '{p.name}' of {call.name} needs an in, out or "
                             "make line")
        if p.shape in ("bytes", "string"):
            p.kind = "u8"
        elif base in model.handles:
            p.kind, p.handle = "u64", model.handles[base]
        elif base in model.kinds:
            p.kind = model.kinds[base]
        else:
            call.stanza.fail(f"type '{base}' of parameter '{p.name}' is not known: add a type "
                             "or handle stanza")
        if p.way == "make" and p.handle is None:
            p.line.fail(f"'{p.name}' is not a pointer to a handle type")
        if isinstance(p.count, str):
            other = call.param(p.count, p.line)
            if other.shape != "one" or (other.way != "value" and other.way != p.way):
                p.line.fail(f"the count '{p.count}' must be a plain value that travels with "
                            f"'{p.name}'")


def _range_line(call, line):
    param = call.param(line.words[0], line)
    text = "".join(line.words[1:])
    match = re.fullmatch(r"pitched\(([^,]+),([^,]+),([^,]+)\)", text)

    def factors(expression):
        for factor in expression.split("*"):
            if not factor.isdigit():
                call.param(factor, line)
        return expression.split("*")

    if match:
        call.ranges.append(Range(param, pitched=[factors(g) for g in match.groups()]))
    elif text:
        call.ranges.append(Range(param, factors=factors(text)))
    else:
        line.fail("range wants: parameter bytes, or parameter pitched(pitch, width, rows)")


def _ptds_line(call, line):
    words = line.words
    if len(words) == 1:
        call.ptds.append((words[0], None, None))
    elif len(words) == 4 and words[1] == "via" and words[3] == "wait":
        call.ptds.append((words[0], words[2], None))
    elif len(words) in (5, 6) and words[1] == "via" and words[3] == "settle":
        call.ptds.append((words[0], words[2], (words[4:] + ["0"])[:2]))
    else:
        line.fail("ptds wants: symbol, or symbol via other_call wait, or symbol via other_call "
                  "settle to [from]")


def _bulk_line(model, call, line):
    words = line.words
    if len(words) > 2 or (len(words) == 2 and not re.fullmatch(r"most=\w+", words[1])):
        line.fail("bulk wants: parameter or chunk, then perhaps most=N")
    call.bulk = words[0] if words[0] == "chunk" else call.param(words[0], line).name
    call.bulk_max = _number(model, words[1][5:], line) if len(words) == 2 else 0


def _choices(call):
    for key, allowed in CHOICES.items():
        line = call.stanza.one(key)
        if line:
            if len(line.words) != 1 or line.words[0] not in allowed:
                line.fail(f"'{key}' is one of: {' '.join(allowed)}")
            setattr(call, key, line.words[0])
    for key in ("op", "since"):
        line = call.stanza.one(key)
        if line:
            if not line.words[0].isdigit():
                line.fail(f"'{key}' wants a number")
            setattr(call, key, int(line.words[0]))
            if key == "op" and not OP_FIRST <= call.op <= OP_LAST:
                line.fail(f"op {call.op} is outside {OP_FIRST}..{OP_LAST}")


def _engine(call):
    line = call.stanza.one("engine")
    if line is None:
        call.stanza.fail(f"{call.name} has an op and no 'engine' line")
    if len(line.words) != 2 or line.words[0] not in ENGINES or line.words[1] not in WORK:
        line.fail(f"engine wants: one of {' '.join(ENGINES)}, then one of {' '.join(WORK)}")
    call.engine, call.work = line.words


def _charge(call):
    """What the call takes of what an application may have."""
    line = call.stanza.one("charge")
    if line is None:
        call.stanza.fail(f"{call.name} has an op and no 'charge' line")
    call.charge = [] if line.words == ["none"] else line.words
    if len(set(call.charge)) != len(call.charge) or set(call.charge) - set(CHARGES):
        line.fail(f"charge wants: none, or some of {' '.join(CHARGES)}")


def _record(call):
    """What must be kept of the call, so that what it leaves behind can be made again."""
    line = call.stanza.one("record")
    if line is None:
        call.stanza.fail(f"{call.name} has an op and no 'record' line")
    call.record = line.words[0]
    if call.record not in RECORDS:
        line.fail(f"record wants one of: {' '.join(RECORDS)}")
    named = call.record in OF_AN_OBJECT
    if len(line.words) != (2 if named else 1):
        line.fail(f"record {call.record} wants " + ("the object's parameter" if named else
                                                    "nothing else"))
    made, dropped = call.stanza.one("make"), call.stanza.one("drop")
    for key, said in (("makes", made), ("drops", dropped)):
        if said is not None and line.words != [key, said.words[0]]:
            line.fail(f"'{said.key} {said.words[0]}' wants: record {key} {said.words[0]}")
    if named and line.words != ["sets", "current"]:
        call.param(line.words[1], line)
    if call.record == "makes" and "object" not in call.charge:
        line.fail("who makes an object charges one: charge object")
    if call.record in ("none", "drops", "work") and set(call.charge) & {"device", "object"}:
        line.fail(f"record {call.record}, but what is charged ({' '.join(call.charge)}) stays")
    if call.engine != "none" and call.record != "work":
        line.fail(f"a call with engine {call.engine} is work: record work")


def _completeness(call):
    fail = call.stanza.fail
    if call.message:
        call.client, call.soft = call.client or "manual", call.soft or "no"
        if call.op is None:
            fail(f"message {call.name} has no op")
    for key in ("client", "soft"):
        if getattr(call, key) is None:
            fail(f"{call.name} has no '{key}' line")
    if (call.client == "front") != (call.soft == "front"):
        fail(f"{call.name}: front/ implements a call for both libraries or for none")
    if call.op is None:
        for key in ("reply", "server", "in", "out", "make", "drop", "range", "bulk", "engine",
                    "charge", "record"):
            if call.stanza.one(key):
                call.stanza.one(key).fail(f"'{key}' without an op: {call.name} never travels")
        if call.client == "auto":
            fail(f"{call.name}: 'client auto' wants an op")
        return
    for key in ("reply", "server"):
        if getattr(call, key) is None:
            fail(f"{call.name} has an op and no '{key}' line")
    _engine(call)
    _charge(call)
    _record(call)
    if call.reply == "async" and call.stanza.one("out"):
        call.stanza.one("out").fail("an async call has no results")


def _auto_limits(call):
    for p in call.params:
        if call.server == "auto" and p.way == "out" and (p.shape != "one" or p.handle):
            p.line.fail(f"'{p.name}': server auto writes plain values only; say server custom")
        if call.client == "auto" and p.way == "out" and (p.shape != "one" or p.handle):
            p.line.fail(f"'{p.name}': client auto reads plain values only; say client manual")
        if "auto" in (call.client, call.server) and p.way == "in" and p.handle:
            p.line.fail(f"'{p.name}': an auto call sends no arrays of handles")


def _build_call(model, stanza):
    call = Call(stanza)
    call.params = _split_params(model, stanza)
    _choices(call)
    _completeness(call)
    for line in stanza.lines:
        if line.key in ("in", "out", "make"):
            _travel_line(model, call, line)
        elif line.key == "range":
            _range_line(call, line)
        elif line.key == "ptds":
            _ptds_line(call, line)
        elif line.key in ("ptsz", "alias"):
            getattr(call, line.key).extend(line.words)
        elif line.key == "mask":
            if len(line.words) != 2:
                line.fail("mask wants: parameter allowed_bits")
            call.masks.append((call.param(line.words[0], line), int(line.words[1], 0)))
        elif line.key == "last":
            if len(line.words) != 2:
                line.fail("last wants: parameter last_value")
            call.lasts.append((call.param(line.words[0], line), line.words[1]))
        elif line.key == "drop":
            call.drop = call.param(line.words[0], line)
        elif line.key == "bulk":
            _bulk_line(model, call, line)
    if call.op is not None:
        _type_params(model, call)
        _auto_limits(call)
        if call.bulk and any(p.big or p.way != "value" for p in call.args()):
            stanza.one("bulk").fail("bulk stands behind plain values alone")
        if call.bulk and (call.server == "auto" or call.ranges):
            stanza.one("bulk").fail("who takes the bulk also checks the range: say server custom, "
                                    "and no range")
        if call.drop is not None and call.drop.handle is None:
            stanza.one("drop").fail(f"'{call.drop.name}' is not a handle")
        if call.drop is not None and call.server == "auto":
            stanza.one("drop").fail("what ends on the server is by hand: say server custom")
    if call.ptsz and not any(p.ctype in ("CUstream", "const CUlaunchConfig *")
                             for p in call.params):
        stanza.one("ptsz").fail(f"{call.name} has no CUstream parameter: that is ptds")
    return call


def _names_once(model):
    seen, ops = {}, {}
    for call in model.calls + model.messages:
        for name in call.exported() or [call.name]:
            if name in seen:
                call.stanza.fail(f"{name} is already described at {seen[name]}")
            seen[name] = f"{call.stanza.path}:{call.stanza.number}"
        if call.op is not None:
            if call.op in ops:
                call.stanza.one("op").fail(f"op {call.op} is already {ops[call.op]}")
            ops[call.op] = call.name
    for group in (model.unsupported, model.absent):
        for name, stanza in group.items():
            if name in seen:
                stanza.fail(f"{name} is already described at {seen[name]}")
            seen[name] = f"{stanza.path}:{stanza.number}"


def _ptds_targets(model):
    known = {c.name: c for c in model.calls}
    for call in model.calls:
        for _, via, _ in call.ptds:
            if via and via not in known:
                call.stanza.one("ptds").fail(f"via {via}: no such call")


def _constant(model, stanza):
    words = stanza.words
    if len(words) != 2 or not re.fullmatch(r"API_[A-Z][A-Z0-9_]*", words[0]) or \
            not re.fullmatch(r"\d+|0x[0-9a-f]+|\d+<<\d+", words[1]):
        stanza.fail("constant wants: API_NAME number")
    if words[0] in model.constants:
        stanza.fail(f"{words[0]} is defined twice")
    number, _, shift = words[1].partition("<<")
    model.constants[words[0]] = int(number, 0) << int(shift or "0")


def build(stanzas, cuda_version=0):
    """Stanzas of all files -> Model. Calls newer than `cuda_version` (0: any) are left out."""
    model = Model()
    for s in stanzas:
        if s.head == "type":
            if len(s.words) != 2 or s.words[1] not in SIZES:
                s.fail(f"type wants: C_type kind, kind one of {' '.join(SIZES)}")
            model.kinds[s.words[0]] = s.words[1]
            model.declared.append(tuple(s.words))
        elif s.head == "handle":
            if len(s.words) != 2:
                s.fail("handle wants: C_type noun")
            model.handles[s.words[0]] = s.words[1]
        elif s.head == "constant":
            _constant(model, s)
    for s in stanzas:
        if s.head in ("call", "message"):
            call = _build_call(model, s)
            if not cuda_version or call.since <= cuda_version:
                (model.messages if call.message else model.calls).append(call)
        elif s.head in ("unsupported", "absent"):
            group = getattr(model, s.head)
            for name in s.words:
                if name in group:
                    raise ApiError(s.path, s.number, f"{name} is named twice")
                group[name] = s
    _names_once(model)
    _ptds_targets(model)
    return model
