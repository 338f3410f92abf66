#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of pages that are made of tables of the source:

    docs/gpuaasctl.schema.json  limits (api/limits.def), usage (STORE_FIGURES in store/usage.h), and
                                the list of kinds, which are the definitions with a capital letter
    docs/admin-protocol.md      verbs (server/admin/admin_verbs.def)

    scripts/tables.py           writes them
    scripts/tables.py --scheduling
                                writes what `gpuaas-sim tables` says into docs/scheduling.md, from
                                its standard input (the test sim.tables compares)
    scripts/tables.py --check   says what is not as it should be; also whether docs/quotas.md has
                                each limit, and a verb's text each of its arguments
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEXT = r'"((?:[^"\\]|\\.)*)"'
LIMIT = re.compile(rf"(?m)^LIMIT\(\w+, {TEXT}, {TEXT},")
FIGURE = re.compile(rf"(?m)^    FIGURE\(\w+, \w+, {TEXT},")
VERB = re.compile(rf"(?m)^(?:VERB\({TEXT}, (true|false)|(?:READ|LIST)\({TEXT}), \w+, "
                  rf"{TEXT}, {TEXT}, "
                  r"(.*)\)$")
ARGUMENT = re.compile(rf"(?:TEXT|TEXT_OPTIONAL|NUMBER)\({TEXT}\)|{{{TEXT}, ADMIN_\w+, \w+}}|"
                      r"\b(GENERATION|AFTER)\b")
COUNT = '{"$ref": "#/definitions/count_or_null"}'


class Wrong(Exception):
    """The page or the table does not look as this script expects."""


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def rows(root, path, row):
    found = row.findall(read(root, path))
    if not found:
        raise Wrong(f"{path}: there are no rows")
    return found


def between(text, begin, end, made):
    """The text with `made` in the place of what lies between the two lines, which stay."""
    head, found, rest = text.partition(begin)
    old, ends, tail = rest.partition(end)
    if not found or not ends:
        raise Wrong(f"there is no {begin.strip()!r} with {end.strip()!r} behind it")
    return head + begin + made + end + tail


def plain(text):
    return re.sub(r"\\(.)", r"\1", text)


# ---- docs/gpuaasctl.schema.json


def required(names):
    return '      "required": [' + ", ".join(f'"{name}"' for name in names) + "],\n"


def properties(names):
    return ",\n".join(f'        "{name}": {COUNT}' for name in names) + "\n"


def schema(root, text):
    limits = [json for _, json in rows(root, "api/limits.def", LIMIT)]
    text = between(text, '    "limits": {\n      "type": "object",\n',
                   '      "additionalProperties": false,\n', required(limits))
    text = between(text, '      "additionalProperties": false,\n      "properties": {\n',
                   '      }\n    },\n    "tenant": {\n', properties(limits))
    figures = rows(root, "store/usage.h", FIGURE)
    text = between(text, '    "usage": {\n      "type": "object",\n', '      "properties": {\n',
                   required(["sessions", *figures]))
    head, usage, tail = text.partition('    "usage": {\n')
    tail = between(tail, '        "sessions": {"$ref": "#/definitions/count"},\n',
                   '      },\n      "additionalProperties": false\n', properties(figures))
    kinds = re.findall(r'(?m)^    "([A-Z]\w*)": \{$', text)
    listed = re.findall(r'(?m)^    \{"\$ref": "#/definitions/(\w+)"\},?$', head)
    order = listed + kinds
    kinds.sort(key=order.index)  # new ones at the end
    made = ",\n".join(f'    {{"$ref": "#/definitions/{kind}"}}' for kind in kinds) + "\n"
    return between(head + usage + tail, '  "oneOf": [\n', "  ],\n", made)


# ---- docs/admin-protocol.md


def verbs(root):
    """(name, whether it changes something, text of arguments, of the result, arguments)"""
    for name, changes, reads, arguments, result, table in rows(root, "server/admin/admin_verbs.def",
                                                               VERB):
        found = ["".join(groups).lower() for groups in ARGUMENT.findall(table)]
        yield name or reads, changes == "true", plain(arguments), plain(result), found


def protocol(root, text):
    made = "".join(f"| `{name}` | {arguments}{' ' if arguments else ''}| "
                   f"{'yes ' if changes else ''}| {result} |\n"
                   for name, changes, arguments, result, _ in verbs(root))
    return between(text, "| verb | arguments | changes | result |\n|---|---|---|---|\n",
                   "\nIf `generation` is given", made)


PAGES = {"docs/gpuaasctl.schema.json": schema, "docs/admin-protocol.md": protocol}


# ---- checks


def findings(root=ROOT):
    for path, make in PAGES.items():
        text = read(root, path)
        if make(root, text) != text:
            yield path, "is not what the tables make: run scripts/tables.py"
    quotas = read(root, "docs/quotas.md")
    for key, _ in rows(root, "api/limits.def", LIMIT):
        if not re.search(rf"(?m)^\| `{re.sub('-(day|month)$', '', key)}`", quotas):
            yield "docs/quotas.md", f"the limit {key} of api/limits.def has no row"
    for name, _, arguments, _, table in verbs(root):
        named = re.findall(r"`([a-z_]+)`", arguments)
        if sorted(named) != sorted(table):
            yield ("server/admin/admin_verbs.def", f"the text of {name} names the arguments "
                   f"{', '.join(named) or 'none'}; it has {', '.join(table) or 'none'}")


def written(path, text):
    with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    if sys.argv[1:] not in ([], ["--check"], ["--scheduling"]):
        sys.exit(__doc__)
    try:
        if sys.argv[1:] == ["--scheduling"]:
            page = "docs/scheduling.md"
            written(page, between(read(ROOT, page), "<!-- gpuaas-sim tables -->\n", "<!-- end -->",
                                  sys.stdin.read()))
            return 0
        if sys.argv[1:]:
            wrong = [f"{path}: {text}" for path, text in findings()]
            print("\n".join(wrong) or "the tables and their pages agree")
            return 1 if wrong else 0
        for path, make in PAGES.items():
            written(path, make(ROOT, read(ROOT, path)))
    except Wrong as wrong:
        sys.exit(str(wrong))
    return 0


if __name__ == "__main__":
    sys.exit(main())
