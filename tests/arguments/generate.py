#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From api/cuda/*.api and calls.txt to table.c: what can be wrong with each argument of each call.

    generate.py --gen api/gen --api api/cuda --calls calls.txt --cuda-version N --out table.c

The type of a parameter says what can be wrong with it. A word of calls.txt says more: `0:any`.
"""
import argparse
import os
import re
import sys

# role -> [(how, value, only ours)]. A value is a number or a function of good.h. Handles are
# pointers in NVIDIA's driver, which crashes on rubbish: such cases are `ours`.
HANDLE = [("null", 0, False), ("rubbish", 0x1230, True)]
ROLES = {
    "any": [],
    "device": [("minus_one", -1, False), ("one_too_many", "good_device_count", False)],
    "address": [("null", 0, False), ("wild", 0x1000, False), ("freed", "new_freed", False),
                ("odd", "good_block_odd", False), ("last_byte", "good_block_last", False),
                ("all_ones", -1, False),
                ("of_another_context", "good_other_block", False)],
    # Host or device memory: what is no device memory (any more) is taken for the host's.
    "unified": [("null", 0, False),
                ("odd", "good_block_odd", False), ("last_byte", "good_block_last", False),
                ("of_another_context", "good_other_block", False)],
    "size": [("zero", 0, False), ("large", 1 << 40, False), ("huge", -1, False)],
    "flags": [("all_bits", -1, False), ("top_bit", 0x80000000, False)],
    "int": [("minus_one", -1, False), ("zero", 0, False), ("huge", 0x7fffffff, False)],
    "enum": [("unknown", 0x7ffffff0, False), ("minus_one", -1, False)],
    "pointer": [("null", 0, False)],
    "string": [("null", 0, False), ("empty", "good_empty", False),
               ("unknown", "good_unknown", False)],
    "image": [("null", 0, False), ("text", "good_unknown", False),
              ("wrong_ptx", "good_wrong_ptx", False)],
    "pinned": [("null", 0, False), ("pageable", "good_host", False),
               ("inside", "good_pinned_inside", False), ("device", "good_block", False)],
    "context": HANDLE + [("stale", "new_dead_context", True), ("a_stream", "good_stream", True),
                         ("inactive", "new_inactive_context", True)],
    "stream": HANDLE + [("stale", "new_dead_stream", True), ("an_event", "good_event", True),
                        ("of_another_context", "good_other_stream", False)],
    "event": HANDLE + [("stale", "new_dead_event", True), ("a_stream", "good_stream", True),
                       ("of_another_context", "good_other_event", False)],
    "module": HANDLE + [("stale", "new_dead_module", True), ("a_function", "good_function", True),
                        ("of_another_context", "good_other_module", False)],
    "function": HANDLE + [("stale", "new_dead_function", True), ("a_module", "good_module", True),
                          ("of_another_context", "good_other_function", False)],
    "library": HANDLE + [("stale", "new_dead_library", True), ("a_kernel", "good_kernel", True)],
    "reference": HANDLE + [("stale", "new_dead_reference", True),
                           ("a_surface", "new_surface_reference", True)],
    "surface_reference": HANDLE + [("stale", "new_dead_surface_reference", True),
                                   ("a_texture", "new_reference", True)],
    "kernel": HANDLE + [("stale", "new_dead_kernel", True), ("a_library", "good_library", True)],
    "link": HANDLE + [("stale", "new_dead_link", True), ("a_stream", "good_stream", True)],
    "physical": HANDLE,
    "pool": HANDLE + [("stale", "new_dead_pool", True), ("a_stream", "good_stream", True)],
    "array": HANDLE + [("stale", "new_dead_array", True), ("a_mipmap", "good_mipmap", True),
                       ("of_another_context", "good_other_array", False)],
    "mipmap": HANDLE + [("stale", "new_dead_mipmap", True), ("an_array", "good_array", True)],
    "texture": HANDLE + [("stale", "new_dead_texture", True), ("a_surface", "good_surface", True),
                         ("of_another_context", "good_other_texture", False)],
    "surface": HANDLE + [("stale", "new_dead_surface", True), ("a_texture", "good_texture", True)],
}
ROLES.update({
    "graph": HANDLE + [("stale", "new_dead_graph", True), ("a_node", "good_kernel_node", True)],
    "node": HANDLE + [("stale", "new_dead_node", True), ("a_graph", "good_graph", True),
                      ("of_another_kind", "good_empty_node", False)],
    "exec": HANDLE + [("stale", "new_dead_exec", True), ("a_graph", "good_graph", True)],
    "object": HANDLE + [("stale", "new_dead_object", True)],
})
ROLES.update({
    "green": HANDLE + [("stale", "new_dead_green", True), ("a_context", "good_context", True)],
    "resources": HANDLE + [("a_stream", "good_stream", True)],
    "log_entry": HANDLE + [("stale", "new_dead_log_entry", True)],
})
GRID_WIDTHS = ("gridDimX", "grid_width")
SIZES = ("size_t", "unsigned int", "unsigned long long", "cuuint64_t", "cuuint32_t")


def role_of(param, handles):
    if param.ctype in handles:
        return handles[param.ctype]
    if param.ctype == "const char *":
        return "string"
    if param.pointer or re.fullmatch(r"CU\w+(Fn|Size|Callback)", param.ctype):
        return "pointer"
    known = {"CUdevice": "device", "CUdeviceptr": "address", "int": "int",
             "unsigned char": "any", "unsigned short": "any",
             "CUmemGenericAllocationHandle": "physical", "CUarray": "array",
             "CUgraph": "graph", "CUgraphNode": "node", "CUgraphExec": "exec",
             "CUuserObject": "object", "CUmipmappedArray": "mipmap",
             "CUmemoryPool": "pool", "CUtexObject": "texture",
             "CUsurfObject": "surface", "CUtexref": "reference",
             "CUsurfref": "surface_reference", "CUgreenCtx": "green",
             "CUdevResourceDesc": "resources", "CUlogsCallbackHandle": "log_entry"}
    if param.ctype in known:
        return known[param.ctype]
    if param.ctype in SIZES:
        return "flags" if "flags" in param.name.lower() else "size"
    return "enum"


class Row:
    """One call of calls.txt."""

    def __init__(self, where, name, words):
        self.where, self.name, self.words = where, name, words
        self.cases, self.skips, self.changes, self.beyond = [], set(), set(), set()
        self.fails, self.remote, self.alive = None, None, False
        self.remote_cases = {}  # (param, how) -> code


def fail(where, message):
    raise SystemExit(f"{where}: {message}")


def read_rows(path):
    rows, row, alive = {}, None, set()
    with open(path, encoding="utf-8") as file:
        for number, raw in enumerate(file, 1):
            where = f"{os.path.relpath(path)}:{number}"
            text, _, comment = raw.rstrip().partition("#")
            words = text.split()
            if not words:
                continue
            if words[0] == "alive" and comment.strip():
                alive.update(words[1:])
            elif not text.startswith(" "):
                if words[0] in rows:
                    fail(where, f"{words[0]} stands here twice")
                row = rows[words[0]] = Row(where, words[0], words[1:])
            elif words[0] == "case" and len(words) == 4:
                row.cases.append(tuple(words[1:]))
            elif words[0] == "skip" and len(words) == 3 and comment.strip():
                row.skips.add((words[1], words[2]))
            elif words[0] == "changes" and len(words) == 2 and comment.strip():
                row.changes.add(words[1])
            elif words[0] == "beyond" and len(words) == 2 and comment.strip():
                row.beyond.add(words[1])
            elif words[0] == "remote" and len(words) == 2 and comment.strip():
                row.remote = words[1]
            elif words[0] == "remote" and len(words) == 4 and comment.strip():
                row.remote_cases[words[1], words[2]] = words[3]
            elif words[0] == "fails" and len(words) == 2 and comment.strip():
                row.fails = words[1]
            else:
                fail(where, "neither a call nor a case, skip, changes, fails, remote or beyond "
                            "line; a comment says why except for a case")
    for name in alive:
        rows[name].alive = True
    return rows


def c_value(value):
    text = str(value)
    if re.fullmatch(r"-?\d+|0x[0-9a-f]+", text):
        return f"{{(uint64_t){text}{'' if text.startswith('-') else 'u'}, NULL}}"
    if text == "null":
        return "{0, NULL}"
    return f"{{0, {text if text.startswith(('good_', 'new_')) else 'good_' + text}}}"


def with_cases(call, row, handles):
    """[(param index, how, C value, second param index, ours)]"""
    out, roles = [], []
    for i, (p, word) in enumerate(zip(call.params, row.words)):
        role = word.partition(":")[2] or role_of(p, handles)
        roles.append(role)
        if role not in ROLES:
            fail(row.where, f"'{role}' is none of: {' '.join(ROLES)}")
        for how, value, ours in ROLES[role]:
            if word.startswith("new_"):  # the call consumes it
                value = str(value).replace("good_other_", "new_other_")
            if how == "large" and p.ctype == "unsigned int":
                continue  # the same bits as zero
            if role == "int" and how == "huge" and p.name in GRID_WIDTHS:
                continue  # 2147483647 blocks are allowed: they would run, for days
            if (p.name, how) not in row.skips:
                out.append((i, how, c_value(value), -1, ours))
    for name, how, value in row.cases:
        index = [i for i, p in enumerate(call.params) if p.name == name]
        if not index:
            fail(row.where, f"{call.name} has no parameter {name}")
        out.append((index[0], how, c_value(value), -1, False))
    nouns = set(handles.values()) - {"stream"}
    first = [i for i, role in enumerate(roles) if role in nouns]
    second = [i for i, role in enumerate(roles) if role in ("pointer", "string")]
    if first and second:
        out.append((first[0], "null", "{0, NULL}", second[0], False))
    return out


def emit_call(call, row):
    arguments = ", ".join(
        f"({p.ctype})(uintptr_t)v[{i}]" if p.pointer else f"({p.ctype})v[{i}]"
        for i, p in enumerate(call.params))
    unused = "" if call.params else "    (void)v;\n"
    run = (f"static CUresult run_{call.name}(const uint64_t *v)\n{{\n{unused}"
           f"    return driver.{call.name}({arguments});\n}}\n\n")
    right, rooms, kept = [], 0, 0
    for i, (p, word) in enumerate(zip(call.params, row.words)):
        value = word.partition(":")[0]
        if value == "out":
            rooms |= 1 << i
            kept |= 0 if p.name in row.changes else 1 << i
            right.append("{0, NULL}")
        else:
            right.append(c_value(value))
    names = ", ".join(f'"{p.name}"' for p in call.params)
    entry = (f'    {{"{call.name}", {len(call.params)}, {{{names}}},\n'
             f"     {{{', '.join(right)}}},\n     0x{rooms:x}, 0x{kept:x}, "
             f"{'false' if call.client == 'no' else 'true'}, run_{call.name}}},\n")
    return run, entry


def emit(model, rows):
    runs, entries, wrongs, missing = "", "", "", []
    for call in model.calls:
        row = rows.get(call.name)
        if call.soft == "no" and call.client == "no":
            continue
        if row is None:
            missing.append(call.name)
            continue
        if ("*", "*") in row.skips:
            continue
        if len(row.words) != len(call.params):
            fail(row.where, f"{call.name} takes {len(call.params)} arguments")
        run, entry = emit_call(call, row)
        at = entries.count("run_")
        runs, entries = runs + run, entries + entry
        for i, how, value, also, ours in with_cases(call, row, model.handles):
            wrongs += (f'    {{&calls[{at}], {i}, "{how}", {value}, {also}, '
                       f"{'true' if ours else 'false'}}},\n")
    known = {call.name for call in model.calls}
    for row in rows.values():
        if row.name not in known:
            print(f"{row.where}: {row.name} is not described for this toolkit", file=sys.stderr)
    unknown = "".join(f'    "{name}",\n' for name in missing)
    return ('/* Generated by tests/arguments/generate.py. */\n#include "tests/arguments/good.h"\n'
            f'#include "tests/arguments/table.h"\n\n{runs}const struct call calls[] = {{\n'
            f"{entries}}};\nconst unsigned call_count = sizeof calls / sizeof calls[0];\n\n"
            f"const struct wrong wrongs[] = {{\n{wrongs}}};\n"
            "const unsigned wrong_count = sizeof wrongs / sizeof wrongs[0];\n\n"
            f"const char *const calls_without_arguments[] = {{\n{unknown}    NULL,\n}};\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--gen", "--api", "--calls", "--cuda-version", "--out"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    sys.path.insert(0, options.gen)
    import generate as api  # pylint: disable=import-outside-toplevel
    model = api.load(options.api, int(options.cuda_version))
    with open(options.out, "w", encoding="utf-8") as out:
        out.write(emit(model, read_rows(options.calls)))


if __name__ == "__main__":
    main()
