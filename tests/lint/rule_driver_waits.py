# SPDX-License-Identifier: Apache-2.0
"""Every function of the driver that the server calls is in server/driver/waits.def, and one that
may wait for work is called only in the files that its row names, and in the ways that it says."""

import re

TABLE = "server/driver/waits.def"
RETURNS = re.compile(r"(?m)^DRIVER_RETURNS\((\w+)\)$")
WAITS = re.compile(r'(?m)^DRIVER_WAITS\((\w+),\s*((?:"[^"]*"\s*)+)\)$')
PLACE = re.compile(r"([\w/.]+): (?:LATER|NONE|DONE|OWN)")
CALLED = re.compile(r"\bdriver(?:->|\.)(cu[A-Z]\w*)")
CALL = re.compile(r"^call (\w+)")
AUTO = re.compile(r"^\s+server\s+auto\b")


def places(tree):
    """(function, file, line) of every call of the driver, also of those that are generated."""
    for file in tree.files:
        if file.path.startswith("server/") and "/tests/" not in file.path and \
                file.suffix in (".c", ".h"):
            for number, line in enumerate(file.lines, 1):
                for name in CALLED.findall(line):
                    yield name, file, number
        if file.path.startswith("api/cuda/") and file.suffix == ".api":
            name = None
            for number, line in enumerate(file.lines, 1):
                match = CALL.match(line)
                name = match.group(1) if match else name
                if AUTO.match(line):
                    yield name, file, number


def check(tree):
    tables = [file for file in tree.files if file.path == TABLE]
    for table in tables:
        returns = set(RETURNS.findall(table.text))
        waits = {name: set(PLACE.findall(text)) for name, text in WAITS.findall(table.text)}
        found = {}
        for name, file, line in places(tree):
            found.setdefault(name, set()).add(file.path)
            if name in waits and file.path not in waits[name]:
                yield file.finding(line, f"{name} may wait for work: {TABLE} does not say how this "
                                         "file calls it")
            elif name not in waits and name not in returns:
                yield file.finding(line, f"{TABLE} does not say whether {name} may wait for work")
        for name in sorted(returns & set(waits)):
            yield table.finding(0, f"{name} stands here twice")
        for name in sorted((returns | set(waits)) - set(found)):
            yield table.finding(0, f"nobody calls {name}")
        for name in sorted(set(waits) & set(found)):
            for path in sorted(waits[name] - found[name]):
                yield table.finding(0, f"{path} does not call {name}")
